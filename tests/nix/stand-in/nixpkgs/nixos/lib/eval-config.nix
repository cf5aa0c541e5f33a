# As much of NixOS's evaluation as the check of the unit looks at.
{ modules, system }:
let
  lib = import ../../lib;
  pkgs = import ../../pkgs.nix {
    inherit lib system;
    self.outPath = ../..;
  };
in
lib.evalModules {
  modules = modules ++ [
    ../../nixos.nix
    {
      config._module.args = { inherit pkgs; };
      options.boot.isContainer = lib.mkOption { type = lib.types.bool; };
      options.system.stateVersion = lib.mkOption { type = lib.types.str; };
      options.systemd.units = lib.mkOption {
        default."hive-subagent-daemon.service".text = "ExecStart=${pkgs.bash}";
      };
    }
  ];
}
