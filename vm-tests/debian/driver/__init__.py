"""A small driver for Debian machines with the names and meanings of the NixOS test driver."""
