# A branch of the hyperhive tree that other modules share: the agent's MCP servers.
{ config, lib, ... }:
let
  inherit (lib) mkOption types;

  server = types.submodule {
    options = {
      enable = mkOption {
        type = types.bool;
        default = true;
        description = "Whether the entry exists at all; `false` drops an entry that a module put in.";
      };
      type = mkOption {
        type = types.enum [
          "stdio"
          "http"
          "sse"
        ];
        default = "stdio";
        description = "How the server is reached: a program spoken to on its pipes, or a URL.";
      };
      command = mkOption {
        type = types.nullOr types.str;
        default = null;
        example = "/run/current-system/sw/bin/lookup-mcp";
        description = "Program to start, for type `stdio`.";
      };
      args = mkOption {
        type = types.listOf types.str;
        default = [ ];
        description = "Arguments of `command`.";
      };
      env = mkOption {
        type = types.attrsOf types.str;
        default = { };
        description = ''
          Environment of `command`. The file is world-readable: name a secret as `''${VARIABLE}`,
          which claude fills in from its own environment, and never write it out.
        '';
      };
      url = mkOption {
        type = types.nullOr types.str;
        default = null;
        example = "http://127.0.0.1:8080/mcp";
        description = "Address, for types `http` and `sse`.";
      };
      headers = mkOption {
        type = types.attrsOf types.str;
        default = { };
        description = "HTTP headers, for types `http` and `sse`. Secrets as in `env`.";
      };
      allowedTools = mkOption {
        type = types.listOf types.str;
        default = [ "*" ];
        description = "Tools of this server that may be called without asking; `*` is all of them.";
      };
      availableToSubagents = mkOption {
        type = types.bool;
        default = false;
        description = ''
          Whether subagents get this server too. They get none that is not opted in here, the
          agent's own `bash` and `subagent` included.
        '';
      };
    };
  };

  # leaves that mean nothing for the entry's type are left out
  render =
    entry:
    {
      inherit (entry) type allowedTools availableToSubagents;
    }
    // (
      if entry.type == "stdio" then
        { inherit (entry) command args env; }
      else
        { inherit (entry) url headers; }
    );
  # the same in Claude Code's own shape, which says nothing of tools that may be called without asking
  forClaude =
    entry:
    if entry.type == "stdio" then
      { inherit (entry) type command args; }
      // lib.optionalAttrs (entry.env != { }) { inherit (entry) env; }
    else
      { inherit (entry) type url; }
      // lib.optionalAttrs (entry.headers != { }) { inherit (entry) headers; };
  daemon = config.hyperhive.subagent;
  own = config.hyperhive.extraMcpServers.subagent;
  isSet = address: address != null && address != "";
  enabled = lib.filterAttrs (_: entry: entry.enable) config.hyperhive.extraMcpServers;
in
{
  options.hyperhive.extraMcpServers = mkOption {
    type = types.attrsOf server;
    default = { };
    description = ''
      MCP servers of this agent by name, beside the built-in ones. The enabled entries are
      written to `/etc/hyperhive/extra-mcp.json`, and in Claude Code's own shape to
      `/etc/hyperhive/claude-mcp.json`, for `claude --mcp-config`.
    '';
  };

  config = {
    # where there is no entry of ours, what an agent changes of it stays harmless; one that it writes
    # itself is used
    hyperhive.extraMcpServers = lib.mkIf (!(daemon.enable && daemon.entry.enable)) {
      subagent.enable = lib.mkDefault (isSet own.url || isSet own.command);
    };

    environment.etc = {
      "hyperhive/extra-mcp.json".text = builtins.toJSON (lib.mapAttrs (_: render) enabled);
      "hyperhive/claude-mcp.json".text = builtins.toJSON {
        mcpServers = lib.mapAttrs (_: forClaude) enabled;
      };
    };

    assertions = lib.concatLists (
      lib.mapAttrsToList (name: entry: [
        {
          assertion = entry.type == "stdio" -> isSet entry.command;
          message = "hyperhive.extraMcpServers.${name}: type \"stdio\" wants `command`; set it, or set `type` to \"http\" and give a `url`.";
        }
        {
          assertion = entry.type != "stdio" -> isSet entry.url;
          message = "hyperhive.extraMcpServers.${name}: type \"${entry.type}\" wants `url`; set it, or set `type` to \"stdio\" and give a `command`.";
        }
        {
          assertion = name != "signal";
          message = "hyperhive.extraMcpServers.signal: `signal` is the name of the daemon's own server in every subagent with a goal; choose another.";
        }
      ]) enabled
    );
  };
}
