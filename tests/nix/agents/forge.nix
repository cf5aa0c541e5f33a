# An agent with limits and further servers, one of them for its subagents too.
{
  networking.hostName = "forge";
  users.users.agent.isNormalUser = true;
  systemd.tmpfiles.settings.agent."/home/agent/work".d = {
    user = "agent";
    group = "users";
    mode = "0755";
  };
  hyperhive = {
    subagent = {
      serviceMemoryMax = "400M";
      maxRunning = 3;
      workDir = "/home/agent/work";
      claudeConfigDir = "/home/agent/.claude";
      interventionSkill = true;
      roles.linter = ''
        ---
        description: finds what the linters find, and says what of it matters
        permission_mode: plan
        tools: Read, Grep, Glob
        ---
        You are a linter. Report each finding with its file and line.
      '';
      todoSinks = [ "dir:/var/lib/hive-subagent/inbox" ];
      settings = {
        default_max_turns = 3;
        shutdown_grace_s = 6.5;
      };
    };
    extraMcpServers = {
      lookup = {
        command = "/run/current-system/sw/bin/lookup-mcp";
        args = [ "--read-only" ];
        env.LOOKUP_SHELF = "public";
        allowedTools = [ "find" ];
        availableToSubagents = true;
      };
      ledger = {
        type = "http";
        url = "http://127.0.0.1:9300/mcp";
      };
      retired = {
        enable = false;
        command = "/run/current-system/sw/bin/retired-mcp";
      };
    };
  };
}
