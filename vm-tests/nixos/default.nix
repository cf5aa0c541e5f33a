# Every scenario as a NixOS test: name -> derivation.
{
  self,
  pkgs,
  system,
}:
let
  inherit (pkgs) lib;
  scenarios = lib.filterAttrs (file: _: lib.hasSuffix ".py" file) (builtins.readDir ../scenarios);

  test =
    file:
    let
      script = builtins.readFile (../scenarios + "/${file}");
      # the scenario's first line names the example agent it is played with
      agent = lib.head (builtins.match "# agent: ([a-z]+)\n.*" script);
    in
    pkgs.testers.runNixOSTest {
      name = lib.removeSuffix ".py" file;
      globalTimeout = 15 * 60;
      # the scenarios share helpers that are put before them, which the type checker of the
      # driver would judge once per test; this repository checks them itself
      skipTypeCheck = true;
      nodes.machine.imports = [
        self.nixosModules.agent
        (../../tests/nix/agents + "/${agent}.nix")
        (import ./machine.nix { inherit self system; })
      ];
      testScript = ''
        ${builtins.readFile ../prelude.py}
        ${script}
      '';
    };
in
lib.mapAttrs' (file: _: lib.nameValuePair (lib.removeSuffix ".py" file) (test file)) scenarios
