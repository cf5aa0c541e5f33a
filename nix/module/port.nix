# A port from a name: stable, spread over 8000 numbers that no well-known service uses and
# that lie below the kernel's range for outgoing connections (from 32768).
{ lib }:
let
  first = 20000;
  count = 8000;
in
{
  ofName =
    name:
    first
    + lib.mod (lib.fromHexString (lib.substring 0 8 (builtins.hashString "sha256" name))) count;
  range = "${toString first}–${toString (first + count - 1)}";
}
