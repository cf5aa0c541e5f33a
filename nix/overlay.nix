# Adds our packages and changes none: the Python set with mcp 2.x stays private to them.
_final: prev:
let
  python = prev.python3.override {
    self = python;
    packageOverrides = import ./python/overrides.nix;
  };
  hive-subagent = python.pkgs.callPackage ./package.nix { inherit tests; };

  # the package as its users have it: built, and started by name
  tests = {
    version = prev.testers.testVersion { package = hive-subagent; };
    demo = prev.runCommand "hive-subagent-demo" { } ''
      ${hive-subagent}/bin/hive-subagent-demo | tee $out
    '';
  };
in
{
  inherit hive-subagent;

  # `claude` for whoever looks it up on PATH, and its own name for whoever wants to be sure
  hive-subagent-stub-claude =
    prev.runCommand "hive-subagent-stub-claude"
      {
        meta = {
          description = "Scripted stand-in for Claude Code, for tests and demonstrations";
          mainProgram = "claude";
        };
      }
      ''
        mkdir -p $out/bin
        for name in claude hive-subagent-stub-claude; do
          ln -s ${hive-subagent}/bin/hive-subagent-stub-claude $out/bin/$name
        done
      '';
}
