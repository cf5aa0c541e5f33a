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
    # bash takes "unlimited" below a hard limit, too, and sets that
    "no-core": (
        "test $(ulimit -S -c) = 0 && ulimit -S -c unlimited && test $(ulimit -S -c) = unlimited"
    ),
}


def python(statement):
    return f"python3 -c {shlex.quote(f'import ctypes, os, socket; {statement}')}"


# finit_module(2) of no file: without the hardening it is the file that is refused
LOAD = """libc = ctypes.CDLL(None, use_errno=True); libc.syscall(313, -1, b"", 0)
error = ctypes.get_errno(); print(os.strerror(error)); raise SystemExit(error)"""
# with what is said of each: a command that is not there is refused nothing
REFUSED = {
    "write-etc": ("touch /etc/a-file", "Read-only file system"),
    "set-time": ("date -s @0", "Operation not permitted"),
    "host-name": (python('socket.sethostname("x")'), "Operation not permitted"),
    "real-time": (
        python("os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))"),
        "Operation not permitted",
    ),
    "load-module": (python(LOAD), "Operation not permitted"),
    "other-users": ("ls -d /proc/1", "No such file or directory"),
    "packet-socket": (
        python("socket.socket(17, socket.SOCK_RAW)"),
        "Address family not supported by protocol",
    ),
}
COMMANDS = WORKS | {name: command for name, (command, _) in REFUSED.items()}

# one subagent does all, each tool call leaving its status behind
machine.succeed("install -d -o agent /home/agent/tried")
# none of those that a list of devices always allows; kmsg may be opened for writing by anybody
machine.succeed("mknod -m 666 /dev/a-device c 1 11")
steps = [
    {"bash": f"({command}) >/home/agent/tried/{name}.log 2>&1; echo $? >/home/agent/tried/{name}"}
    for name, command in COMMANDS.items()
]
start("tools", *steps)
done = ended("tools", timeout_s=600)
assert done["state"] == "idle", done

for name in COMMANDS:
    status = int(machine.succeed(f"cat /home/agent/tried/{name}"))
    said = machine.succeed(f"cat /home/agent/tried/{name}.log")
    with subtest(f"{name}: {'works' if name in WORKS else 'is refused'}"):
        if name in WORKS:
            assert status == 0, (status, said)
        else:
            assert status not in (0, 126, 127) and REFUSED[name][1] in said, (status, said)
