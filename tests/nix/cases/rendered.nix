# What the module renders for the example agents is committed, and is what the VM boots.
# `make nix-test UPDATE=1` writes it anew.
{ lib, ... }:
let
  rendered = import ../render.nix { inherit lib; };
  committed =
    agent: file:
    let
      path = ../rendered + "/${agent}/${file}";
    in
    if builtins.pathExists path then builtins.readFile path else null;
in
lib.concatMapAttrs (
  agent: files:
  lib.mapAttrs' (
    file: text:
    lib.nameValuePair "test the committed ${file} of ${agent} is what the module renders" {
      expr = committed agent file;
      expected = text;
    }
  ) files
) rendered
// {
  "test nothing else lies among the rendered files" = {
    expr =
      let
        below =
          folder:
          map (file: lib.removePrefix "${toString folder}/" (toString file)) (
            lib.filesystem.listFilesRecursive folder
          );
      in
      lib.mapAttrs (agent: _: lib.naturalSort (below (../rendered + "/${agent}"))) (
        builtins.readDir ../rendered
      );
    expected = lib.mapAttrs (_: files: lib.naturalSort (lib.attrNames files)) rendered;
  };
}
