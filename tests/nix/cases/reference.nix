{ lib, ... }:
{
  "test the reference of options is what the module documents" = {
    expr = builtins.readFile ../../../docs/reference/nixos-options.md;
    expected = import ../reference.nix { inherit lib; };
  };
  "test every option is described" = {
    expr =
      let
        evaluate = import ../evaluate.nix { inherit lib; };
      in
      map (o: o.name) (lib.filter (o: (o.description or null) == null) evaluate.documented);
    expected = [ ];
  };
}
