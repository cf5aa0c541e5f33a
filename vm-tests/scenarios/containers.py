# containers: forge vault
"""One agent per container: cgroups, limits, ports, tokens and lives are each agent's own.

Issue 11, 15. The containers share the machine's network namespace, as NixOS's do by default.
"""

from contextlib import contextmanager

TOKEN = "the-token-of-vault"
OPTIONS = {"forge": "", "vault": f"--token {TOKEN}"}
URLS = {}


@contextmanager
def inside(name):
    """In here `machine` is a container."""
    global machine
    host, machine = machine, Container(machine, name)
    try:
        yield
    finally:
        machine = host


def subtree(name):
    """Where the machine sees the cgroup of an agent's unit."""
    found = f"find /sys/fs/cgroup/machine.slice -path '*@{name}.service/*' -name {UNIT} -type d"
    return machine.succeed(found).strip()


for name in OPTIONS:
    with inside(name), subtest(f"{name} serves in its container, with a subtree of its own"):
        machine.wait_until_succeeds(f"systemctl is-active -q {UNIT}", timeout=120)
        about = json.loads(machine.succeed("cat /run/hive-subagent/daemon.json"))
        URLS[name] = about["url"]
        assert json.loads(machine.succeed(f"{CLIENT} health"))["agent"] == name
        assert call("status", {}, OPTIONS[name])["containment"] == "cgroup"
        assert machine.succeed(f"cat {CGROUP}/supervisor/cgroup.procs").split() == [str(main_pid())]
        delegated = machine.succeed(f"cat {CGROUP}/cgroup.subtree_control").split()
        assert {"cpu", "memory", "pids"} <= set(delegated), delegated
        assert machine.succeed(AGENTS).split() == [str(main_pid())]

with subtest("both listen in one network namespace, on ports of their own"):
    assert len(set(URLS.values())) == 2, URLS
    for url in URLS.values():
        port = int(url.rpartition(":")[2])
        machine.wait_for_open_port(port, "127.0.0.1", timeout=10)

with inside("forge"), subtest("neither is commanded by the other's client, even with its token"):
    there = f"--url {URLS['vault']}"
    assert refused("status", {}, there) == "HTTP 401"
    said = refused("status", {}, f"{there} {OPTIONS['vault']}")
    assert 'belongs to agent "vault"' in said and 'for agent "forge"' in said, said
with inside("vault"), subtest("nor the other way round"):
    said = refused("status", {}, f"--url {URLS['forge']}")
    assert 'belongs to agent "forge"' in said and 'for agent "vault"' in said, said

with subtest("each has a run, whose cgroup lies in the container's part of the tree"):
    for name in OPTIONS:
        with inside(name):
            start("worker", {"wait_file": "/home/agent/go"}, {"text": name}, options=OPTIONS[name])
    for name in OPTIONS:
        machine.succeed(f"test $(ls -d {subtree(name)}/run-* | wc -l) = 1")

with inside("forge"), subtest("what one agent has is out of the other's sight"):
    look = f"grep -rqs --devices=skip {TOKEN[:-1]}[t] /home /run /tmp /var/lib /etc"
    absent(look, f"grep -aqs {TOKEN[:-1]}[t] /proc/[0-9]*/environ", "pgrep -f [v]ault")
    assert processes_with(TOKEN) == ""
with inside("vault"), subtest("and is found where it belongs"):
    machine.succeed(look)

with inside("vault"), subtest("a subagent above its limit dies alone"):
    start("eater", {"eat_memory": 400 << 20}, options=OPTIONS["vault"])
    done = ended("eater", OPTIONS["vault"])
    assert (done["state"], done["cause"], done["oom_scope"]) == ("killed", "oom", "run"), done
    assert session("worker", OPTIONS["vault"])["state"] == "running"
with inside("forge"):
    assert session("worker")["state"] == "running"

with subtest("the end of one container ends its runs, and the other agent goes on"):
    pids = machine.succeed(f"cat {subtree('forge')}/run-*/cgroup.procs").split()
    assert pids
    machine.succeed("systemctl stop container@forge.service")
    none_alive(pids)
    with inside("vault"):
        machine.succeed("touch /home/agent/go")
        assert ended("worker", OPTIONS["vault"])["result"] == "vault"

with subtest("started again, it reports what became of them"):
    machine.succeed("systemctl start container@forge.service")
    with inside("forge"):
        machine.wait_until_succeeds(f"systemctl is-active -q {UNIT}", timeout=120)
        [notice] = notices("worker", folder=f"{STATE}/inbox")
        assert notice["kind"] == "killed", notice
        now = session("worker")
        assert (now["state"], now["cause"]) == ("killed", "daemon_stop"), now
