# Sizes in bytes, by powers of 1024 as systemd reads them (issue 11, 8).
{ lib, ... }:
let
  size = import ../../../nix/module/size.nix { inherit lib; };
in
{
  "test each unit of a size is a power of 1024" = {
    expr = map size.bytes [
      7
      "7"
      "3K"
      "3M"
      "3G"
      "3T"
    ];
    expected = [
      7
      7
      3072
      3145728
      3221225472
      3298534883328
    ];
  };

  "test what systemd would not read is no size" = {
    expr = map size.bytes [
      "0"
      "07"
      "1.5G"
      "1k"
      "1GB"
      "1P"
      "-1"
      ""
      null
      1.5
      "99999999999999999999"
    ];
    expected = lib.replicate 11 null;
  };
}
