# The `subagent` entry that an agent gets by default.
# Each leaf has its own mkDefault. On the entry as a whole, changing one leaf would lose the
# others; on the option as a whole, adding any other entry would drop this one.
{ config, lib, ... }:
let
  cfg = config.hyperhive.subagent;
  leaves = lib.mapAttrs (_: lib.mkDefault);

  # where the daemon listens; behind a wildcard the loopback is one of its addresses
  given = cfg.settings.host or "127.0.0.1";
  host =
    if given == "0.0.0.0" then
      "127.0.0.1"
    else if given == "::" then
      "[::1]"
    else if lib.hasInfix ":" given then
      "[${given}]"
    else
      given;

  # the setting, since it wins over the option; a blank one counts as unset
  name = cfg.settings.agent_name or null;
  headers =
    lib.optionalAttrs (name != null && name != "") { X-Hive-Agent = name; }
    // lib.optionalAttrs (cfg.authTokenFile != null) {
      # a reference: the file is world-readable, the token stays in the harness's environment
      Authorization = "Bearer \${HYPERHIVE_SUBAGENT_TOKEN}";
    };
in
{
  config = lib.mkIf cfg.enable {
    hyperhive.extraMcpServers.subagent =
      leaves {
        type = "http";
        url = "http://${host}:${toString config.hyperhive.mcp.subagentHttpPort}/mcp";
        allowedTools = [ "*" ];
        availableToSubagents = false;
      }
      // lib.optionalAttrs (headers != { }) { headers = leaves headers; };
  };
}
