# A host on which each agent has a container of its own. `hive-subagent` is this flake; import the file
# with it: `(import ./containers.nix { inherit hive-subagent; })`.
{ hive-subagent }:
{ lib, ... }:
let
  container = agent: {
    autoStart = true;
    # the host's network: each agent's port comes from its name
    privateNetwork = false;
    config.imports = [
      hive-subagent.nixosModules.default
      {
        # `networking.hostName` is the container's name, hence also the name of the agent
        users.users.agent.isNormalUser = true;
        nixpkgs.config.allowUnfreePredicate = package: lib.getName package == "claude-code";
        system.stateVersion = "26.05";
      }
      agent
    ];
  };
  # a file of the host, to be read by systemd in the container
  secret = name: {
    "/run/secrets/subagent-token" = {
      hostPath = "/run/secrets/${name}-subagent-token";
      isReadOnly = true;
    };
  };
in
{
  containers = {
    scout = container {
      hyperhive.subagent = {
        maxRunning = 4;
        memoryMax = "2G";
      };
    };
    vault =
      container {
        hyperhive.subagent.authTokenFile = "/run/secrets/subagent-token";
      }
      // {
        bindMounts = secret "vault";
      };
  };
}
