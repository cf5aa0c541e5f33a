# agent: scout
"""A daemon whose event loop stands still is replaced, and its children go with it. R11."""

machine.succeed("install -d -o agent /home/agent/left")
start("worker", *hidden_children("/home/agent/left"), {"hang": True})
pids = hidden_pids("/home/agent/left")
daemon = main_pid()

with subtest("a stopped daemon is replaced"):
    machine.succeed(f"kill -STOP {daemon}")
    wait_for_another(daemon)
    machine.succeed(f"journalctl -u {UNIT} --no-pager | grep -q 'Watchdog timeout'")
    assert machine.get_unit_property(UNIT, "NRestarts") == "1"

with subtest("none of the children is left, and the run is told of"):
    none_alive(pids)
    [notice] = notices("worker")
    assert notice["kind"] == "killed", notice
