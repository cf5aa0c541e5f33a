# agent: scout
"""The port is another's: one line, exit 3, and no restart loop. Row R27."""

before = json.loads(machine.succeed(f"{CLIENT} health"))["instance"]
port = machine.succeed(
    "cat /run/hive-subagent/daemon.json | sed -E 's/.*127.0.0.1:([0-9]+).*/\\1/'"
)
port = int(port)

with subtest("a stranger takes the port"):
    # the socket unit would hold the port
    machine.succeed(f"systemctl stop {SOCKET} {UNIT}")
    machine.succeed(f"systemd-run --unit stranger python3 -m http.server --bind 127.0.0.1 {port}")
    machine.wait_for_open_port(port, "127.0.0.1")

with subtest("the unit fails at once and stays so"):
    machine.fail(f"systemctl start {UNIT}")
    unit = machine.get_unit_info(UNIT)
    assert unit["ActiveState"] == "failed", unit["ActiveState"]
    assert unit["ExecMainStatus"] == "3", unit["ExecMainStatus"]
    assert unit["NRestarts"] == "0", unit["NRestarts"]

with subtest("one line says why"):
    said = machine.succeed(f"journalctl -u {UNIT} -o cat -t hive-subagent-daemon -n 5 --no-pager")
    assert str(port) in said, said
    assert "Traceback" not in said, said

with subtest("the stranger is told apart, and once it is gone the unit starts"):
    status, said = machine.execute(f"{CLIENT} --url http://127.0.0.1:{port} health")
    assert (status, said.strip()) == (4, "HTTP 404"), (status, said)
    machine.succeed("systemctl stop stranger")
    machine.succeed(f"systemctl start {UNIT}")
    assert json.loads(machine.succeed(f"{CLIENT} health"))["instance"] != before
