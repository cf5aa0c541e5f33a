# A nixpkgs of cardboard: its real lib (put beside this file by ../../flake-check), and of its
# packages only the names that our flake uses, as empty derivations. With it `nix flake check
# --no-build` walks all of the flake's wiring on a machine that has no nixpkgs.
{
  outputs =
    { self }:
    let
      lib = import ./lib;
    in
    {
      inherit lib;
      legacyPackages = lib.genAttrs [ "x86_64-linux" "aarch64-linux" ] (
        system: import ./pkgs.nix { inherit lib system self; }
      );
    };
}
