# agent: vault
"""The owner's token: asked for, kept out of sight, and no word of it to a subagent."""

TOKEN = "the-token-of-vault"
OWNER = f"--token {TOKEN}"

with subtest("no token and a wrong one are refused alike"):
    assert refused("status", {}) == "HTTP 401"
    assert refused("status", {}, "--token the-token-of-vaul") == "HTTP 401"
    assert refused("status", {}, "--token ''") == "HTTP 401"

with subtest("anyone local may ask whether it is well"):
    assert json.loads(machine.succeed(f"{CLIENT} health"))["status"] == "ok"

with subtest("with the token a subagent runs and reports its goal on its own route"):
    start(
        "runner",
        {"bash": "tr '\\0' '\\n' </proc/self/environ"},
        {"mcp": "signal/goal_reached"},
        {"echo_env": True},
        goal="report",
        options=OWNER,
    )
    done = ended("runner", options=OWNER)
    assert done["stop_reason"] == "goal_reached", done
    environment = json.loads(done["result"])

with subtest("a subagent has what the environment file gives, and no token"):
    assert environment["ANTHROPIC_API_KEY"] == "of-vault", environment
    assert not [name for name in environment if "TOKEN" in name], environment
    assert TOKEN not in json.dumps(environment)

with subtest("the token is in no command line and in no log"):
    assert processes_with(TOKEN) == ""
    assert TOKEN not in log()
    absent(f"grep -rq {TOKEN} {STATE} /run/hive-subagent /etc/hyperhive")

with subtest("another user of the machine finds every door closed"):
    start("guarded", {"hang": True}, goal="stay", options=OWNER)
    machine.succeed("id stranger 2>/dev/null || useradd stranger")
    for path in ("/run/hive-subagent", STATE, f"/run/credentials/{UNIT}"):
        said = machine.fail(f"su stranger -s /bin/sh -c 'ls {path}/ 2>&1'")
        assert "ermission denied" in said, said
    assert processes_with("/signal/") == ""
    # in brackets, so that the command does not find itself
    look = f"grep -aqsE '{TOKEN[:-1]}[t]|/signa[l]/' /proc/[0-9]*/environ /proc/[0-9]*/cmdline"
    # 2, since it may not read them all; 0 would say that it has found one
    status, said = machine.execute(f"su stranger -s /bin/sh -c {shlex.quote(look)} 2>&1")
    assert status == 2, (status, said)
    machine.succeed(f"test $(find {STATE} /run/hive-subagent -perm /077 | wc -l) = 0")
    call("interrupt", {"name": "guarded", "force": True}, OWNER)

with subtest("it listens on loopback alone"):
    listening = machine.succeed("ss -ltnH").split("\n")
    assert [line for line in listening if ":8717 " in line], listening
    assert not [line for line in listening if ":8717 " in line and "127.0.0.1:8717" not in line]

with subtest("without its token file the unit does not start, and says so"):
    machine.succeed("mv /var/lib/secrets/subagent-token /var/lib/secrets/away")
    machine.fail(f"systemctl restart {UNIT}")
    machine.wait_until_succeeds(
        f"journalctl -u {UNIT} --no-pager | grep -q status=243/CREDENTIALS", timeout=30
    )
    machine.succeed("mv /var/lib/secrets/away /var/lib/secrets/subagent-token")
    machine.succeed(f"systemctl reset-failed {UNIT}; systemctl start {UNIT}")
