# The example of one agent per container. Issue 11, 15.
{ lib, evaluate }:
let
  host = (import ../../../examples/containers.nix {
    hive-subagent.nixosModules.default = { };
  }) { inherit lib; };
  # NixOS gives a container its name as the host's, as a default
  agents = lib.mapAttrs (
    name: container:
    evaluate.config [
      container.config
      { networking.hostName = lib.mkDefault name; }
    ]
  ) host.containers;
in
{
  "test each agent of the example has a daemon of its own name, on a port of its own" = {
    expr = lib.mapAttrs (_: agent: {
      inherit (evaluate.daemon agent) agent_name port;
      failures = evaluate.failures agent;
      inherit (agent) warnings;
    }) agents;
    expected = {
      scout = {
        agent_name = "scout";
        port = 20509;
        failures = [ ];
        warnings = [ ];
      };
      vault = {
        agent_name = "vault";
        port = 21787;
        failures = [ ];
        warnings = [ ];
      };
    };
  };

  "test the entry of each agent of the example leads to its own daemon" = {
    expr = lib.mapAttrs (_: agent: (evaluate.servers agent).subagent.headers) agents;
    expected = {
      scout.X-Hive-Agent = "scout";
      vault = {
        Authorization = "Bearer \${HYPERHIVE_SUBAGENT_TOKEN}";
        X-Hive-Agent = "vault";
      };
    };
  };

  "test the token of the example is a file that only its agent's container has" = {
    expr = map (name: host.containers.${name}.bindMounts or { }) [
      "scout"
      "vault"
    ];
    expected = [
      { }
      {
        "/run/secrets/subagent-token" = {
          hostPath = "/run/secrets/vault-subagent-token";
          isReadOnly = true;
        };
      }
    ];
  };
}
