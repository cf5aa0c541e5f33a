# Options to the daemon's JSON, and freeform settings beside them.
{ lib, evaluate }:
let
  daemon = ours: evaluate.daemon (evaluate.config [ { hyperhive.subagent = ours; } ]);
  said = ours: removeAttrs (daemon ours) [
    "agent_name"
    "claude_bin"
    "mcp_servers_file"
    "port"
  ];
in
{
  "test an option that is not set leaves the daemon its own default" = {
    expr = said { };
    expected = { };
  };
  "test each option is the setting of its name" = {
    expr = said {
      workDir = "/w";
      claudeConfigDir = "/c";
      memoryMax = "1G";
      maxRunning = 2;
      todoSinks = [
        "dir:/t"
        "unix:/s"
        "exec:/nix/store/x-notify"
        "https://hooks.example/agent?x=1"
        {
          url = "http://127.0.0.1:9000/";
          secret_file = "/run/secrets/hook";
        }
      ];
    };
    expected = {
      work_dir = "/w";
      claude_config_dir = "/c";
      memory_max = "1G";
      max_running = 2;
      todo_sinks = [
        "dir:/t"
        "unix:/s"
        "exec:/nix/store/x-notify"
        "https://hooks.example/agent?x=1"
        {
          url = "http://127.0.0.1:9000/";
          secret_file = "/run/secrets/hook";
          events = false;
        }
      ];
    };
  };
  "test roles are a directory of one file each, from texts and from files" = {
    expr =
      let
        agent = evaluate.config [
          {
            hyperhive.subagent.roles = {
              scout = ./settings.nix;
              linter = "You are a linter.";
            };
          }
        ];
        folder = agent.hyperhive.subagent.rolesDirectory;
      in
      {
        told = (evaluate.daemon agent).roles_dir == "${folder}";
        names = lib.attrNames folder.entries;
        linter = folder.entries."linter.md".text;
        scout = folder.entries."scout.md" == ./settings.nix;
      };
    expected = {
      told = true;
      names = [
        "linter.md"
        "scout.md"
      ];
      linter = "You are a linter.";
      scout = true;
    };
  };
  "test a freeform setting wins over the option" = {
    expr = said {
      maxRunning = 2;
      settings = {
        max_running = 3;
        child_env = [ "CARGO_*" ];
        setting_sources = null;
      };
    };
    expected = {
      max_running = 3;
      child_env = [ "CARGO_*" ];
      setting_sources = null;
    };
  };
  "test another claude is the one that is spawned" = {
    expr =
      (daemon {
        claudePackage = evaluate.pkgs.python3 // {
          meta.mainProgram = "hive-subagent-stub-claude";
        };
      }).claude_bin;
    expected = "${evaluate.pkgs.python3}/bin/hive-subagent-stub-claude";
  };
  "test no secret is in anything that lands in the store" = {
    expr =
      let
        vault = evaluate.config [ ../agents/vault.nix ];
        text = vault.hyperhive.subagent.configFile.text + builtins.toJSON (evaluate.servers vault);
      in
      lib.hasInfix "/var/lib/secrets" text;
    expected = false;
  };
}
