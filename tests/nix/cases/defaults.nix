{ lib, evaluate }:
let
  scout = evaluate.config [ ../agents/scout.nix ];
  ours = scout.hyperhive.subagent;
in
{
  "test every option of the daemon has its documented default" = {
    expr = {
      inherit (ours)
        enable
        agentName
        user
        group
        workDir
        claudeConfigDir
        serviceMemoryMax
        memoryMax
        maxRunning
        environmentFile
        authTokenFile
        todoSinks
        path
        settings
        ;
      package = ours.package.name;
      claudePackage = ours.claudePackage.name;
    };
    expected = {
      enable = true;
      agentName = "scout";
      user = "agent";
      group = null;
      workDir = null;
      claudeConfigDir = null;
      serviceMemoryMax = null;
      memoryMax = null;
      maxRunning = null;
      environmentFile = null;
      authTokenFile = null;
      todoSinks = null;
      path = [
        "/run/wrappers"
        "/etc/profiles/per-user/agent"
        "/run/current-system/sw"
      ];
      settings = {
        agent_name = "scout";
        claude_bin = "${evaluate.pkgs.claude-code}/bin/claude";
        mcp_servers_file = "/etc/hyperhive/extra-mcp.json";
        port = 20509;
      };
      package = "hive-subagent";
      claudePackage = "claude-code";
    };
  };

  "test every leaf of a server has its documented default" = {
    expr =
      (evaluate.config [
        ../agents/scout.nix
        { hyperhive.extraMcpServers.bare = { }; }
      ]).hyperhive.extraMcpServers.bare;
    expected = {
      enable = true;
      type = "stdio";
      command = null;
      args = [ ];
      env = { };
      url = null;
      headers = { };
      allowedTools = [ "*" ];
      availableToSubagents = false;
    };
  };

  "test an agent with nothing but the import passes every assertion without a warning" = {
    expr = {
      failures = evaluate.failures scout;
      inherit (scout) warnings;
    };
    expected = {
      failures = [ ];
      warnings = [ ];
    };
  };

  "test a disabled daemon leaves neither unit nor entry" = {
    expr =
      let
        off = evaluate.config [
          {
            hyperhive.subagent.enable = false;
            # as an agent.nix says it that is shared with agents whose daemon runs
            hyperhive.extraMcpServers.subagent.allowedTools = [ "status" ];
          }
        ];
      in
      {
        services = lib.attrNames off.systemd.services;
        servers = evaluate.servers off;
        failures = evaluate.failures off;
      };
    expected = {
      services = [ ];
      servers = { };
      failures = [ ];
    };
  };
}
