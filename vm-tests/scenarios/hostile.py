# agent: forge
"""A run that means harm has the daemon's user: it shuts its cgroup, moves out, lifts limits, forks.

Rows R10, R11 and R15. It is wiped of all that tells whose it is, and another run is always open, so
that what the daemon adopts may be anybody's.
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
if how == "shut":
    os.chmod(me, 0)
elif how == "shut unit":
    os.chmod(me, 0)
    os.chmod(os.path.dirname(me), 0)
else:
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
LOG = f"journalctl -u {UNIT} -o cat --no-pager"


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
start("holder", {"wait_file": f"{X}/go"}, {"text": "holder done"})

with subtest("a leaf that its run has shut is opened, ended and removed"):
    for number, how in enumerate(("shut", "shut unit")):
        last = f"4300.{number}1"
        start("shut", escape(how, last), {"hang": True})
        wait_for(last)
        died = call("interrupt", {"name": "shut", "force": True})["processes"]
        assert f"sleep {last}" in [process["command"] for process in died], died
        machine.fail(f"pgrep -f '^sleep {last}'")
        assert ended("shut")["peak_memory_bytes"], session("shut")
        assert leaves() == ["run", "supervisor"], leaves()

with subtest("whoever moves out ends with the interrupt, and is told"):
    places = {"supervisor": "4400.11", "supervisor/deep": "4400.21", "mine": "4400.31"}
    steps = [escape(how, last) for how, last in places.items()]
    start("mover", *steps, {"hang": True})
    for last in places.values():
        wait_for(last)
    died = call("interrupt", {"name": "mover", "force": True})["processes"]
    commands = {process["command"] for process in died}
    assert commands >= {f"sleep {last}" for last in places.values()}, died
    machine.fail("pgrep -f '^sleep 4400'")
    machine.succeed(f"{LOG} | grep 'outside the cgroups of all runs, so ended: .*sleep 4400.11'")
    assert leaves() == ["run", "supervisor"], leaves()

with subtest("and with an end that the run comes to by itself"):
    start("quiet", escape("supervisor", "4500.11"), escape("mine", "4500.21"), {"text": "ok"})
    assert ended("quiet")["result"] == "ok"
    machine.fail("pgrep -f '^sleep 4500'")
    assert leaves() == ["run", "supervisor"], leaves()

with subtest("a limit that its run has lifted is told as lifted"):
    eat = "python3 -c 'x = bytearray(150 << 20)'"
    lift = f"echo max >$me/memory.max; {eat} && echo ate >{X}/ate"
    start("lifter", {"bash": ME + lift}, {"text": "lifted"}, memory_max="60M")
    done = ended("lifter")
    machine.succeed(f"test -e {X}/ate")
    assert (done["result"], done["memory_max_bytes"]) == ("lifted", None), done
    machine.succeed(f"{LOG} | grep 'its memory.max was set to 62914560 and is max at its end'")

with subtest("controllers that a run has switched off are on again for the next, and for the rest"):
    held = start(
        "sibling", {"wait_file": f"{X}/eat"}, {"bash": eat}, {"hang": True}, memory_max="60M"
    )
    start(
        "off", {"bash": ME + "echo '-memory -pids' >$unit/cgroup.subtree_control"}, {"text": "off"}
    )
    assert ended("off")["result"] == "off"
    machine.fail(f"grep memory {CGROUP}/cgroup.subtree_control")
    start("next", {"bash": eat}, {"sleep": 1.5}, {"text": "went on"}, memory_max="60M")
    done = ended("next")
    assert (done["oom_kills"], done["oom_scope"], done["result"]) == (1, "run", "went on"), done
    machine.succeed(f"{LOG} | grep 'had switched memory, pids off'")
    leaf = machine.succeed(f"dirname $(grep -lx {held['pid']} {CGROUP}/run-*/cgroup.procs)").strip()
    machine.succeed(f"grep -x 62914560 {leaf}/memory.max")
    call("interrupt", {"name": "sibling", "force": True})

with subtest("a kill for memory is told by a counter that its run has shut"):
    shut = ME + "chmod 0 $me/memory.events $me/cgroup.kill $me/cgroup.procs $me/cgroup.events"
    start("uncounted", {"bash": shut}, {"eat_memory": 300 << 20}, memory_max="100M")
    done = ended("uncounted")
    assert (done["cause"], done["oom_kills"], done["oom_scope"]) == ("oom", 1, "run"), done

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
    start("left", escape("supervisor", "4600.11"), escape("mine", "4600.21"), {"hang": True})
    wait_for("4600.11")
    wait_for("4600.21")
    machine.succeed(f"kill -9 {daemon}")
    daemon = wait_for_another(daemon)
    machine.fail("pgrep -f '^sleep 4600'")
    assert leaves() == ["supervisor"], leaves()

with subtest("the daemon has kept its pid since, and starts others"):
    start("after", {"text": "fine"})
    assert ended("after")["result"] == "fine"
    assert main_pid() == daemon
