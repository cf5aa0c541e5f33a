# The example of one agent, and the fleet's shared module as the how-to shows it. Issue 12, 11.
{ lib, evaluate }:
let
  agent = evaluate.config [ (import ../../../examples/agent.nix) ];
  # what docs/how-to/nixos-fleet.md has all agents import
  shared = { lib, ... }: {
    hyperhive.subagent = {
      maxRunning = lib.mkDefault 4;
      memoryMax = lib.mkDefault "2G";
      settings.permission_mode = lib.mkDefault "acceptEdits";
    };
  };
  other = evaluate.config [
    shared
    {
      networking.hostName = "forge";
      users.users.agent.isNormalUser = true;
      hyperhive.subagent.memoryMax = "8G";
    }
  ];
in
{
  "test the example of an agent is a configuration without failures or warnings" = {
    expr = {
      failures = evaluate.failures agent;
      inherit (agent) warnings;
    };
    expected = {
      failures = [ ];
      warnings = [ ];
    };
  };

  "test the example of an agent sets permission, limits and sinks of the daemon" = {
    expr = {
      inherit (evaluate.daemon agent)
        agent_name
        max_running
        memory_max
        permission_mode
        todo_sinks
        work_dir
        ;
    };
    expected = {
      agent_name = "scout";
      max_running = 4;
      memory_max = "2G";
      permission_mode = "acceptEdits";
      todo_sinks = [
        "dir:/var/lib/hive-subagent/todos"
        "unix:/run/hive-subagent-notices/socket"
      ];
      work_dir = "/home/agent/work";
    };
  };

  "test an agent of a fleet changes one value and keeps the others" = {
    expr = {
      inherit (evaluate.daemon other) max_running memory_max permission_mode;
    };
    expected = {
      max_running = 4;
      memory_max = "8G";
      permission_mode = "acceptEdits";
    };
  };
}
