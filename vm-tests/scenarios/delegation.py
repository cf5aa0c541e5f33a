# agent: forge
"""An operator's role is delegated to; the intervention hook runs as it is installed."""

HOOKS = "/etc/claude-code/managed-settings.d/50-subagent-intervention.json"

with subtest("a delegation has the operator's role beside the daemon's own, in one notice"):
    tasks = [
        {"task": f"[[STUB {json.dumps({'steps': [{'text': role}]})}]]", "role": role, "name": role}
        for role in ("linter", "scout")
    ]
    delegation = call("delegate", {"tasks": tasks})["delegation"]
    answer = call("wait", {"names": [delegation], "timeout_s": 300}, "--timeout 600")
    assert answer["done"], answer
    children = notices(delegation, folder=f"{STATE}/inbox")[0]["children"]
    assert [(c["name"], c["result"]) for c in children] == [
        ("linter", "linter"),
        ("scout", "scout"),
    ], children

with subtest("the hook that was put before every claude says its parent's words once"):
    settings = json.loads(machine.succeed(f"cat {HOOKS}"))
    machine.succeed("install -d -o agent -g users /home/agent/project/temp/task-1")
    for event in ("PostToolUse", "PostToolUseFailure"):
        machine.succeed("echo leave it >/home/agent/project/temp/task-1/_stop.txt")
        machine.succeed("chown agent /home/agent/project/temp/task-1/_stop.txt")
        hook = settings["hooks"][event][0]["hooks"][0]["command"]
        # as one of claude's own subagents calls it
        given = json.dumps({"hook_event_name": event, "tool_name": "Bash", "agent_id": "a1"})
        script = f"cd /home/agent/project; printf %s {shlex.quote(given)} | TASK_ID=task-1 {hook}"
        said = [machine.succeed(f"su agent -c {shlex.quote(script)}") for _ in range(2)]
        assert json.loads(said[0]) == {"decision": "block", "reason": "[parent-stop] leave it"}, (
            said
        )
        assert said[1] == "", said
