# The NixOS modules. `agent` is the whole. An option can be declared once only, so `withoutServers`
# is for a host that already declares `hyperhive.extraMcpServers` and writes
# /etc/hyperhive/extra-mcp.json itself; `withoutTree` for one that declares
# `hyperhive.mcp.subagentHttpPort` too.
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
  withoutServers = withKey "withoutServers" [
    ./http-port.nix
    withoutTree
  ];
in
{
  inherit withoutServers withoutTree;
  agent = withKey "agent" [
    ./servers.nix
    withoutServers
  ];
}
