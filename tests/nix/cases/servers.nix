# What an agent.nix can do to the `subagent` entry, and what reaches the file of the harness.
{ lib, evaluate }:
let
  agent = evaluate.config;
  scout =
    more:
    agent (
      [ ../agents/scout.nix ] ++ lib.singleton { hyperhive.extraMcpServers = more; }
    );
  ours = {
    type = "http";
    url = "http://127.0.0.1:20509/mcp";
    headers.X-Hive-Agent = "scout";
    allowedTools = [ "*" ];
    availableToSubagents = false;
  };
in
{
  "test the subagent entry is there by default" = {
    expr = evaluate.servers (scout { });
    expected = {
      subagent = ours;
    };
  };

  "test changing one leaf keeps the others" = {
    expr = map (leaf: (evaluate.servers (scout { subagent = leaf; })).subagent) [
      { allowedTools = [ "status" ]; }
      { url = "http://127.0.0.1:9/mcp"; }
      { availableToSubagents = true; }
      { type = "sse"; }
      { headers.X-Agent = "scout"; }
    ];
    expected = [
      (ours // { allowedTools = [ "status" ]; })
      (ours // { url = "http://127.0.0.1:9/mcp"; })
      (ours // { availableToSubagents = true; })
      (ours // { type = "sse"; })
      (
        ours
        // {
          headers = {
            X-Agent = "scout";
            X-Hive-Agent = "scout";
          };
        }
      )
    ];
  };

  "test a further header stands beside the token's" = {
    expr =
      (evaluate.servers (agent [
        ../agents/vault.nix
        { hyperhive.extraMcpServers.subagent.headers.X-Agent = "vault"; }
      ])).subagent.headers;
    expected = {
      Authorization = "Bearer \${HYPERHIVE_SUBAGENT_TOKEN}";
      X-Agent = "vault";
      X-Hive-Agent = "vault";
    };
  };

  # issue 11, 12b
  "test daemon and entry have the agent's name from one place" = {
    expr =
      map
        (
          module:
          let
            config = agent [
              ../agents/scout.nix
              module
            ];
          in
          [
            (evaluate.daemon config).agent_name or "absent"
            (evaluate.servers config).subagent.headers
          ]
        )
        [
          { }
          { hyperhive.subagent.agentName = "dog"; }
          { hyperhive.subagent.agentName = null; }
          { networking.hostName = lib.mkForce ""; }
          { hyperhive.subagent.settings.agent_name = "cat"; }
          { hyperhive.subagent.settings.agent_name = ""; }
        ];
    expected = [
      [
        "scout"
        { X-Hive-Agent = "scout"; }
      ]
      [
        "dog"
        { X-Hive-Agent = "dog"; }
      ]
      [
        "absent"
        { }
      ]
      [
        "absent"
        { }
      ]
      [
        "cat"
        { X-Hive-Agent = "cat"; }
      ]
      [
        ""
        { }
      ]
    ];
  };

  "test the entry can be replaced" = {
    expr =
      (evaluate.servers (scout {
        subagent = lib.mkForce { command = "/bin/other"; };
      })).subagent;
    expected = {
      type = "stdio";
      command = "/bin/other";
      args = [ ];
      env = { };
      allowedTools = [ "*" ];
      availableToSubagents = false;
    };
  };

  "test the entry can be dropped and the daemon stays" = {
    expr =
      let
        dropped = scout { subagent.enable = false; };
      in
      {
        servers = evaluate.servers dropped;
        services = lib.attrNames dropped.systemd.services;
      };
    expected = {
      servers = { };
      services = [ "hive-subagent-daemon" ];
    };
  };

  "test adding another entry leaves ours in place" = {
    expr = lib.attrNames (evaluate.servers (scout { lookup.command = "/bin/lookup"; }));
    expected = [
      "lookup"
      "subagent"
    ];
  };

  "test forcing the whole option empty clears it" = {
    expr = evaluate.servers (scout (lib.mkForce { }));
    expected = { };
  };

  "test neither subagent nor bash reaches subagents unless someone says so" = {
    expr =
      let
        withBash = {
          bash = {
            type = "http";
            url = "http://127.0.0.1:8716/mcp";
          };
        };
        reach = more: lib.attrNames (
          lib.filterAttrs (_: s: s.availableToSubagents) (
            evaluate.servers (scout (lib.recursiveUpdate withBash more))
          )
        );
      in
      [
        (reach { })
        (reach { bash.availableToSubagents = true; })
      ];
    expected = [
      [ ]
      [ "bash" ]
    ];
  };

  "test the entry says where the daemon listens" = {
    expr =
      map
        (
          host:
          (evaluate.servers (agent [
            ../agents/vault.nix
            { hyperhive.subagent.settings = { inherit host; }; }
          ])).subagent.url
        )
        [
          "0.0.0.0"
          "::1"
          "::"
          "10.0.0.5"
        ];
    expected = [
      "http://127.0.0.1:8717/mcp"
      "http://[::1]:8717/mcp"
      "http://[::1]:8717/mcp"
      "http://10.0.0.5:8717/mcp"
    ];
  };

  "test a disabled entry is left out of the file" = {
    expr = lib.attrNames (evaluate.servers (agent [ ../agents/forge.nix ]));
    expected = [
      "ledger"
      "lookup"
      "subagent"
    ];
  };

  "test the daemon reads the file that the harness reads" = {
    expr = (evaluate.daemon (scout { })).mcp_servers_file;
    expected = "/etc/hyperhive/extra-mcp.json";
  };

  "test the file in Claude Code's own shape has its keys and no others" = {
    expr = evaluate.forClaude (agent [ ../agents/forge.nix ]);
    expected.mcpServers = {
      ledger = {
        type = "http";
        url = "http://127.0.0.1:9300/mcp";
      };
      lookup = {
        type = "stdio";
        command = "/run/current-system/sw/bin/lookup-mcp";
        args = [ "--read-only" ];
        env.LOOKUP_SHELF = "public";
      };
      subagent = {
        type = "http";
        url = "http://127.0.0.1:25421/mcp";
        headers.X-Hive-Agent = "forge";
      };
    };
  };
  "test the file in Claude Code's own shape names the token and does not hold it" = {
    expr = (evaluate.forClaude (agent [ ../agents/vault.nix ])).mcpServers.subagent.headers;
    expected = {
      Authorization = "Bearer \${HYPERHIVE_SUBAGENT_TOKEN}";
      X-Hive-Agent = "vault";
    };
  };
}
