# The unit: what follows from the options, and how an operator changes a line.
{ lib, evaluate }:
let
  unit = ours: evaluate.unit (evaluate.config [ { hyperhive.subagent = ours; } ]);
  socket = ours: evaluate.socket (evaluate.config [ { hyperhive.subagent = ours; } ]);
  line = name: ours: (unit ours).serviceConfig.${name} or null;
in
{
  "test systemd waits longer than the daemon takes to end its children" = {
    expr = map (line "TimeoutStopSec") [
      { }
      { settings.shutdown_grace_s = 6.5; }
      { settings.shutdown_grace_s = 60; }
    ];
    expected = [
      25
      22
      75
    ];
  };
  "test systemd holds the port of the entry, wherever the daemon listens" = {
    expr = map (host: (socket { settings = { inherit host; }; }).socketConfig.ListenStream) [
      "127.0.0.1"
      "localhost"
      "0.0.0.0"
      "::1"
    ];
    expected =
      let
        port = toString (evaluate.config [ ]).hyperhive.mcp.subagentHttpPort;
      in
      [
        "127.0.0.1:${port}"
        "127.0.0.1:${port}"
        "0.0.0.0:${port}"
        "[::1]:${port}"
      ];
  };
  "test behind a name that systemd cannot listen on the daemon binds its port by itself" = {
    expr = [
      (socket { settings.host = "box.lan"; })
      (unit { settings.host = "box.lan"; }).wants
      (unit { }).wants
    ];
    expected = [
      null
      [ ]
      [ "hive-subagent-daemon.socket" ]
    ];
  };
  "test the limit of the whole service is systemd's, and swap does not soften it" = {
    expr = map (name: line name { serviceMemoryMax = "4G"; }) [
      "MemoryMax"
      "MemorySwapMax"
    ];
    expected = [
      "4G"
      0
    ];
  };
  "test without a limit systemd is told none" = {
    expr = map (name: line name { memoryMax = "1G"; }) [
      "MemoryMax"
      "MemorySwapMax"
    ];
    expected = [
      null
      null
    ];
  };
  "test the token comes as a credential and its path by the environment" = {
    expr =
      let
        ours = {
          authTokenFile = "/run/secrets/token";
        };
      in
      [
        (line "LoadCredential" ours)
        (unit ours).environment.HIVE_SUBAGENT_AUTH_TOKEN_FILE
      ];
    expected = [
      [ "auth-token:/run/secrets/token" ]
      "%d/auth-token"
    ];
  };
  "test account and directories are the agent's" = {
    expr =
      map
        (
          name:
          line name {
            user = "coder";
            group = "coders";
            workDir = "/srv/work";
          }
        )
        [
          "User"
          "Group"
          "WorkingDirectory"
        ];
    expected = [
      "coder"
      "coders"
      "/srv/work"
    ];
  };
  "test a line of the unit can be changed without force" = {
    expr =
      (evaluate.unit (
        evaluate.config [
          {
            systemd.services.hive-subagent-daemon.serviceConfig = {
              NoNewPrivileges = false;
              WatchdogSec = 120;
            };
          }
        ]
      )).serviceConfig;
    expected = (unit { }).serviceConfig // {
      NoNewPrivileges = false;
      WatchdogSec = 120;
    };
  };
  "test an operator's credentials and filters come beside ours" = {
    expr = {
      inherit
        ((evaluate.unit (
          evaluate.config [
            {
              hyperhive.subagent = {
                authTokenFile = "/run/secrets/token";
                environmentFile = "/run/secrets/env";
              };
              systemd.services.hive-subagent-daemon.serviceConfig = {
                LoadCredential = [ "mine:/run/secrets/mine" ];
                EnvironmentFile = [ "/run/secrets/more" ];
                SystemCallFilter = [ "~@raw-io" ];
              };
            }
          ]
        )).serviceConfig
        )
        LoadCredential
        EnvironmentFile
        SystemCallFilter
        ;
    };
    expected = {
      LoadCredential = [
        "mine:/run/secrets/mine"
        "auth-token:/run/secrets/token"
      ];
      EnvironmentFile = [
        "/run/secrets/more"
        "/run/secrets/env"
      ];
      SystemCallFilter = [
        "~@raw-io"
        "~@clock @module @obsolete @raw-io @reboot @swap"
      ];
    };
  };
  "test without a group of its own the unit names none" = {
    expr = line "Group" { };
    expected = null;
  };
  "test packages can be added to what a subagent's tools are found in" = {
    expr = lib.last (unit { path = lib.mkAfter [ evaluate.pkgs.claude-code ]; }).path;
    expected = evaluate.pkgs.claude-code;
  };
  "test the daemon is restarted for the servers of its subagents and for no other" = {
    expr =
      let
        agent = servers: evaluate.config [ { hyperhive.extraMcpServers = servers; } ];
        triggers = servers: (evaluate.unit (agent servers)).restartTriggers;
        lookup = more: { lookup = { command = "/bin/a"; } // more; };
        once = triggers (lookup {
          availableToSubagents = true;
        });
      in
      [
        (triggers (lookup { }))
        (lib.length once)
        (once == triggers (lookup {
          availableToSubagents = true;
          command = "/bin/b";
        }))
        (triggers (lookup {
          availableToSubagents = true;
          enable = false;
        }))
      ];
    expected = [
      [ ]
      1
      false
      [ ]
    ];
  };

  "test an operator can keep runs over a rebuild" = {
    expr = map (ours: (unit ours).restartIfChanged) [
      { }
      { restartIfChanged = false; }
    ];
    expected = [
      true
      false
    ];
  };
  "test the unit may have more processes than one run" = {
    expr = line "TasksMax" { };
    expected = 16384;
  };

  "test the agent's account finds the command line, and where the daemon is off nobody does" = {
    expr =
      map
        (
          enable:
          let
            config = evaluate.config [ { hyperhive.subagent = { inherit enable; }; } ];
          in
          map toString config.environment.systemPackages
        )
        [
          true
          false
        ];
    expected = [
      [ (toString evaluate.pkgs.hive-subagent) ]
      [ ]
    ];
  };
}
