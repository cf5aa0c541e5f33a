# `hyperhive.subagent`: the daemon of one agent.
{ packageFor }:
{
  config,
  lib,
  pkgs,
  ...
}:
let
  inherit (lib) mkOption types;
  cfg = config.hyperhive.subagent;
  size = import ./size.nix { inherit lib; };
  json = pkgs.formats.json { };

  sink = types.strMatching "(dir|exec|unix):/.+|https?://.+";
  urlSink = types.submodule {
    options = {
      url = mkOption {
        type = types.strMatching "https?://.+";
        example = "https://hooks.example/agent";
        description = "Where each notice is sent by POST. It stands in the store: no secret.";
      };
      secret_file = mkOption {
        # no path, which would be copied to the store
        type = types.nullOr (types.strMatching "/.+");
        default = null;
        example = "/run/secrets/hook";
        description = "File with the secret that signs each notice; the daemon's user reads it.";
      };
      events = mkOption {
        type = types.bool;
        default = false;
        description = "Whether it is told of the beginning and the end of each run too.";
      };
    };
  };

  # the options below that are a setting of the daemon by another name
  fromOptions = {
    claude_bin = lib.getExe cfg.claudePackage;
    mcp_servers_file = "/etc/hyperhive/extra-mcp.json";
    port = config.hyperhive.mcp.subagentHttpPort;
  }
  // lib.filterAttrs (_: value: value != null) {
    agent_name = cfg.agentName;
    claude_config_dir = cfg.claudeConfigDir;
    max_running = cfg.maxRunning;
    memory_max = cfg.memoryMax;
    roles_dir = if cfg.roles == { } then null else "${cfg.rolesDirectory}";
    todo_sinks = cfg.todoSinks;
    work_dir = cfg.workDir;
  };
