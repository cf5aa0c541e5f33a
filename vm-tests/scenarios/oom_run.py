# agent: vault
"""The limit that `memoryMax` gives each subagent: who eats dies with all its tree, alone.

Rows R14 and R15. What else a limit can mean is in memory_limits.
"""

OWNER = "--token the-token-of-vault"
LIMIT = 96 << 20
daemon = main_pid()
machine.succeed("install -d -o agent /home/agent/left")

with subtest("a sibling is at work"):
    start("sibling", {"wait_file": "/home/agent/go"}, {"text": "done"}, options=OWNER)

with subtest("claude eats, with processes that hide"):
    start(
        "eater",
        *hidden_children("/home/agent/left"),
        {"wait_file": "/home/agent/eat"},
        {"eat_memory": 4 * LIMIT},
        goal="eat it all",
        options=OWNER,
    )
    pids = hidden_pids("/home/agent/left")
    machine.succeed("touch /home/agent/eat")
    done = ended("eater", options=OWNER)
    assert (done["state"], done["cause"], done["turn"]) == ("killed", "oom", 1), done
    assert done["memory_max_bytes"] == LIMIT, done
    none_alive(pids)
    [notice] = notices("eater")
    assert notice["kind"] == "killed", notice
    assert "own limit of 96 MiB; its peak was 96 MiB" in notice["text"], notice

with subtest("a call does not raise the limit"):
    given = {"name": "raised", "prompt_file": "/home/agent/eater.md", "memory_max": "1G"}
    assert "memory_max" in refused("start", given, OWNER)

with subtest("the sibling finishes, and the daemon is the same"):
    machine.succeed("touch /home/agent/go")
    assert ended("sibling", options=OWNER)["result"] == "done"
    assert main_pid() == daemon
    assert machine.get_unit_property(UNIT, "NRestarts") == "0"
