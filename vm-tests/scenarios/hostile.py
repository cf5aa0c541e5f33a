# agent: forge
"""A run that means harm has the daemon's user: it shuts its cgroup, moves out, lifts limits.

Rows R10, R11 and R15. What the daemon cannot hold it to, it does not claim.
"""

X = "/home/agent/x"
ESCAPE = """
import os, resource, shutil, sys

sleep = shutil.which("sleep")
me = "/sys/fs/cgroup" + open("/proc/self/cgroup").read().strip().split("::")[1]
how, last = sys.argv[1:]
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
place = os.path.normpath(me + "/../" + how)
os.makedirs(place, exist_ok=True)
with open(place + "/cgroup.procs", "w") as procs:
    procs.write("0")
resource.setrlimit(10, (resource.getrlimit(10)[1],) * 2)
null = os.open("/dev/null", os.O_RDWR)
for fd in range(3):
    os.dup2(null, fd)
os.execve(sleep, ["sleep", last], {})
"""
ME = "me=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup); unit=${me%/*}; "


def escape(how, last):
    """A step in which a process gets away, and is `sleep last` in the end."""
    return {"bash": f"python3 {X}/escape.py '{how}' {last}; sleep 1"}


def wait_for(last):
    machine.wait_until_succeeds(f"pgrep -f '^sleep {last}'", timeout=120)


def cpu_usec(pid):
    """What the leaf of a process has used."""
    leaf = f"/sys/fs/cgroup$(cut -d: -f3 /proc/{pid}/cgroup)"
    return int(machine.succeed(f"grep usage_usec {leaf}/cpu.stat | cut -d' ' -f2"))


def leaves():
    found = machine.succeed(f"find {CGROUP} -mindepth 1 -type d -printf '%P\\n'").split()
    return sorted("run" if name.startswith("run-") else name for name in found)


machine.succeed(f"install -d -o agent {X} && printf %s {shlex.quote(ESCAPE)} >{X}/escape.py")
daemon = main_pid()

with subtest("an end is not claimed while the run has shut its leaf"):
    start(
        "shut",
        {"bash": ME + "chmod 0 $me"},
        {"spawn": "sleep 4300.11", "env": "wipe"},
        {"hang": True},
    )
    wait_for("4300.11")
    answer = call("interrupt", {"name": "shut", "force": True})
    assert not answer["ended"], answer
    leaf = machine.succeed(f"echo {CGROUP}/run-*").strip()
    machine.succeed(f"chmod 755 {leaf}")

with subtest("whoever moves into a cgroup of its own ends with the last run, and is told"):
    places = {"supervisor/deep": "4400.21", "mine": "4400.31"}
    steps = [escape(how, last) for how, last in places.items()]
    start("mover", *steps, {"hang": True})
    for last in places.values():
        wait_for(last)
    died = call("interrupt", {"name": "mover", "force": True})["processes"]
    commands = {process["command"] for process in died}
    assert commands >= {f"sleep {last}" for last in places.values()}, died
    absent("pgrep -f '^sleep 4400'")

with subtest("a limit that its run has lifted is reported as lifted"):
    eat = "python3 -c 'x = bytearray(150 << 20)'"
    lift = f"echo max >$me/memory.max; {eat} && echo ate >{X}/ate"
    start("lifter", {"bash": ME + lift}, {"text": "lifted"}, memory_max="60M")
    done = ended("lifter")
    machine.succeed(f"test -e {X}/ate")
    assert (done["result"], done["memory_max_bytes"]) == ("lifted", None), done

with subtest("a limit is refused where a run has switched the unit's controllers off"):
    off = ME + "echo '-memory' >$unit/cgroup.subtree_control"
    start("off", {"bash": off}, {"text": "off"})
    assert ended("off")["result"] == "off"
    said = refused(
        "start",
        {"name": "next", "prompt_file": brief("next", {"text": "went on"}), "memory_max": "60M"},
    )
    assert "limits not taken" in said and "restart the service" in said, said
    start("unlimited", {"text": "went on"})
    assert ended("unlimited")["result"] == "went on"

with subtest("a run with many busy processes gets no more of the CPU than one with a single one"):
    busy = {"spawn": ": busy; while :; do :; done", "setsid": True}
    pids = {
        name: start(name, *[busy] * many, {"hang": True})["pid"]
        for name, many in {"greedy": 6, "modest": 1}.items()
    }
    machine.wait_until_succeeds("test $(pgrep -fc '^[^ ]*sh -c : busy') = 7", timeout=120)
    before = {name: cpu_usec(pid) for name, pid in pids.items()}
    machine.succeed("sleep 10")
    greedy, modest = (cpu_usec(pid) - before[name] for name, pid in pids.items())
    assert modest > 0.5 * greedy, (greedy, modest)
    for name in pids:
        call("interrupt", {"name": name, "force": True})

with subtest("what has moved does not outlive a crash, once the next daemon is up"):
    drop_in = f"/run/systemd/system/{UNIT}.d"
    machine.succeed(f"mkdir {drop_in} && printf '[Service]\nKillMode=process\n' >{drop_in}/x.conf")
    machine.succeed("systemctl daemon-reload")
    start("left", escape("supervisor/deep", "4600.11"), escape("mine", "4600.21"), {"hang": True})
    wait_for("4600.11")
    wait_for("4600.21")
    machine.succeed(f"kill -9 {daemon}")
    daemon = wait_for_another(daemon)
    absent("pgrep -f '^sleep 4600'")
    assert leaves() == ["supervisor"], leaves()

with subtest("the daemon has kept its pid since, and starts others"):
    start("after", {"text": "fine"})
    assert ended("after")["result"] == "fine"
    assert main_pid() == daemon
