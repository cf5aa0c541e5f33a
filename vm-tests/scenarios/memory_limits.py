# agent: forge
"""Four deaths that look alike from outside: told apart by the kernel's counters.

Row R15. The limit of the whole service is in oom_service.
"""

TODOS = f"{STATE}/inbox"
LIMIT = 100 << 20
EATER = 'python3 -c "x = []\nwhile True: x.append(bytearray(1 << 22))"; echo eaten'

daemon = main_pid()

with subtest("each run has a cgroup of its own"):
    assert call("status", {})["containment"] == "cgroup"

with subtest("claude eats above its run's own limit"):
    start("own", {"eat_memory": 3 * LIMIT}, memory_max="100M")
    done = ended("own")
    assert (done["state"], done["cause"], done["signal"]) == ("killed", "oom", "SIGKILL"), done
    assert (done["oom_scope"], done["oom_kills"]) == ("run", 1), done
    assert done["memory_max_bytes"] == LIMIT, done
    assert 0.9 * LIMIT < done["peak_memory_bytes"] <= LIMIT, done
    [notice] = notices("own", folder=TODOS)
    assert "own limit of 100 MiB; its peak was 100 MiB" in notice["text"], notice

with subtest("a limit that claude cannot even begin in is told with the mend"):
    told = refused("start", {"name": "tiny", "prompt_file": brief("tiny"), "memory_max": "1M"})
    assert "out of memory: the kernel killed claude at this run's own limit of 1 MiB" in told, told
    assert "Give it more `memory_max`" in told, told

with subtest("a tool eats: the run goes on, and its ending says so"):
    start("tool", {"bash": EATER}, {"sleep": 1.5}, {"text": "went on"}, memory_max="100M")
    done = ended("tool")
    assert (done["state"], done["result"]) == ("idle", "went on"), done
    assert (done["oom_scope"], done["oom_kills"]) == ("run", 1), done
    [notice] = notices("tool", folder=TODOS)
    assert "killed a tool" in notice["text"], notice

with subtest("a tool eats, and later somebody kills claude"):
    pid = start("later", {"bash": EATER}, {"hang": True}, memory_max="100M")["pid"]
    machine.wait_until_succeeds(f"grep -q 'oom_kill 1' {CGROUP}/run-*/memory.events", timeout=60)
    machine.succeed("sleep 2")  # what claude outlives by a second did not kill it
    machine.succeed(f"kill -9 {pid}")
    done = ended("later")
    assert (done["state"], done["cause"], done["oom_kills"]) == ("killed", "signal", 1), done

with subtest("somebody kills claude"):
    begun = {"bash": "touch /home/agent/begun"}
    pid = start("plain", begun, {"hang": True}, memory_max="100M")["pid"]
    machine.wait_for_file("/home/agent/begun")
    machine.succeed(f"kill -9 {pid}")
    done = ended("plain")
    assert (done["state"], done["cause"], done["oom_kills"]) == ("killed", "signal", 0), done
    [notice] = notices("plain", folder=TODOS)
    assert "SIGKILL from outside" in notice["text"], notice

with subtest("whoever continues is told of each death in its own words"):
    for name, words in {
        "own": "own limit of 100 MiB; its peak was 100 MiB",
        "tool": "killed a tool",
        "plain": "SIGKILL from outside",
    }.items():
        again = call("continue", {"name": name, "prompt": '[[STUB {"steps": []}]]'})
        assert words in again["text"], again
        ended(name)

with subtest("a limit for each turn is a death of its own, and leaves nothing"):
    # setsid leaves a leader of a session at once, so something else has to stay
    start("slow", {"bash": "setsid sleep 600 & sleep 601"}, turn_timeout_s=3)
    done = ended("slow")
    assert (done["state"], done["cause"]) == ("killed", "timeout"), done
    absent("pgrep -f '^sleep 60[01]'")

with subtest("a process that a signal holds is not told as sleeping"):
    pid = start("held", {"hang": True})["pid"]
    machine.succeed(f"kill -STOP {pid}")
    assert session("held")["processes"]["stopped"] == 1, session("held")
    call("interrupt", {"name": "held", "force": True})

with subtest("the daemon has kept its pid"):
    assert main_pid() == daemon
