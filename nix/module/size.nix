# Sizes as systemd and the daemon write them: bytes, or a number with K, M, G or T (powers of 1024).
{ lib }:
let
  # what fits into 63 bits, and no zero before a number: systemd and Nix read that differently
  pattern = "[1-9][0-9]{0,17}|[1-9][0-9]{0,8}[KMG]|[1-9][0-9]{0,5}T";
  parted = "([0-9]+)([KMGT]?)";
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
  # null for what is no size
  bytes =
    value:
    if lib.isInt value then
      value
    else if !lib.isString value || builtins.match pattern value == null then
      null
    else
      let
        parts = builtins.match parted value;
      in
      lib.toInt (lib.head parts) * factor.${lib.last parts};
}
