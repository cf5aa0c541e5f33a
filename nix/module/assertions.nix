# What can be told before anything is built. Each message names both culprits and the mend.
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
          assertion =
            perRun == null
            || cfg.serviceMemoryMax == null
            || perRun < size.bytes cfg.serviceMemoryMax;
          message = "hyperhive.subagent.memoryMax (${toString cfg.settings.memory_max}) is not below hyperhive.subagent.serviceMemoryMax (${toString cfg.serviceMemoryMax}); one subagent could then take the daemon's memory too. Lower the first or raise the second.";
        }
      ];

    # a warning, since accounts can also be made by hand
    warnings =
      lib.optional (cfg.user != "root" && !(config.users.users ? ${cfg.user}))
        "hyperhive.subagent.user is \"${cfg.user}\", and users.users declares no such account; set it to the agent's account, or the unit will not start.";
  };
}
