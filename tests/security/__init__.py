"""A client that misbehaves: nothing gets in, nothing grows, nothing is followed."""
