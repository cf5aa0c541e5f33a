# agent: scout
"""`systemctl restart` in the middle of a turn. Rows R11 and R17."""

machine.succeed("install -d -o agent /home/agent/left")
daemon = main_pid()
start("worker", *hidden_children("/home/agent/left"), {"hang": True})
pids = hidden_pids("/home/agent/left")

with subtest("the restart ends the children and is clean"):
    machine.succeed(f"systemctl restart {UNIT}")
    wait_for_another(daemon)
    none_alive(pids)
    assert machine.succeed(AGENTS).split() == [str(main_pid())]
    # NRestarts counts what systemd did by itself
    assert machine.get_unit_property(UNIT, "NRestarts") == "0"

with subtest("the run is told of once, and remembered"):
    [notice] = notices("worker")
    assert notice["kind"] == "killed", notice
    now = session("worker")
    assert (now["state"], now["cause"]) == ("killed", "daemon_stop"), now

with subtest("the new daemon works"):
    start("next", {"text": "here"})
    assert ended("next")["result"] == "here"
