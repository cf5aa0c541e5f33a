# Evaluates the module as NixOS would, with nixpkgs' own lib and stand-ins for all the rest.
{ lib }:
let
  pkgs = import ./stand-in/pkgs.nix { inherit lib; };
  modules = import ../../nix/module {
    inherit lib;
    packageFor = pkgs: pkgs.hive-subagent;
  };
in
rec {
  inherit pkgs modules;

  # list of modules -> configuration, whatever its assertions say
  evaluated =
    ours: others:
    lib.evalModules {
      class = "nixos";
      modules = [
        ours
        ./stand-in/nixos.nix
        { _module.args = { inherit pkgs; }; }
      ]
      ++ others;
    };
  config = others: (evaluated modules.agent others).config;
  beside = others: (evaluated modules.withoutTree others).config;
  besideServers = others: (evaluated modules.withoutServers others).config;

  # our own options as documentation tools see them, by name
  documented = lib.filter (o: o.visible && !o.internal) (
    lib.optionAttrSetToDocList (evaluated modules.agent [ ]).options.hyperhive
  );

  # messages of the assertions that fail
  failures = config': map (a: a.message) (lib.filter (a: !a.assertion) config'.assertions);

  servers = config': builtins.fromJSON config'.environment.etc."hyperhive/extra-mcp.json".text;
  forClaude =
    config': builtins.fromJSON config'.environment.etc."hyperhive/claude-mcp.json".text;
  daemon = config': builtins.fromJSON config'.hyperhive.subagent.configFile.text;
  unit = config': config'.systemd.services.hive-subagent-daemon;
  # null where systemd does not hold the port
  socket = config': config'.systemd.sockets.hive-subagent-daemon or null;
}