in
{
  options.hyperhive.subagent = {
    enable = mkOption {
      type = types.bool;
      default = true;
      description = ''
        Whether this agent can run subagents. On by default for now; it is to become a
        capability that an agent opts in to, so set it explicitly where you rely on it.
      '';
    };
    package = mkOption {
      type = types.package;
      default = packageFor pkgs;
      defaultText = lib.literalMD "`packages.default` of this flake";
      description = "The daemon.";
    };
    claudePackage = mkOption {
      type = types.package;
      default = pkgs.claude-code;
      defaultText = lib.literalExpression "pkgs.claude-code";
      description = "Claude Code, run once per turn of a subagent. Unfree: the host has to allow it.";
    };
    entry.enable = mkOption {
      type = types.bool;
      default = true;
      description = ''
        Whether `hyperhive.extraMcpServers` gets the entry `subagent`, with which the agent reaches
        the daemon. `false` drops the entry, whatever the host that declares the option does with
        it; the daemon runs all the same.
      '';
    };
    user = mkOption {
      type = types.nonEmptyStr;
      default = "agent";
      description = ''
        Account that the daemon and every subagent run as. It is meant to be the agent's own,
        whose briefs, directories and claude home they share; the module creates none.
      '';
    };
    group = mkOption {
      type = types.nullOr types.nonEmptyStr;
      default = null;
      description = ''
        Group of the daemon and every subagent. With `null` systemd takes the account's own.
      '';
    };
    agentName = mkOption {
      type = types.nullOr (types.strMatching "[A-Za-z0-9][A-Za-z0-9._-]{0,63}");
      default = if config.networking.hostName == "" then null else config.networking.hostName;
      defaultText = lib.literalExpression "config.networking.hostName";
      description = ''
        Name of the agent whose daemon this is. The daemon serves only calls that say this name in
        the header `X-Hive-Agent`, as the `subagent` entry of `extraMcpServers` then does. So an
        agent that is set to the same port as another one in its network namespace is told so,
        instead of commanding the other's daemon. null: any caller is served.
      '';
    };
    workDir = mkOption {
      type = types.nullOr (types.strMatching "/.*");
      default = null;
      example = "/home/agent/work";
      description = "Where a subagent works when a call names no `dir`; null is the user's home.";
    };
    claudeConfigDir = mkOption {
      type = types.nullOr (types.strMatching "/.*");
      default = null;
      example = "/home/agent/.claude";
      description = "Claude's configuration and transcripts; null is `.claude` in the user's home.";
    };
    serviceMemoryMax = mkOption {
      type = types.nullOr size.type;
      default = null;
      example = "4G";
      description = ''
        Limit for the daemon and all subagents together. At the limit the kernel ends the
        largest process, and the others live on.
      '';
    };
    memoryMax = mkOption {
      type = types.nullOr size.type;
      default = null;
      example = "1G";
      description = "Limit for each subagent with everything it starts.";
    };
    maxRunning = mkOption {
      type = types.nullOr types.ints.positive;
      default = null;
      example = 4;
      description = "Subagents that may run at once; null is the daemon's own default, 8.";
    };
    environmentFile = mkOption {
      type = types.nullOr types.path;
      default = null;
      example = "/run/secrets/claude.env";
      description = ''
        File of `NAME=value` lines for the daemon's environment, say `ANTHROPIC_API_KEY`. A
        subagent inherits only the names that the daemon passes on.
      '';
    };
    authTokenFile = mkOption {
      type = types.nullOr types.path;
      default = null;
      example = "/run/secrets/subagent-token";
      description = ''
        File with the token that callers of the daemon must show. It is read by systemd as a
        credential, so it may belong to root. The `subagent` entry of `extraMcpServers` then
        carries the header `Authorization: Bearer ''${HYPERHIVE_SUBAGENT_TOKEN}`: put the token
        into the harness's environment under that name. Without a token every local process is
        taken for the agent, a subagent's shell included.
      '';
    };
    todoSinks = mkOption {
      type = types.nullOr (types.listOf (types.either sink urlSink));
      default = null;
      example = lib.literalExpression ''
        [
          "unix:/run/hyperhive/todo.sock"
          "exec:''${pkgs.writeShellScript "on-notice" "jq -r .text >>/var/log/agent/notices"}"
          {
            url = "https://hooks.example/agent";
            secret_file = "/run/secrets/hook";
          }
        ]
      '';
      description = ''
        Where notices go; null is `todos` in the daemon's state directory. A directory, a socket or
        a program that ends in `?events=1` is told of the beginning and the end of each run too.
        A program runs in the daemon's unit, as its user.
      '';
    };
    roles = mkOption {
      type = types.attrsOf (types.either types.path types.lines);
      default = { };
      example = lib.literalExpression ''
        {
          linter = ./roles/linter.md;
          scout = '''
            ---
            description: looks around, the way of this house
            permission_mode: plan
            tools: Read, Grep, Glob
            ---
            You are a scout.
          ''';
        }
      '';
      description = ''
        Roles for the children of a delegation by name, each a file or its text. They come beside
        the daemon's own, or replace the one of the same name. With a role that it cannot read the
        daemon does not start.
      '';
    };
    rolesDirectory = mkOption {
      type = types.package;
      readOnly = true;
      default = pkgs.linkFarm "hive-subagent-roles" (
        lib.mapAttrs' (
          name: role:
          lib.nameValuePair "${name}.md" (
            if types.path.check role then role else pkgs.writeText "${name}.md" role
          )
        ) cfg.roles
      );
      defaultText = lib.literalMD "`roles` as files";
      description = "The directory that the daemon reads its further roles from.";
    };
    interventionSkill = mkOption {
      type = types.bool;
      default = false;
      description = ''
        Whether every Claude Code of this machine gets the skill `subagent-intervention` and its
        hook, with which an agent stops, redirects or informs subagents inside its own session. The
        hook looks in `temp/$TASK_ID/` of the project and does nothing where `TASK_ID` is not set.
        Subagents of the daemon need neither: for them there is the tool `intervene`.
      '';
    };
    path = mkOption {
      type = types.listOf (types.either types.package types.str);
      default = [
        "/run/wrappers"
        "/etc/profiles/per-user/${cfg.user}"
        "/run/current-system/sw"
      ];
      defaultText = lib.literalExpression ''
        [
          "/run/wrappers"
          "/etc/profiles/per-user/''${config.hyperhive.subagent.user}"
          "/run/current-system/sw"
        ]
      '';
      description = "Packages, or prefixes with a `bin`, that a subagent's tools are found in.";
    };
    restartIfChanged = mkOption {
      type = types.bool;
      default = true;
      description = ''
        Whether `nixos-rebuild switch` restarts a daemon whose unit has changed. A restart ends the
        runs: they are reported as killed, and `continue` goes on with them. With `false` they live
        on and so does the daemon of before, with its package, settings and port, until
        `systemctl stop hive-subagent-daemon.socket hive-subagent-daemon.service` and then a start
        of the service; meanwhile `/etc/hyperhive/*.json` are the new configuration's.
      '';
    };
    settings = mkOption {
      type = types.submodule { freeformType = json.type; };
      default = { };
      example = {
        default_max_turns = 3;
        permission_mode = "acceptEdits";
      };
      description = ''
        Any setting of the daemon (see the reference of its settings), beside those that have an
        option here. A key it does not know keeps it from starting.
      '';
    };
    configFile = mkOption {
      type = types.package;
      readOnly = true;
      default = pkgs.writeText "hive-subagent.json" (builtins.toJSON cfg.settings);
      defaultText = lib.literalMD "`settings` as JSON";
      description = "The file that the daemon is started with.";
    };
  };

  config.hyperhive.subagent.settings = lib.mapAttrs (_: lib.mkDefault) fromOptions;
}
