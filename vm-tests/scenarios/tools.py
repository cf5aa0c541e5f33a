# agent: scout
"""Under the unit's hardening claude's tools work, and what none of them needs does not."""

WORKS = {
    "write-home": "touch /home/agent/a-file",
    "write-tmp": "touch /tmp/a-file",
    "namespaces": "unshare --user --map-root-user true",
    "sandbox": "bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp true",
    "listen": "python3 -c 'import socket; socket.create_server((\"127.0.0.1\", 0))'",
    "shared-memory": "touch /dev/shm/a-file",
    "terminal": "python3 -c 'import pty; assert pty.spawn([\"true\"]) == 0'",
    "trace": "python3 -c 'import ctypes; assert ctypes.CDLL(None).ptrace(0, 0, 0, 0) == 0'",
    "executable-memory": "python3 -c 'import mmap; mmap.mmap(-1, 4096, prot=7)'",
    "device": "exec 3>/dev/a-device",
    "no-core": "test $(ulimit -S -c) = 0 && ulimit -S -c unlimited",
}
REFUSED = {
    "write-etc": "touch /etc/a-file",
    "set-time": "date -s @0",
    "host-name": "hostname other",
    "real-time": "chrt -r 1 true",
    "load-module": "modprobe dummy",
    "other-users": "ps -p 1",
    "packet-socket": "python3 -c 'import socket; socket.socket(17, socket.SOCK_RAW)'",
}

# one subagent does all, each tool call leaving its status behind
machine.succeed("install -d -o agent /home/agent/tried")
# none of those that a list of devices always allows; kmsg may be opened for writing by anybody
machine.succeed("mknod -m 666 /dev/a-device c 1 11")
steps = [
    {"bash": f"({command}) >/home/agent/tried/{name}.log 2>&1; echo $? >/home/agent/tried/{name}"}
    for name, command in (WORKS | REFUSED).items()
]
start("tools", *steps)
done = ended("tools", timeout_s=600)
assert done["state"] == "idle", done

logs = machine.succeed("cd /home/agent/tried && tail -n 3 *.log")
for name in WORKS | REFUSED:
    status = int(machine.succeed(f"cat /home/agent/tried/{name}"))
    with subtest(f"{name}: {status}"):
        assert (status == 0) == (name in WORKS), f"{name} exited with {status}\n{logs}"
