# agent: forge
"""The work directory is missing: the start limit ends the loop; with one the unit starts."""

WORK = "/home/agent/work"

with subtest("the unit is not started for ever"):
    machine.succeed(f"systemctl stop {SOCKET} {UNIT}", f"mv {WORK} {WORK}.away")
    machine.fail(f"systemctl start {UNIT}")
    machine.wait_until_succeeds(
        f"systemctl show -P ActiveState {UNIT} | grep -qx failed", timeout=120
    )
    unit = machine.get_unit_info(UNIT)
    assert unit["ExecMainStatus"] == "200", unit["ExecMainStatus"]
    # ten starts in all, of which the boot's may have been one
    assert 8 <= int(unit["NRestarts"]) <= 10, unit["NRestarts"]

with subtest("the log says which step failed"):
    said = machine.succeed(f"journalctl -u {UNIT} -o cat --no-pager -n 40")
    assert "status=200/CHDIR" in said, said

with subtest("with the directory it starts"):
    machine.succeed(
        f"mv {WORK}.away {WORK}",
        f"systemctl reset-failed {UNIT}",
        f"systemctl start {UNIT}",
        f"{CLIENT} health",
    )
