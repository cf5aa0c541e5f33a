# Sizes as systemd and the daemon write them: bytes, or a number with K, M, G or T (powers of 1024).
{ lib }:
let
  pattern = "([0-9]+)([KMGT]?)";
  factor = {
    "" = 1;
    K = 1024;
    M = 1024 * 1024;
    G = 1024 * 1024 * 1024;
    T = 1024 * 1024 * 1024 * 1024;
  };
in
{
  type = lib.types.either lib.types.ints.positive (lib.types.strMatching pattern);
  bytes =
    value:
    if lib.isInt value then
      value
    else
      let
        parts = builtins.match pattern value;
      in
      lib.toInt (lib.head parts) * factor.${lib.last parts};
}
