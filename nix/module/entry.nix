# The `subagent` entry that an agent gets by default.
{
  config,
  lib,
  options,
  ...
}:
let
  cfg = config.hyperhive.subagent;
  inherit (cfg) entry;

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
  leaves = {
    type = "http";
    url = "http://${host}:${toString config.hyperhive.mcp.subagentHttpPort}/mcp";
    allowedTools = [ "*" ];
    availableToSubagents = false;
  }
  // lib.optionalAttrs (headers != { }) { inherit headers; };

  # The host that declares `extraMcpServers` decides what an entry can hold, and how definitions of
  # one entry are merged. What is read here is its declaration alone.
  whole = options.hyperhive.extraMcpServers.type;
  definition = import ./definition.nix { inherit lib; };
  missing = definition.missing (definition.part whole "subagent") (lib.attrNames leaves);
  # an entry without these is the same: all of its tools, and for no subagent
  needed = lib.subtractLists [
    "allowedTools"
    "availableToSubagents"
  ] missing;

  names = lib.concatMapStringsSep ", " (leaf: "`${leaf}`") needed;
  orNone = lib.optionalString (
    needed == [ "headers" ]
  ) " (or set hyperhive.subagent.agentName and authTokenFile to null)";

  final = config.hyperhive.extraMcpServers.subagent or { };
  isSet = entry: name: (entry.${name} or null) != null;
  isPriority = value: lib.isAttrs value && value ? _type;
  # a value with its parts, and theirs
  within =
    value:
    if lib.isAttrs value && !isPriority value then
      lib.concatMap within (lib.attrValues value)
    else
      [ value ];
in
{
  config = lib.mkIf (cfg.enable && entry.enable) {
    # Not one mkDefault for all of it: on the entry as a whole, changing one leaf would lose the
    # others; on the option as a whole, adding any other entry would drop this one.
    hyperhive.extraMcpServers = definition.define whole {
      subagent = removeAttrs leaves missing;
    };

    assertions = [
      {
        assertion = needed == [ ];
        message = "hyperhive.extraMcpServers of this host has entries without ${names}, which the entry of the subagent daemon needs; declare it there${orNone}, or set hyperhive.subagent.entry.enable = false and write the entry in the host's way.";
      }
      {
        assertion = !lib.any isPriority (within final);
        message = "hyperhive.extraMcpServers.subagent holds an mkForce or mkDefault that the option's type on this host does not resolve; write the value without it, or the whole entry with hyperhive.subagent.entry.enable = false.";
      }
      {
        assertion =
          needed != [ ]
          || isPriority final
          || !(final.enable or true)
          || isSet final "url"
          || isSet final "command";
        message = "hyperhive.extraMcpServers.subagent has neither `url` nor `command`: on this host a definition replaces the whole entry instead of one part. Write all of it (url ${leaves.url}), or drop it with hyperhive.subagent.entry.enable = false.";
      }
    ];
  };
}
