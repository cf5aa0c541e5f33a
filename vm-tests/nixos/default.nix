# Every scenario as a NixOS test: name -> derivation.
{
  self,
  pkgs,
  system,
}:
let
  inherit (pkgs) lib;
  scenarios = lib.filterAttrs (file: _: lib.hasSuffix ".py" file) (builtins.readDir ../scenarios);

  agent = name: {
    imports = [
      self.nixosModules.agent
      (../../tests/nix/agents + "/${name}.nix")
      (import ./agent.nix { inherit self system; })
    ];
  };
  # the scenario's first line names the example agent it is played with, or several, each of which
  # then has a container of its own
  setup =
    script:
    let
      inContainers = builtins.match "# containers: ([a-z ]+)\n.*" script;
      onMachine = builtins.match "# agent: ([a-z]+)\n.*" script;
      names = lib.splitString " " (lib.head inContainers);
    in
    if inContainers != null then
      {
        modules = [
          {
            containers = lib.genAttrs names (name: {
              autoStart = true;
              config = agent name;
            });
          }
        ];
        units = map (name: "container@${name}.service") names;
      }
    else
      {
        modules = [ (agent (lib.head onMachine)) ];
        units = [ "hive-subagent-daemon.service" ];
      };

  test =
    file:
    let
      script = builtins.readFile (../scenarios + "/${file}");
      inherit (setup script) modules units;
    in
    pkgs.testers.runNixOSTest {
      name = lib.removeSuffix ".py" file;
      globalTimeout = 15 * 60;
      # the scenarios share helpers that are put before them, which the type checker of the
      # driver would judge once per test; this repository checks them itself
      skipTypeCheck = true;
      nodes.machine.imports = modules ++ [ ./machine.nix ];
      testScript = ''
        READY = ${builtins.toJSON units}
        ${builtins.readFile ../prelude.py}
        ${script}
      '';
    };
in
lib.mapAttrs' (file: _: lib.nameValuePair (lib.removeSuffix ".py" file) (test file)) scenarios
