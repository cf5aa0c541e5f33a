# A package set without packages: store paths that are the same for everybody, so that what the
# module renders can be compared byte for byte and booted from a fixed place.
{ lib }:
let
  storePath = name: "/nix/store/00000000000000000000000000000000-${name}";
  package = name: mainProgram: {
    type = "derivation";
    inherit name;
    outPath = storePath name;
    meta = { inherit mainProgram; };
  };
in
{
  claude-code = package "claude-code" "claude";
  hive-subagent = package "hive-subagent" "hive-subagent-daemon";
  python3 = package "python3" "python3";

  # the entries too, so that tests can see what lies behind a name
  linkFarm =
    name: entries:
    package name name
    // {
      inherit entries;
    };
  writeText =
    name: text:
    package name name
    // {
      inherit text;
    };

  # the type of nixpkgs' own, whose values are whatever JSON can say
  formats.json = _: {
    type =
      let
        value = lib.types.nullOr (
          lib.types.oneOf [
            lib.types.bool
            lib.types.int
            lib.types.float
            lib.types.str
            lib.types.path
            (lib.types.attrsOf value)
            (lib.types.listOf value)
          ]
        )
        // {
          description = "JSON value";
        };
      in
      value;
  };
}
