# What can be found before anything is built. Each message names what is in conflict, and the fix.
{
  config,
  lib,
  options,
  ...
}:
let
  cfg = config.hyperhive.subagent;
  size = import ./size.nix { inherit lib; };
  ours = config.hyperhive.mcp.subagentHttpPort;

  # neither has to exist: the modules that declare them are other projects'
  otherPorts = lib.filter (name: options.hyperhive.mcp ? ${name}) [
    "bashHttpPort"
    "matrixHttpPort"
  ];
  collision = name: {
    assertion = config.hyperhive.mcp.${name} != ours;
    message = "hyperhive.mcp.subagentHttpPort and hyperhive.mcp.${name} are both ${toString ours}; set one of them to a free port.";
  };

  # the setting, since it wins over the option
  perRun = size.bytes (cfg.settings.memory_max or null);

  role = name: {
    assertion = lib.match "[a-z0-9][a-z0-9-]{0,31}" name != null;
    message = "hyperhive.subagent.roles.\"${name}\": a role's name is made of a-z, 0-9 and -, at most 32 of them, and does not begin with -; choose another.";
  };

  # a path, unlike a string that says one, is copied to the store where it is used
  inStore = path: builtins.isPath path || lib.hasPrefix builtins.storeDir (toString path);
  secret = name: {
    assertion = cfg.${name} != null -> !inStore cfg.${name};
    message = "hyperhive.subagent.${name} is ${toString cfg.${name}}, which every user can read; give the path of a file outside the store, as a string.";
  };

  # without a token whoever reaches the port is the owner
  host = cfg.settings.host or "127.0.0.1";
  isLoopback = host == "localhost" || host == "::1" || builtins.match "127[.][0-9.]+" host != null;
  hasToken =
    cfg.authTokenFile != null
    || config.systemd.services.hive-subagent-daemon.environment ? HIVE_SUBAGENT_AUTH_TOKEN_FILE;

  # what systemd listens on; a number alone is a port of every address
  socket = config.systemd.sockets.hive-subagent-daemon or { };
  streams = map toString (
    lib.toList (socket.socketConfig.ListenStream or [ ]) ++ socket.listenStreams or [ ]
  );
  open = lib.filter (
    stream:
    builtins.match "127[.][0-9.]+:[0-9]+|[[]::1[]]:[0-9]+|[/@].*" stream == null
  ) streams;

  accounts = lib.filter (account: account.name == cfg.user) (lib.attrValues config.users.users);
  isProvided = import ./provided.nix { inherit config lib; };
  homeless = lib.filter (account: cfg.workDir == null && !isProvided account.home) accounts;
in
{
  config = lib.mkIf cfg.enable {
    assertions =
      map collision otherPorts
      ++ map role (lib.attrNames cfg.roles)
      ++ map secret [
        "authTokenFile"
        "environmentFile"
      ]
      ++ [
        {
          assertion = ours != 0;
          message = "hyperhive.mcp.subagentHttpPort is 0; set a port that the `subagent` entry can name.";
        }
        {
          assertion = cfg.settings.port or null == ours;
          message = "hyperhive.subagent.settings.port is ${toString (cfg.settings.port or "not set")} and hyperhive.mcp.subagentHttpPort is ${toString ours}; set the latter alone.";
        }
        {
          assertion = !(cfg.settings ? auth_token_file);
          message = "hyperhive.subagent.settings.auth_token_file is set; use hyperhive.subagent.authTokenFile, which also hands the token to the daemon as a credential.";
        }
        {
          assertion = isLoopback || hasToken;
          message = "hyperhive.subagent.settings.host is ${host}, which others than this machine may reach, and there is no token: whoever reaches the port would command the subagents. Set hyperhive.subagent.authTokenFile, or leave host on the loopback.";
        }
        {
          assertion = isLoopback -> open == [ ] || hasToken;
          message = "systemd.sockets.hive-subagent-daemon listens on ${toString open}, which others than this machine may reach, and there is no token: whoever reaches the port would command the subagents. Set hyperhive.subagent.authTokenFile, or leave the socket on the loopback.";
        }
        {
          assertion =
            perRun == null
            || cfg.serviceMemoryMax == null
            || perRun < size.bytes cfg.serviceMemoryMax;
          message = "hyperhive.subagent.memoryMax (${toString cfg.settings.memory_max}) is not below hyperhive.subagent.serviceMemoryMax (${toString cfg.serviceMemoryMax}); one subagent could then take the daemon's memory too. Lower the first or raise the second.";
        }
      ];

    # warnings, since accounts and directories can also be made by hand
    warnings =
      lib.optional (cfg.user != "root" && accounts == [ ])
        "hyperhive.subagent.user is \"${cfg.user}\", and users.users declares no such account; set it to the agent's account, or the unit will not start."
      ++ map (
        account:
        "hyperhive.subagent.user is \"${cfg.user}\", and nothing makes its home, ${account.home}; set createHome of the account, add the directory to systemd.tmpfiles.settings, or set hyperhive.subagent.workDir, or the unit will not start (200/CHDIR) until the directory exists."
      ) (lib.optionals (cfg.user != "root") homeless)
      ++ lib.optional (cfg.workDir != null && !isProvided cfg.workDir)
        "hyperhive.subagent.workDir is ${cfg.workDir}, and neither an account's home nor systemd.tmpfiles nor fileSystems provides it; add it to systemd.tmpfiles.settings, or the unit will not start (200/CHDIR) until the directory exists.";
  };
}
