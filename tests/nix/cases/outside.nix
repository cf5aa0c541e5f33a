# How a host takes the module: without flakes, and from the template. Issue 11, 16.
{ lib, evaluate }:
let
  scout = ../agents/scout.nix;
  withoutFlakes = import ../../../default.nix {
    inherit lib;
    pkgs = throw "a module is imported before the host's packages are known";
  };

  template = import ../../../templates/agent/flake.nix;
  ofTemplate =
    (template.outputs {
      hive-subagent.nixosModules.default = evaluate.modules.agent;
      nixpkgs.lib.nixosSystem =
        { modules }:
        evaluate.config (
          modules
          ++ [
            {
              options = {
                boot.isContainer = lib.mkOption { type = lib.types.bool; };
                nixpkgs.hostPlatform = lib.mkOption { type = lib.types.str; };
              };
            }
          ]
        );
    }).nixosConfigurations.scout;
in
{
  "test without flakes the modules are the flake's" = {
    expr = lib.mapAttrs (
      _: module:
      let
        config = (evaluate.evaluated module [ scout ]).config;
      in
      config.hyperhive.subagent.enable
    ) { inherit (withoutFlakes.nixosModules) agent default; };
    expected = {
      agent = true;
      default = true;
    };
  };
  "test without flakes a host can declare what the module would" = {
    expr = lib.attrNames withoutFlakes.nixosModules;
    expected = [
      "agent"
      "default"
      "withoutServers"
      "withoutTree"
    ];
  };

  "test the template's host has the daemon and nothing to warn of" = {
    expr = {
      failures = evaluate.failures ofTemplate;
      inherit (ofTemplate) warnings;
      inherit (evaluate.daemon ofTemplate) agent_name max_running memory_max;
      port = (evaluate.servers ofTemplate).subagent.url;
    };
    expected = {
      failures = [ ];
      warnings = [ ];
      agent_name = "scout";
      max_running = 4;
      memory_max = "2G";
      port = "http://127.0.0.1:20509/mcp";
    };
  };
  "test the template builds the daemon with the host's own nixpkgs" = {
    expr = template.inputs.hive-subagent.inputs.nixpkgs.follows;
    expected = "nixpkgs";
  };
}
