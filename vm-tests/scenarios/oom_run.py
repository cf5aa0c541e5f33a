# agent: vault
"""The limit of each subagent: who eats dies with all its tree, a tool that eats dies alone.

Rows R14 and R15.
"""

OWNER = "--token the-token-of-vault"
LIMIT = 96 << 20
daemon = main_pid()
machine.succeed("install -d -o agent /home/agent/left")

with subtest("a sibling is at work"):
    start("sibling", {"wait_file": "/home/agent/go"}, {"text": "done"}, options=OWNER)

with subtest("claude itself eats, with processes that hide"):
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
    assert (done["state"], done["cause"]) == ("killed", "oom"), done
    assert done["turn"] == 1, done
    none_alive(pids)

with subtest("the notice names limit and peak, once"):
    assert done["memory_max_bytes"] == LIMIT, done
    assert LIMIT * 0.9 <= done["peak_memory_bytes"] <= LIMIT, done
    [notice] = notices("eater")
    assert notice["kind"] == "killed", notice
    print(f"    {notice['text']}")

with subtest("a tool eats and is killed, and the run goes on"):
    start(
        "tooled",
        {"bash": f"python3 -c \"print(len(b'x' * {4 * LIMIT}))\""},
        {"text": "went on"},
        options=OWNER,
    )
    done = ended("tooled", options=OWNER)
    assert (done["state"], done["result"]) == ("idle", "went on"), done
    assert done["oom_kills"] >= 1, done
    [notice] = notices("tooled")
    assert notice["kind"] == "finished", notice
    print(f"    {notice['text']}")

with subtest("a call may lower the limit, not raise it"):
    given = {"name": "raised", "prompt_file": "/home/agent/tooled.md", "memory_max": "1G"}
    print(f"    {refused('start', given, OWNER)}")
    start("small", {"eat_memory": 64 << 20}, memory_max="48M", options=OWNER)
    assert ended("small", options=OWNER)["cause"] == "oom"

with subtest("the sibling finishes, and the daemon is the same"):
    machine.succeed("touch /home/agent/go")
    assert ended("sibling", options=OWNER)["result"] == "done"
    assert main_pid() == daemon
    assert machine.get_unit_property(UNIT, "NRestarts") == "0"

with subtest("no leaf is left behind"):
    assert machine.succeed(f"ls -d {CGROUP}/*/").split() == [f"{CGROUP}/supervisor/"]
