# Without flakes: the modules and the packages.
#
#   imports = [ (import ./hive-subagent { inherit lib; }).nixosModules.default ];
#   nix-build ./hive-subagent -A hive-subagent
#
# A module is imported before its host's `pkgs` is known, hence `lib` alone; the daemon is then built
# with the packages of the host.
{
  pkgs ? import <nixpkgs> { },
  lib ? pkgs.lib,
}:
let
  overlay = import ./nix/overlay.nix;
  modules = import ./nix/module {
    inherit lib;
    packageFor = hostPkgs: (overlay hostPkgs hostPkgs).hive-subagent;
  };
in
{
  inherit (overlay pkgs pkgs)
    hive-subagent
    hive-subagent-demo
    hive-subagent-stub-claude
    hive-subagent-testing
    ;
  overlays.default = overlay;
  nixosModules = {
    default = modules.agent;
    inherit (modules) agent withoutServers withoutTree;
  };
}
