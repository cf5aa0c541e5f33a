# Adds our packages and changes none: the Python set with mcp 2.x stays private to them.
_final: prev:
let
  python = prev.python3.override {
    self = python;
    packageOverrides = import ./python/overrides.nix;
  };
  hive-subagent-testing = python.pkgs.callPackage ./testing.nix { };
  hive-subagent = python.pkgs.callPackage ./package.nix { inherit hive-subagent-testing tests; };

  # the demonstration takes the daemon from PATH
  hive-subagent-demo =
    prev.runCommand "hive-subagent-demo"
      {
        nativeBuildInputs = [ prev.makeWrapper ];
        meta = {
          description = "Three scripted subagents, each ending in its own way";
          mainProgram = "hive-subagent-demo";
        };
      }
      ''
        makeWrapper ${hive-subagent-testing}/bin/hive-subagent-demo $out/bin/hive-subagent-demo \
          --prefix PATH : ${prev.lib.makeBinPath [ hive-subagent hive-subagent-testing ]}
      '';

  # the package as its users have it: built, and started by name
  tests = {
    version = prev.testers.testVersion { package = hive-subagent; };
    demo = prev.runCommand "hive-subagent-demo-test" { } ''
      ${hive-subagent-demo}/bin/hive-subagent-demo | tee $out
    '';
  };
in
{
  inherit hive-subagent hive-subagent-demo hive-subagent-testing;

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
          ln -s ${hive-subagent-testing}/bin/hive-subagent-stub-claude $out/bin/$name
        done
      '';
}
