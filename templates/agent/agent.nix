# One agent: what it is called, whose account it has, and what its subagents may do.
{ lib, ... }:
{
  networking.hostName = "scout";
  users.users.agent.isNormalUser = true;

  # Claude Code is unfree
  nixpkgs.config.allowUnfreePredicate = package: lib.getName package == "claude-code";

  hyperhive.subagent = {
    # lines `NAME=value`, say ANTHROPIC_API_KEY; without one, subagents take the login in ~/.claude
    # environmentFile = "/run/secrets/claude.env";
    maxRunning = 4;
    memoryMax = "2G";
    serviceMemoryMax = "8G";
    # permission_mode = "acceptEdits"; in `settings` is the most that a subagent may do
  };

  # a server of the agent that its subagents get, too
  # hyperhive.extraMcpServers.lookup = {
  #   command = "/run/current-system/sw/bin/lookup-mcp";
  #   allowedTools = [ "find" ];
  #   availableToSubagents = true;
  # };
}
