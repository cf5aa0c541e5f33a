{
  description = "hive-subagent: a supervisor for nested headless Claude Code sessions";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      inherit (nixpkgs) lib;
      systems = [
        "x86_64-linux"
        "aarch64-linux"
      ];
      eachSystem =
        perSystem: lib.genAttrs systems (system: perSystem nixpkgs.legacyPackages.${system} system);
      # The module takes the daemon from this flake's own package set, so that it does not
      # depend on what the importing host's nixpkgs carries.
      module = import ./nix/module {
        inherit lib;
        packageFor = pkgs: self.packages.${pkgs.stdenv.hostPlatform.system}.default;
      };
    in
    {
      overlays.default = import ./nix/overlay.nix;

      nixosModules = {
        default = self.nixosModules.agent;
        inherit (module) agent withoutServers withoutTree;
      };

      packages = eachSystem (
        pkgs: _:
        let
          ours = self.overlays.default pkgs pkgs;
        in
        {
          default = ours.hive-subagent;
          demo = ours.hive-subagent-demo;
          stub-claude = ours.hive-subagent-stub-claude;
        }
      );

      apps = eachSystem (
        _: system: {
          default = {
            type = "app";
            program = lib.getExe self.packages.${system}.demo;
            meta.description = "Three scripted subagents, each ending in its own way; no account needed";
          };
        }
      );

      checks = eachSystem (pkgs: system: import ./nix/checks.nix { inherit self pkgs system; });

      # `make lint`, `make test` and `make vm-test` as anywhere else. What pip brings is made for
      # other systems: programs of it do not start on NixOS, and modules look for libgcc.
      devShells = eachSystem (
        pkgs: _: {
          default = pkgs.mkShellNoCC {
            packages = [
              pkgs.gitMinimal
              pkgs.gnumake
              pkgs.mypy
              pkgs.nixfmt-tree
              pkgs.perl
              pkgs.procps
              pkgs.python3
              pkgs.ruff
            ];
            LD_LIBRARY_PATH = lib.makeLibraryPath [ pkgs.stdenv.cc.cc ];
            MYPY = "mypy --python-executable ../.venv/bin/python";
            RUFF = "ruff";
            VM_BACKEND = "nixos";
          };
        }
      );

      templates.default = {
        path = ./templates/agent;
        description = "A NixOS host whose agent can run subagents";
      };

      formatter = eachSystem (pkgs: _: pkgs.nixfmt-tree);
    };
}
