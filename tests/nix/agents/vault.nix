# An agent whose daemon wants a token and limits each subagent, on a port of the operator's choice.
{
  networking.hostName = "vault";
  users.users.agent.isNormalUser = true;
  hyperhive = {
    mcp.subagentHttpPort = 8717;
    subagent = {
      authTokenFile = "/var/lib/secrets/subagent-token";
      environmentFile = "/var/lib/secrets/claude.env";
      memoryMax = "96M";
    };
    extraMcpServers.subagent.allowedTools = [
      "start"
      "status"
      "wait"
    ];
  };
}
