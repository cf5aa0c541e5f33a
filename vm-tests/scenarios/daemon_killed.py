# agent: scout
"""The daemon is killed outright: systemd starts another, which tells of the run. R11, R17."""

machine.succeed("install -d -o agent /home/agent/left")
before = json.loads(machine.succeed(f"{CLIENT} health"))["instance"]
daemon = main_pid()

with subtest("a subagent is at work, with processes that hide"):
    start("worker", *hidden_children("/home/agent/left"), {"hang": True}, goal="never", max_turns=9)
    pids = hidden_pids("/home/agent/left")
    claude = session("worker")

with subtest("kill -9 of the daemon"):
    machine.succeed(f"kill -9 {daemon}")
    wait_for_another(daemon)
    assert machine.get_unit_property(UNIT, "NRestarts") == "1"

with subtest("none of the children is left"):
    none_alive(pids)
    assert machine.succeed(AGENTS).split() == [str(main_pid())]

with subtest("it is another instance, which tells of the run once"):
    assert json.loads(machine.succeed(f"{CLIENT} health"))["instance"] != before
    [notice] = notices("worker")
    assert notice["kind"] == "killed", notice
    assert notice["session_id"] == claude["session_id"]
    now = session("worker")
    assert (now["state"], now["cause"]) == ("killed", "daemon_stop"), now

with subtest("the session goes on without `dir`"):
    script = "[[STUB " + json.dumps({"steps": [{"text": "went on"}]}) + "]]"
    answer = call("continue", {"name": "worker", "prompt": f"go on {script}", "goal": ""})
    assert answer["session_id"] == claude["session_id"], answer
    assert answer["previous"]["state"] == "killed", answer
    assert ended("worker")["result"] == "went on"
