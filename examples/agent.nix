# One agent on NixOS, its secrets as files. Import it beside `hive-subagent.nixosModules.default`.
# The files of secrets can come from sops-nix or agenix, for example
#   sops.secrets."subagent-token" = { };  ->  /run/secrets/subagent-token
{ lib, ... }:
{
  networking.hostName = "scout";
  users.users.agent.isNormalUser = true;
  nixpkgs.config.allowUnfreePredicate = package: lib.getName package == "claude-code";

  hyperhive.subagent = {
    enable = true;
    workDir = "/home/agent/work";

    # lines NAME=value for the daemon, here ANTHROPIC_API_KEY; a login in ~/.claude does as well
    environmentFile = "/run/secrets/claude.env";
    # callers must know the token; the agent gets it as HYPERHIVE_SUBAGENT_TOKEN
    authTokenFile = "/run/secrets/subagent-token";

    maxRunning = 4;
    memoryMax = "2G"; # of each subagent
    serviceMemoryMax = "8G"; # of all, and the daemon

    # notices: a folder that is read by people, and a socket that a program listens on
    todoSinks = [
      "dir:/var/lib/hive-subagent/todos"
      "unix:/run/hive-subagent-notices/socket"
    ];

    # the most that a subagent may do; without this line it is bypassPermissions
    settings.permission_mode = "acceptEdits";
  };

  # the directory must exist when the daemon starts
  systemd.tmpfiles.settings."10-agent"."/home/agent/work".d = {
    user = "agent";
    mode = "0755";
  };
}
