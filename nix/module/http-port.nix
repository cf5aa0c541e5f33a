# The other branch of the hyperhive tree: the daemon's port.
{ config, lib, ... }:
let
  inherit (lib) mkOption types;
  port = import ./port.nix { inherit lib; };
in
{
  options.hyperhive.mcp.subagentHttpPort = mkOption {
    type = types.port;
    default = port.ofName config.networking.hostName;
    defaultText = lib.literalMD "derived from `networking.hostName`, within ${port.range}";
    description = ''
      Port of the subagent daemon on the loopback interface. The default is the same at every
      rebuild and differs from agent to agent, so that agents can share a network namespace.
    '';
  };
}
