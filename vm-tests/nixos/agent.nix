# What the machine or the container of every example agent has beside it.
{ self, system }:
{
  config,
  lib,
  pkgs,
  ...
}:
{
  hyperhive.subagent.claudePackage = self.packages.${system}.stub-claude;

  environment = {
    etc."hive-test/client.py".source = ../client.py;
    systemPackages = [
      # bubblewrap is the sandbox that claude's own tools may use
      pkgs.bubblewrap
      pkgs.python3
      (pkgs.writeScriptBin "lookup-mcp" (builtins.readFile ../lookup-mcp.py))
    ];
  };
  # an agent that names directories or secrets finds them
  systemd.tmpfiles.rules = [
    "d /home/agent/.claude 0700 agent users"
  ]
  ++ lib.optional (
    config.hyperhive.subagent.authTokenFile != null
  ) "f /var/lib/secrets/subagent-token 0400 root root - the-token-of-vault"
  ++ lib.optional (
    config.hyperhive.subagent.environmentFile != null
  ) "f /var/lib/secrets/claude.env 0400 root root - ANTHROPIC_API_KEY=of-vault";
}
