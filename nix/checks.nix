# `nix flake check`: the package with its suite, the module, its documentation, the format of
# all Nix files, and every VM scenario that lies in vm-tests/scenarios.
{
  self,
  pkgs,
  system,
}:
let
  inherit (pkgs) lib;
  nixFiles = lib.fileset.toSource {
    root = ../.;
    fileset = lib.fileset.fileFilter (file: file.hasExt "nix") ../.;
  };
  moduleTests = import ../tests/nix { inherit lib; };
in
{
  package = self.packages.${system}.default;
  stub-claude = self.packages.${system}.stub-claude;

  module = pkgs.runCommand "module-tests" { failures = builtins.toJSON moduleTests.failures; } ''
    echo "$failures"
    [ "$failures" = '[]' ]
    touch $out
  '';

  # what the stand-ins render is what NixOS renders, save for store paths and what NixOS puts
  # into every unit
  unit =
    let
      nixos = import (pkgs.path + "/nixos/lib/eval-config.nix") {
        inherit system;
        modules = [
          self.nixosModules.agent
          ../tests/nix/agents/scout.nix
          {
            hyperhive.subagent.claudePackage = self.packages.${system}.stub-claude;
            boot.isContainer = true;
            system.stateVersion = lib.trivial.release;
          }
        ];
      };
    in
    pkgs.runCommand "same-unit"
      {
        # a comparison of texts: nothing that the unit names is built for it
        actual =
          builtins.unsafeDiscardStringContext
            nixos.config.systemd.units."hive-subagent-daemon.service".text;
        expected = builtins.readFile ../tests/nix/rendered/scout/hive-subagent-daemon.service;
        passAsFile = [
          "actual"
          "expected"
        ];
      }
      ''
        plain() {
          sed -E -e 's#/nix/store/[a-z0-9]{32}-[^/ ]*#STORE#g' "$1" |
            grep -Ev '^(Environment="(LOCALE_ARCHIVE|PATH|TZDIR)=|X-|WantedBy=|\[Install\]|$)'
        }
        diff -u <(plain "$expectedPath") <(plain "$actualPath")
        touch $out
      '';

  options-documentation =
    let
      documented = pkgs.nixosOptionsDoc {
        options.hyperhive =
          (lib.evalModules {
            modules = [
              self.nixosModules.agent
              ../tests/nix/stand-in/nixos.nix
              { _module.args = { inherit pkgs; }; }
            ];
          }).options.hyperhive;
        warningsAreErrors = true;
      };
    in
    documented.optionsCommonMark;

  formatting = pkgs.runCommand "formatting" { nativeBuildInputs = [ pkgs.nixfmt ]; } ''
    find ${nixFiles} -name '*.nix' -exec nixfmt --check {} +
    touch $out
  '';
}
// lib.mapAttrs' (name: lib.nameValuePair "package-${name}") self.packages.${system}.default.tests
// lib.mapAttrs' (name: lib.nameValuePair "vm-${name}") (
  import ../vm-tests/nixos { inherit self pkgs system; }
)
