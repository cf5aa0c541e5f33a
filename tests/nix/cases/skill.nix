# The skill and the hook for the agent's own Claude Code.
{ lib, evaluate }:
let
  package = evaluate.pkgs.hive-subagent;
  python = evaluate.pkgs.python3;
  etc = ours: (evaluate.config [ { hyperhive.subagent = ours; } ]).environment.etc;
  inClaude = ours: lib.filterAttrs (path: _: lib.hasPrefix "claude-code/" path) (etc ours);
  installed = inClaude { interventionSkill = true; };
  settings =
    builtins.fromJSON installed."claude-code/managed-settings.d/50-subagent-intervention.json".text;
in
{
  "test nothing is put before an agent's claude unless asked" = {
    expr = map inClaude [
      { }
      {
        enable = false;
        interventionSkill = true;
      }
    ];
    expected = [
      { }
      { }
    ];
  };
  "test the skill is the package's" = {
    expr = installed."claude-code/.claude/skills/subagent-intervention".source;
    expected = "${package}/share/hive-subagent/skills/subagent-intervention";
  };
  "test the hook runs after every tool, failed or not, and without site" = {
    expr = lib.mapAttrs (_: groups: (lib.head (lib.head groups).hooks).command) settings.hooks;
    expected = lib.genAttrs [ "PostToolUse" "PostToolUseFailure" ] (
      _: "${python}/bin/python3 -IS ${package}/share/hive-subagent/hook.py --for subagents"
    );
  };
}
