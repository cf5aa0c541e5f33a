# What nix/package.nix gives to buildPythonApplication, as JSON: for `nix-instantiate --eval`.
# Every argument of the package is a path of the imitated store; nothing of nixpkgs is needed.
{ store }:
let
  package = import ../../../nix/package.nix;
  lib = {
    importTOML = file: fromTOML (builtins.readFile file);
    fileset = {
      toSource = { root, ... }: root;
      difference = whole: _: whole;
      unions = sets: sets;
      maybeMissing = path: path;
    };
    licenses.mit = "mit";
    platforms.linux = [ ];
  };
  inputs = builtins.mapAttrs (name: _: "${store}-${name}") (builtins.functionArgs package);
  given = package (
    inputs
    // {
      inherit lib;
      buildPythonApplication = attrs: attrs;
    }
  );
in
# the source is what the caller has copied; what is said about the package builds nothing
removeAttrs given [
  "meta"
  "passthru"
  "src"
]
