# agent: forge
"""The server that was opted in reaches the subagent; no other does."""

with subtest("the subagent's configuration has the one server"):
    start("reader", {"echo_config": True})
    done = ended("reader")
    servers = json.loads(done["result"])["mcpServers"]
    assert sorted(servers) == ["lookup"], servers
    assert servers["lookup"]["env"] == {"LOOKUP_SHELF": "public"}, servers

with subtest("and it can call it"):
    start("caller", {"mcp": "lookup/find", "args": {"word": "hive"}}, {"text": "found"})
    assert ended("caller")["result"] == "found"
    assert machine.succeed("cat /home/agent/looked-up") == "hive is on the public shelf\n"

with subtest("with a goal it has its own signals besides"):
    start("signaller", {"echo_config": True}, {"mcp": "signal/goal_reached"}, goal="say so")
    done = ended("signaller")
    assert done["stop_reason"] == "goal_reached", done
    assert sorted(json.loads(done["result"])["mcpServers"]) == ["lookup", "signal"], done
