# An agent whose daemon wants a token, on a port of the operator's choice.
{
  networking.hostName = "vault";
  users.users.agent.isNormalUser = true;
  hyperhive = {
    mcp.subagentHttpPort = 8717;
    subagent = {
      authTokenFile = "/var/lib/secrets/subagent-token";
      environmentFile = "/var/lib/secrets/claude.env";
    };
    extraMcpServers.subagent.allowedTools = [
      "start"
      "status"
      "wait"
    ];
  };
}
