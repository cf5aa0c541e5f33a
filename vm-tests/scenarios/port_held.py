# agent: scout
"""While the daemon restarts nobody else can take its port, and a call waits. Issue 10, 14."""

import time

about = json.loads(machine.succeed("cat /run/hive-subagent/daemon.json"))
port = int(about["url"].rpartition(":")[2])
# by address: while the daemon is gone its daemon.json is gone, too
THERE = f"--timeout 300 --url http://127.0.0.1:{port}"
BIND = f"""
import errno, socket
try:
    socket.create_server(("127.0.0.1", {port}))
    print("bound")
except OSError as error:
    print(errno.errorcode[error.errno])
"""

with subtest("systemd holds the port and the daemon serves its socket"):
    assert machine.get_unit_property(SOCKET, "ActiveState") == "active"
    assert machine.succeed(f"ss -ltnH sport = :{port} | wc -l").strip() == "1"
    assert json.loads(machine.succeed(f"{CLIENT} health"))["instance"] == about["instance"]

with subtest("nobody else gets it while the daemon is gone, and a call made then is answered"):
    before = main_pid()
    machine.succeed(f"systemctl kill --signal SIGKILL --kill-whom main {UNIT}")
    said = machine.succeed(f"python3 -c {shlex.quote(BIND)}").strip()
    assert said == "EADDRINUSE", said
    answered = json.loads(machine.succeed(f"{CLIENT} {THERE} health"))
    assert answered["instance"] != about["instance"], answered
    assert wait_for_another(before) == main_pid()

with subtest("a call during a restart waits and succeeds"):
    machine.succeed(f"systemd-run --unit again --no-block systemctl restart {UNIT}")
    deadline = time.monotonic() + 120
    while machine.execute("systemctl is-active -q again")[0] == 0:
        assert time.monotonic() < deadline
        call("status", {}, THERE)
    call("status", {}, THERE)

with subtest("after a stop the next call starts it, unless its socket is stopped too"):
    machine.succeed(f"systemctl stop {UNIT}")
    call("status", {}, THERE)
    machine.succeed(f"systemctl stop {SOCKET} {UNIT}")
    unreachable(THERE)

with subtest("after a stop of both a start of the daemon takes a new port"):
    # what the how-to says for `restartIfChanged`; `systemctl restart` of both ends with 1
    lines = f"[Socket]\\nListenStream=\\nListenStream=127.0.0.1:{port + 1}\\n"
    drop_in = f"/run/systemd/system/{SOCKET}.d"
    machine.succeed(
        f"mkdir -p {drop_in}; printf '{lines}' >{drop_in}/port.conf; systemctl daemon-reload",
        f"systemctl start {UNIT}",
        f"{CLIENT} --url http://127.0.0.1:{port + 1} health",
    )
    assert machine.get_unit_property(SOCKET, "ActiveState") == "active"
