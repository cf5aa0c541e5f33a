{
  description = "A NixOS host whose agent can run subagents";

  inputs = {
    nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
    # where you keep hive-subagent
    hive-subagent.url = "git+file:///srv/git/hive-subagent";
    # The daemon is built with this host's packages. Without the line it is built with those that
    # it was tested with, and the host keeps a second nixpkgs.
    hive-subagent.inputs.nixpkgs.follows = "nixpkgs";
  };

  outputs =
    { nixpkgs, hive-subagent, ... }:
    {
      nixosConfigurations.scout = nixpkgs.lib.nixosSystem {
        modules = [
          hive-subagent.nixosModules.default
          ./agent.nix
          {
            # in place of your hardware's; enough for `nix flake check`
            boot.isContainer = true;
            nixpkgs.hostPlatform = "x86_64-linux";
            system.stateVersion = "26.05";
          }
        ];
      };
    };
}
