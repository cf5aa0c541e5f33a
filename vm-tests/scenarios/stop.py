# agent: scout
"""`systemctl stop` leaves nothing, whatever the children do against it. R11."""

machine.succeed("install -d -o agent /home/agent/left /home/agent/left/a /home/agent/left/b")
start("worker", *hidden_children("/home/agent/left/a"), {"hang": True})
start("deaf", *hidden_children("/home/agent/left/b"), {"hang_deaf": True})
pids = hidden_pids("/home/agent/left/a") + hidden_pids("/home/agent/left/b")

with subtest("the stop is clean, and systemd did not have to cut it short"):
    took = machine.succeed(
        f"a=$(date +%s%N); systemctl stop {UNIT}; echo $(( ($(date +%s%N) - a) / 1000000 ))"
    )
    print(f"    stopped two stubborn subagents in {int(took)} ms")
    unit = machine.get_unit_info(UNIT)
    assert (unit["ActiveState"], unit["Result"]) == ("inactive", "success"), unit
    assert unit["ExecMainStatus"] == "0", unit["ExecMainStatus"]

with subtest("nothing is left"):
    none_alive(pids)
    absent(AGENTS)
    absent(f"test -e {CGROUP}")
    absent("test -e /run/hive-subagent")

with subtest("both are told of, at the latest after the next start"):
    machine.succeed(f"systemctl start {UNIT}")
    for name in ("worker", "deaf"):
        [notice] = notices(name)
        assert notice["kind"] == "killed", notice
