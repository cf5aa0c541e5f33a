# Each assertion, by what it says.
{ lib, evaluate }:
let
  scout = more: evaluate.config ([ ../agents/scout.nix ] ++ lib.toList more);
  says = more: evaluate.failures (scout more);
  otherPort = name: value: {
    options.hyperhive.mcp.${name} = lib.mkOption {
      type = lib.types.port;
      default = value;
    };
  };
in
{
  "test a collision with the port of bash names both" = {
    expr = says (otherPort "bashHttpPort" 20509);
    expected = [
      "hyperhive.mcp.subagentHttpPort and hyperhive.mcp.bashHttpPort are both 20509; set one of them to a free port."
    ];
  };
  "test a collision with the port of matrix names both" = {
    expr = says [
      (otherPort "bashHttpPort" 20510)
      (otherPort "matrixHttpPort" 20509)
    ];
    expected = [
      "hyperhive.mcp.subagentHttpPort and hyperhive.mcp.matrixHttpPort are both 20509; set one of them to a free port."
    ];
  };
  "test other ports that differ are no collision" = {
    expr = says [
      (otherPort "bashHttpPort" 20510)
      (otherPort "matrixHttpPort" 20511)
    ];
    expected = [ ];
  };

  "test a stdio server without a command is refused" = {
    expr = says { hyperhive.extraMcpServers.bare = { }; };
    expected = [
      "hyperhive.extraMcpServers.bare: type \"stdio\" wants `command`; set it, or set `type` to \"http\" and give a `url`."
    ];
  };
  "test an http or sse server without a url is refused" = {
    expr = map (type: says { hyperhive.extraMcpServers.far = { inherit type; }; }) [
      "http"
      "sse"
    ];
    expected = [
      [
        "hyperhive.extraMcpServers.far: type \"http\" wants `url`; set it, or set `type` to \"stdio\" and give a `command`."
      ]
      [
        "hyperhive.extraMcpServers.far: type \"sse\" wants `url`; set it, or set `type` to \"stdio\" and give a `command`."
      ]
    ];
  };
  "test a disabled entry may be unfinished" = {
    expr = says { hyperhive.extraMcpServers.bare.enable = false; };
    expected = [ ];
  };
  "test the name of the daemon's own server is taken" = {
    expr = says { hyperhive.extraMcpServers.signal.command = "/bin/signal"; };
    expected = [
      "hyperhive.extraMcpServers.signal: `signal` is the name of the daemon's own server in every subagent with a goal; choose another."
    ];
  };

  "test an address that is empty is none" = {
    expr = lib.length (says {
      hyperhive.extraMcpServers = {
        bare.command = "";
        far = {
          type = "http";
          url = "";
        };
      };
    });
    expected = 2;
  };

  "test a port that nobody can name is refused" = {
    expr = says { hyperhive.mcp.subagentHttpPort = 0; };
    expected = [
      "hyperhive.mcp.subagentHttpPort is 0; set a port that the `subagent` entry can name."
    ];
  };
  "test settings that were forced away are told" = {
    expr = says { hyperhive.subagent.settings = lib.mkForce { }; };
    expected = [
      "hyperhive.subagent.settings.port is not set and hyperhive.mcp.subagentHttpPort is 20509; set the latter alone."
    ];
  };
  "test a port in the settings that differs is refused" = {
    expr = says { hyperhive.subagent.settings.port = 8717; };
    expected = [
      "hyperhive.subagent.settings.port is 8717 and hyperhive.mcp.subagentHttpPort is 20509; set the latter alone."
    ];
  };
  "test a token file in the settings is refused" = {
    expr = says { hyperhive.subagent.settings.auth_token_file = "/run/secrets/t"; };
    expected = [
      "hyperhive.subagent.settings.auth_token_file is set; use hyperhive.subagent.authTokenFile, which also hands the token to the daemon as a credential."
    ];
  };
  "test a secret in the store is refused" = {
    expr = says {
      hyperhive.subagent.authTokenFile = "/nix/store/00000000000000000000000000000000-token";
      hyperhive.subagent.environmentFile = "/nix/store/00000000000000000000000000000000-env";
    };
    expected = [
      "hyperhive.subagent.authTokenFile is /nix/store/00000000000000000000000000000000-token, which every user can read; give the path of a file outside the store, as a string."
      "hyperhive.subagent.environmentFile is /nix/store/00000000000000000000000000000000-env, which every user can read; give the path of a file outside the store, as a string."
    ];
  };
  "test a secret that is a path would be copied to the store" = {
    expr = says {
      hyperhive.subagent.authTokenFile = ./assertions.nix;
      hyperhive.subagent.environmentFile = ./assertions.nix;
    };
    expected = [
      "hyperhive.subagent.authTokenFile is ${toString ./assertions.nix}, which every user can read; give the path of a file outside the store, as a string."
      "hyperhive.subagent.environmentFile is ${toString ./assertions.nix}, which every user can read; give the path of a file outside the store, as a string."
    ];
  };
  "test the limit that counts is the setting's" = {
    expr = says {
      hyperhive.subagent = {
        memoryMax = "1M";
        settings.memory_max = "8G";
        serviceMemoryMax = "1G";
      };
    };
    expected = [
      "hyperhive.subagent.memoryMax (8G) is not below hyperhive.subagent.serviceMemoryMax (1G); one subagent could then take the daemon's memory too. Lower the first or raise the second."
    ];
  };
  "test a limit per subagent has to be below the limit of all" = {
    expr =
      map
        (
          limits:
          says {
            hyperhive.subagent = {
              memoryMax = lib.elemAt limits 0;
              serviceMemoryMax = lib.elemAt limits 1;
            };
          }
        )
        [
          [
            "2G"
            "1G"
          ]
          [
            1073741824
            "1G"
          ]
          [
            "1023M"
            "1G"
          ]
          [
            "1G"
            null
          ]
        ];
    expected = [
      [
        "hyperhive.subagent.memoryMax (2G) is not below hyperhive.subagent.serviceMemoryMax (1G); one subagent could then take the daemon's memory too. Lower the first or raise the second."
      ]
      [
        "hyperhive.subagent.memoryMax (1073741824) is not below hyperhive.subagent.serviceMemoryMax (1G); one subagent could then take the daemon's memory too. Lower the first or raise the second."
      ]
      [ ]
      [ ]
    ];
  };

  "test a role that no call could name is refused" = {
    expr = says {
      hyperhive.subagent.roles = {
        "Linter" = "You are a linter.";
        linter = "You are a linter.";
      };
    };
    expected = [
      "hyperhive.subagent.roles.\"Linter\": a role's name is made of a-z, 0-9 and -, at most 32 of them, and does not begin with -; choose another."
    ];
  };

  "test a sink of no known kind, or with a secret that Nix would copy, does not evaluate" = {
    expr =
      map
        (
          sink:
          let
            daemon = evaluate.daemon (scout {
              hyperhive.subagent.todoSinks = [ sink ];
            });
          in
          (builtins.tryEval (builtins.deepSeq daemon true)).success
        )
        [
          "smoke:/signals"
          "exec:notify"
          "ftp://127.0.0.1/"
          { url = "ftp://127.0.0.1/"; }
          {
            url = "https://127.0.0.1/";
            secret_file = ./settings.nix;
          }
        ];
    expected = [
      false
      false
      false
      false
      false
    ];
  };
  "test a size that systemd would not read does not evaluate" = {
    expr =
      map
        (
          memoryMax:
          let
            daemon = evaluate.daemon (scout {
              hyperhive.subagent = { inherit memoryMax; };
            });
          in
          (builtins.tryEval (builtins.deepSeq daemon true)).success
        )
        [
          "1.5G"
          "0"
          "08G"
          "99999999999T"
          "1073741824"
          "999999T"
        ];
    expected = [
      false
      false
      false
      false
      true
      true
    ];
  };
}
