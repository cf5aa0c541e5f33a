# The NixOS modules. `agent` is the whole. An option can be declared once only, so `withoutServers`
# is for a host that already declares `hyperhive.extraMcpServers` and writes
# /etc/hyperhive/extra-mcp.json itself; `withoutTree` for one that declares
# `hyperhive.mcp.subagentHttpPort` too.
{
  lib,
  # pkgs -> the daemon's package
  packageFor,
}:
let
  # a key, so that importing a module twice (say as `default` and as `agent`) is importing it once
  withKey = key: imports: {
    # for NixOS, and no home-manager or darwin
    _class = "nixos";
    _file = ./default.nix;
    key = "hive-subagent#${key}";
    inherit imports;
  };
  withoutTree = withKey "withoutTree" [
    # not `import`: errors and the manual name the file that declares an option
    (lib.modules.importApply ./options.nix { inherit packageFor; })
    ./assertions.nix
    ./command.nix
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
