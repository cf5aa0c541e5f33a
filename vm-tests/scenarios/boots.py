# agent: scout
"""The unit is up after the boot, serves, and a subagent runs under it to its end."""

with subtest("the unit is ready, and petted"):
    unit = machine.get_unit_info(UNIT)
    assert unit["Type"] == "notify", unit["Type"]
    assert unit["SubState"] == "running", unit["SubState"]
    assert unit["NRestarts"] == "0", unit["NRestarts"]
    assert unit["User"] == "agent", unit["User"]
    health = json.loads(machine.succeed(f"{CLIENT} health"))
    assert (health["status"], health["running"]) == ("ok", 0), health

with subtest("the daemon sits in a leaf of its own subtree"):
    assert machine.succeed(f"cat {CGROUP}/supervisor/cgroup.procs").split() == [str(main_pid())]
    assert "memory" in machine.succeed(f"cat {CGROUP}/cgroup.controllers").split()

with subtest("what it keeps is private"):
    modes = machine.succeed(
        f"stat -c '%U %a' {STATE} /run/hive-subagent /run/hive-subagent/daemon.json"
    )
    assert modes.splitlines() == ["agent 700", "agent 700", "agent 600"], modes

with subtest("a subagent runs, ends and is told of once"):
    started = start("first", {"bash": "id -un; pwd"}, {"text": "all done"})
    assert started["dir"] == "/home/agent", started
    done = ended("first")
    assert (done["state"], done["stop_reason"]) == ("idle", "turn_ended"), done
    assert done["result"] == "all done", done
    [notice] = notices("first")
    assert notice["kind"] == "finished", notice

with subtest("a subagent's PATH is the unit's, with nothing of the daemon's own before it"):
    # issue 11, 7: nixpkgs' wrapper put the daemon's bare Python first
    looks = 'printf "%s\\n" "$PATH" >path; command -v python3 >>path'
    start("looker", {"bash": looks}, {"text": "looked"})
    assert ended("looker")["result"] == "looked"
    path, python = machine.succeed("cat /home/agent/path").splitlines()
    environment = shlex.split(machine.succeed(f"systemctl show -P Environment {UNIT}"))
    assert f"PATH={path}" in environment, (path, environment)
    assert python == "/run/current-system/sw/bin/python3", python

with subtest("nothing is left of it"):
    assert machine.succeed(AGENTS).split() == [str(main_pid())]
