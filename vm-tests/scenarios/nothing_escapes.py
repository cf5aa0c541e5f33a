# agent: forge
"""Whatever a grandchild does to get away, it ends with its run; or at the next start, if need be.

Rows R10 and R11.
"""

SLEEPER = ": ; sleep 3600.77; :"
ESCAPES = [
    {"spawn": SLEEPER, "setsid": True},
    {"spawn": SLEEPER, "setsid": True, "ignore_term": True, "env": "wipe", "hold_stdout": True},
]
ALIVE = "pgrep -f '^sleep 3600.77'"
FORKS = "i=0; while [ $i -lt 300 ]; do setsid sleep 1000 & i=$((i + 1)); done"


def none_left():
    absent(ALIVE)
    leaves = machine.succeed(f"find {CGROUP} -maxdepth 1 -name 'run-*'")
    assert leaves.strip() == "", leaves


with subtest("at an interrupt"):
    start("interrupted", *ESCAPES, {"hang": True})
    machine.wait_until_succeeds(f"test $({ALIVE} | wc -l) = 2", timeout=60)
    died = call("interrupt", {"name": "interrupted", "force": True})["processes"]
    ended("interrupted")
    assert sum("3600.77" in process["command"] for process in died) >= 2, died
    none_left()

with subtest("while it forks"):
    start("forking", {"bash": f"setsid sh -c '{FORKS}' & sleep 1; :"}, {"hang": True})
    machine.wait_until_succeeds("test $(pgrep -x sleep | wc -l) -gt 20", timeout=60)
    call("interrupt", {"name": "forking", "force": True})
    ended("forking")
    absent("pgrep -x sleep")
    none_left()

with subtest("after a crash that systemd does not clean up, once the next daemon is up"):
    drop_in = f"/run/systemd/system/{UNIT}.d"
    machine.succeed(f"mkdir {drop_in} && printf '[Service]\nKillMode=process\n' >{drop_in}/x.conf")
    machine.succeed("systemctl daemon-reload")
    start("orphaned", *ESCAPES, {"hang": True})
    machine.wait_until_succeeds(f"test $({ALIVE} | wc -l) = 2", timeout=60)
    daemon = main_pid()
    machine.succeed(f"kill -9 {daemon}")
    wait_for_another(daemon)
    none_left()
