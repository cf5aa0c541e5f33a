# The NixOS modules. `agent` is the whole; `withoutTree` is for a host that already declares
# `hyperhive.mcp` and `hyperhive.extraMcpServers` (an option can be declared once only) and
# writes /etc/hyperhive/extra-mcp.json itself.
{
  # pkgs -> the daemon's package
  packageFor,
}:
let
  # a key, so that importing a module twice (say as `default` and as `agent`) is importing it once
  withKey = key: imports: {
    _file = "hive-subagent/nix/module";
    key = "hive-subagent#${key}";
    inherit imports;
  };
  withoutTree = withKey "withoutTree" [
    (import ./options.nix { inherit packageFor; })
    ./assertions.nix
    ./entry.nix
    ./service.nix
    ./skill.nix
  ];
in
{
  inherit withoutTree;
  agent = withKey "agent" [
    ./tree.nix
    withoutTree
  ];
}
