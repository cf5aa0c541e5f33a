# agent: scout
"""A setting that makes no sense: one line, exit 2, and no restart loop."""

with subtest("the unit fails at once and stays so"):
    machine.succeed(
        f"mkdir -p /run/systemd/system/{UNIT}.d",
        "printf '[Service]\\nEnvironment=HIVE_SUBAGENT_MAX_RUNNING=none\\n' "
        f">/run/systemd/system/{UNIT}.d/wrong.conf",
        "systemctl daemon-reload",
    )
    machine.fail(f"systemctl restart {UNIT}")
    unit = machine.get_unit_info(UNIT)
    assert unit["ActiveState"] == "failed", unit["ActiveState"]
    assert unit["ExecMainStatus"] == "2", unit["ExecMainStatus"]
    assert unit["NRestarts"] == "0", unit["NRestarts"]

with subtest("one line names the setting"):
    said = machine.succeed(f"journalctl -u {UNIT} -o cat --no-pager -n 8")
    assert "max_running" in said, said
    assert "Traceback" not in said, said

with subtest("mended, it starts"):
    machine.succeed(
        f"rm /run/systemd/system/{UNIT}.d/wrong.conf",
        "systemctl daemon-reload",
        f"systemctl start {UNIT}",
        f"{CLIENT} health",
    )
