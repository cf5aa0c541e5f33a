"""The lists that `init` prints, as measured."""

from __future__ import annotations


def _words(text: str) -> list[str]:
    return text.split()


TOOLS = _words("""
    Task Bash CronCreate CronDelete CronList Edit EnterWorktree ExitWorktree ListAgents
    Monitor NotebookEdit Read ReportFindings ScheduleWakeup SendMessage Skill TaskStop
    ToolSearch WebFetch WebSearch Workflow Write
""")

SLASH_COMMANDS = _words("""
    deep-research dataviz update-config verify debug code-review simplify batch
    fewer-permission-prompts doctor loop claude-api workflow-authoring run
    run-skill-generator plugin-authoring agents auto-mode-setup autocompact clear color
    compact config output-style context effort fast focus heapdump init mcp model
    __remote-workflow workflow-launch-exec reload-plugins reload-skills rename
    security-review usage insights recap goal list-agents team-onboarding
""")

TERMINAL_SLASH_COMMANDS = _words("""
    doctor color focus reload-plugins
""")

SKILLS = _words("""
    deep-research dataviz update-config verify debug code-review simplify batch
    fewer-permission-prompts doctor loop claude-api workflow-authoring run
    run-skill-generator plugin-authoring
""")

CAPABILITIES = _words("""
    interrupt_receipt_v1 interrupt_cancel_queued_v1 interrupt_send_now_v1
    interrupt_requeue_taken_v1 msg_lifecycle_v1 request_marker_lists_v1
    ask_user_question_unanswered_v1 lifecycle_wakeup_source_v1 sdk_mcp_tools_list_changed
    sdk_mcp_manifests mcp_read_resource_v1 mcp_tool_ui_meta_v1 ui_surface_v1
    mcp_call_result_not_for_model_v1 mcp_call_soft_error_result_v1
    mcp_call_check_permissions_v1 voice_call_talk_line_v1 withdrawn_files_note_v2
    withdrawn_tools_v1 ui_pane_widget_v1 reload_plugins_refuse_if_busy_v1
    get_usage_detached_v1 silent_resend_files_v1
""")

AGENTS = _words("""
    claude Explore general-purpose Plan statusline-setup
""")

OLD_TOOLS = _words("""
    Task Bash CronCreate CronDelete CronList Edit EnterWorktree ExitWorktree NotebookEdit
    Read ReportFindings ScheduleWakeup SendMessage Skill TaskCreate TaskGet TaskList
    TaskOutput TaskStop TaskUpdate WebFetch WebSearch Workflow Write
""")

OLD_SLASH_COMMANDS = _words("""
    deep-research update-config verify debug code-review simplify batch
    fewer-permission-prompts loop claude-api run run-skill-generator clear compact config
    context heapdump init reload-skills review security-review usage insights goal
    team-onboarding
""")

OLD_SKILLS = _words("""
    deep-research update-config verify debug code-review simplify batch
    fewer-permission-prompts loop claude-api run run-skill-generator
""")

PLUGINS = [
    {"name": name, "path": "builtin", "source": f"{name}@builtin"}
    for name in ("cc-plugin-agents-md", "cc-plugin-privacy", "cc-plugin-plugin-authoring")
]
