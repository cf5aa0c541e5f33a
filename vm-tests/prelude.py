"""What every scenario may use beside the driver's own names; put before each of them."""

import json
import shlex

UNIT = "hive-subagent-daemon.service"
SOCKET = "hive-subagent-daemon.socket"
CLIENT = "python3 /etc/hive-test/client.py"
CGROUP = f"/sys/fs/cgroup/system.slice/{UNIT}"
STATE = "/var/lib/hive-subagent"
# a process that the agent's user still has; the daemon's own runs as that user too
AGENTS = "pgrep -u agent"


class Container:
    """A container of the machine, with the driver's functions that need no more than a root shell.

    Where a scenario puts one in the place of `machine`, all that is below speaks to it.
    """

    def __init__(self, host, name):
        self.host, self.name = host, name

    def inside(self, command):
        """The command line of the host that runs a command in the container."""
        pid = self.host.succeed(f"machinectl show --property Leader --value {self.name}").strip()
        script = shlex.quote(f"set -euo pipefail; {command}")
        return f"nsenter -t {pid} -m -u -i -n -p -C -r -w -- /usr/bin/env bash -lc {script}"

    def execute(self, command, timeout=900):
        return self.host.execute(self.inside(command), timeout=timeout)

    def succeed(self, *commands, timeout=None):
        return "".join(self.host.succeed(self.inside(c), timeout=timeout) for c in commands)

    def fail(self, *commands, timeout=None):
        return "".join(self.host.fail(self.inside(c), timeout=timeout) for c in commands)

    def wait_until_succeeds(self, command, timeout=900):
        return self.host.wait_until_succeeds(self.inside(command), timeout=timeout)

    def get_unit_property(self, unit, name):
        return self.succeed(f"systemctl show -P {name} {unit}").strip()


def call(tool, arguments, options=""):
    """One tool call; its structured answer."""
    given = shlex.quote(json.dumps(arguments))
    return json.loads(machine.succeed(f"{CLIENT} {options} call {tool} {given}"))


def refused(tool, arguments, options=""):
    """One tool call that must be refused; the words of the refusal."""
    given = shlex.quote(json.dumps(arguments))
    status, said = machine.execute(f"{CLIENT} {options} call {tool} {given}")
    # the client's codes for a refusal; any other one is a client that did not work
    assert status in (3, 4), (status, said)
    return said.strip()


def unreachable(options=""):
    """Nothing must listen where the client asks for health."""
    status, said = machine.execute(f"{CLIENT} {options} health")
    assert status == 5, (status, said)


def brief(name, *steps, turns=None):
    """A brief whose steps the stand-in for claude follows; its path."""
    script = {"turns": turns} if turns else {"steps": list(steps)}
    path = f"/home/agent/{name}.md"
    text = f"Do as the script says.\n[[STUB {json.dumps(script)}]]\n"
    machine.succeed(f"printf %s {shlex.quote(text)} >{path}")
    return path


def start(name, *steps, turns=None, options="", **arguments):
    """Start a subagent that follows these steps."""
    given = {"name": name, "prompt_file": brief(name, *steps, turns=turns), **arguments}
    return call("start", given, options)


def ended(name, options="", timeout_s=300):
    """Wait for a subagent's end; its session object."""
    answer = call("wait", {"names": [name], "timeout_s": timeout_s}, f"--timeout 600 {options}")
    assert answer["done"], answer
    return answer["sessions"][0]


def session(name, options=""):
    """A session object."""
    return call("status", {"name": name}, options)


def notices(name, count=1, folder=f"{STATE}/todos"):
    """A subagent's notices, oldest first, once there are that many."""
    machine.wait_until_succeeds(
        f'grep -l \'"name": *"{name}"\' {folder}/*.json | wc -l | grep -qx {count}', timeout=60
    )
    found = machine.succeed(f"cat $(ls -tr {folder}/*.json)")
    decoder, at, every = json.JSONDecoder(), 0, []
    while at < len(found.rstrip()):
        notice, at = decoder.raw_decode(found, at)
        every.append(notice)
        while at < len(found) and found[at].isspace():
            at += 1
    return [notice for notice in every if notice["name"] == name]


def main_pid():
    """The daemon's pid; 0 when it does not run."""
    return int(machine.get_unit_property(UNIT, "MainPID"))


def wait_for_another(pid):
    """Until systemd runs a daemon that is not this one and that is ready; its pid."""
    machine.wait_until_succeeds(
        f"systemctl show -P MainPID -P ActiveState {UNIT} | tr '\\n' ' ' "
        f"| grep -v '^{pid} ' | grep -q ' active'",
        timeout=300,
    )
    return main_pid()


def hidden_children(folder):
    """Steps that leave processes behind which a kill by process group, session or marker misses."""
    sleeper = "while :; do sleep 1000; done"
    kinds = {
        "plain": {},
        "deaf": {"ignore_term": True},
        "session": {"setsid": True, "ignore_term": True},
        "wiped": {"setsid": True, "ignore_term": True, "env": "wipe"},
    }
    return [
        {"spawn": f": {kind}; {sleeper}", "pid_file": f"{folder}/{kind}.pid", **how}
        for kind, how in kinds.items()
    ]


def hidden_pids(folder):
    """Their pids, once all are there."""
    for kind in ("plain", "deaf", "session", "wiped"):
        machine.wait_for_file(f"{folder}/{kind}.pid", timeout=120)
    return machine.succeed(f"cat {folder}/*.pid").split()


def absent(*commands):
    """Commands that look for something (grep, pgrep, test, kill -0) and must not find it.

    They exit with 1 then; another code, such as 127, says that nothing was looked for. One command
    each: in a pipeline the code may be that of a part that does not look for anything.
    """
    for command in commands:
        assert "|" not in command, command
        status, found = machine.execute(f"{command} 2>&1")
        assert status == 1, f"`{command}` exited with {status}: {found}"


def none_alive(pids):
    """None of these processes is left."""
    assert pids
    absent(*(f"kill -0 {pid}" for pid in pids))


def log(options=""):
    """What the journal holds."""
    return machine.succeed(f"journalctl --no-pager -o cat {options}")


# the text comes in hexadecimal digits: a command line that says it would find itself
_SEARCH = """
import pathlib, sys
text = bytes.fromhex(sys.argv[1])
for process in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        line = (process / "cmdline").read_bytes()
        if text in line.replace(b"\\0", b" "):
            print(process.name, line)
    except (FileNotFoundError, ProcessLookupError):
        pass
"""


def processes_with(text):
    """The processes of the machine whose command line holds a text, one a line."""
    search = f"python3 -c {shlex.quote(_SEARCH)} {text.encode().hex()}"
    return machine.succeed(search)


# the backend's: the units of the machine that everything runs in
for unit in READY:
    machine.wait_for_unit(unit)
