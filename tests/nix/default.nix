# The module's evaluation tests: attribute `failures` is the empty list when all is well.
# Each case is `"test <a sentence of behaviour>" = { expr; expected; }`, as lib.runTests takes them.
{
  lib ? import <nixpkgs/lib>,
}:
let
  evaluate = import ./evaluate.nix { inherit lib; };
  cases = lib.mapAttrsToList (file: _: import (./cases + "/${file}") { inherit lib evaluate; }) (
    builtins.readDir ./cases
  );
  all = lib.foldl' (
    seen: more:
    let
      twice = lib.attrNames (builtins.intersectAttrs seen more);
    in
    assert lib.assertMsg (twice == [ ]) "two tests of one name: ${toString twice}";
    seen // more
  ) { } cases;
in
{
  failures = lib.runTests all;
  names = lib.attrNames all;
  rendered = import ./render.nix { inherit lib; };
  optionsReference = import ./reference.nix { inherit lib; };
}
