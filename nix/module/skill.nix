# The skill and the hook with which the agent's own Claude Code has a hand on the subagents inside
# its session; the daemon's subagents need neither. Both go where Claude Code looks on every
# machine, so that nothing of the agent's own home is touched (measured with 2.1.197 and 2.1.332:
# a skill behind a link is found there, and a drop-in's hooks run beside those of other settings).
{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.hyperhive.subagent;
  share = "${cfg.package}/share/hive-subagent";
  hooks = [
    {
      hooks = [
        {
          type = "command";
          # it runs at every tool use: without `site`, which is half of Python's start
          command = "${lib.getExe pkgs.python3} -IS ${share}/hook.py --for subagents";
          timeout = 10;
        }
      ];
    }
  ];
in
{
  config = lib.mkIf (cfg.enable && cfg.interventionSkill) {
    environment.etc = {
      "claude-code/.claude/skills/subagent-intervention".source = "${share}/skills/subagent-intervention";
      "claude-code/managed-settings.d/50-subagent-intervention.json".text = builtins.toJSON {
        hooks = {
          PostToolUse = hooks;
          # the first does not fire for a tool that failed
          PostToolUseFailure = hooks;
        };
      };
    };
  };
}
