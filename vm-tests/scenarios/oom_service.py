# agent: forge
"""The limit of the whole service: the child that eats dies, its sibling and the daemon live on.

Rows R14 and R15.
"""

daemon = main_pid()
TODOS = f"{STATE}/inbox"

with subtest("a sibling is at work"):
    start("sibling", {"wait_file": "/home/agent/go"}, {"text": "sibling done"})

with subtest("one subagent eats more than the service may have"):
    start("eater", {"eat_memory": 900 << 20}, goal="eat it all", max_turns=3)
    done = ended("eater")
    assert done["state"] == "killed", done
    assert done["signal"] == "SIGKILL", done
    assert (done["cause"], done["oom_scope"]) == ("oom", "service"), done

with subtest("the kernel did it, within the service's limit"):
    events = machine.succeed(f"cat {CGROUP}/memory.events")
    kills = int(dict(line.split() for line in events.splitlines())["oom_kill"])
    assert kills >= 1, events

with subtest("it is told once, and not prompted again"):
    [notice] = notices("eater", folder=TODOS)
    assert notice["kind"] == "killed", notice
    assert "out of memory" in notice["text"], notice
    assert "at the limit of the whole service" in notice["text"], notice
    assert done["turn"] == 1, done

with subtest("the daemon is the same, and systemd has not touched it"):
    assert main_pid() == daemon
    assert machine.get_unit_property(UNIT, "NRestarts") == "0"
    assert machine.get_unit_property(UNIT, "ActiveState") == "active"

with subtest("the sibling finishes"):
    assert session("sibling")["state"] == "running"
    machine.succeed("touch /home/agent/go")
    assert ended("sibling")["result"] == "sibling done"
    [notice] = notices("sibling", folder=TODOS)
    assert notice["kind"] == "finished", notice
