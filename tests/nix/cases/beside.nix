# A host that declares the shared branches of the tree itself takes `withoutTree`, one that declares
# the servers alone `withoutServers`.
{ lib, evaluate }:
let
  inherit (lib) mkOption types;
  host = {
    options.hyperhive = {
      mcp.subagentHttpPort = mkOption {
        type = types.port;
        default = 8717;
      };
      mcp.bashHttpPort = mkOption {
        type = types.port;
        default = 8716;
      };
      extraMcpServers = mkOption {
        default = { };
        type = types.attrsOf (
          types.submodule {
            freeformType = types.attrsOf types.anything;
          }
        );
      };
    };
  };
  beside = more: evaluate.beside ([ host ] ++ lib.toList more);
in
{
  "test beside a host's own tree the entry, the port and the unit are ours" = {
    expr =
      let
        config = beside { };
      in
      {
        entry = config.hyperhive.extraMcpServers.subagent;
        port = (evaluate.daemon config).port;
        services = lib.attrNames config.systemd.services;
        files = lib.attrNames config.environment.etc;
        failures = evaluate.failures config;
      };
    expected = {
      entry = {
        type = "http";
        url = "http://127.0.0.1:8717/mcp";
        headers.X-Hive-Agent = "nixos";
        allowedTools = [ "*" ];
        availableToSubagents = false;
      };
      port = 8717;
      services = [ "hive-subagent-daemon" ];
      files = [ ];
      failures = [ ];
    };
  };
  "test beside a host's own servers the port is ours too" = {
    expr =
      let
        servers = { inherit (host.options.hyperhive) extraMcpServers; };
        config = evaluate.besideServers [
          { options.hyperhive = servers; }
          { networking.hostName = "scout"; }
        ];
      in
      [
        config.hyperhive.extraMcpServers.subagent.url
        (evaluate.daemon config).port
        (lib.attrNames config.environment.etc)
      ];
    expected = [
      "http://127.0.0.1:20509/mcp"
      20509
      [ ]
    ];
  };
  "test beside a host's own tree a collision is told all the same" = {
    expr = evaluate.failures (beside { hyperhive.mcp.subagentHttpPort = 8716; });
    expected = [
      "hyperhive.mcp.subagentHttpPort and hyperhive.mcp.bashHttpPort are both 8716; set one of them to a free port."
    ];
  };
  "test importing the module twice is importing it once" = {
    expr = (evaluate.config [ evaluate.modules.agent ]).hyperhive.subagent.enable;
    expected = true;
  };
}
