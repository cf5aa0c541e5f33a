# agent: scout
"""Thirty starts at once on one core: none is lost, and the watchdog takes nobody. Issue 10, 17.

It took the supervisor's event loop longer than the watchdog's 30 s, and every run died with it.
"""

ROUNDS, AT_ONCE = 1, 30
CALLS = """
import concurrent.futures, json, sys
sys.path.insert(0, "/etc/hive-test")
import client
client.say = lambda value: None
url = json.loads(client.ABOUT.read_text())["url"]
given = [json.loads(line) for line in sys.stdin.read().splitlines()]
with concurrent.futures.ThreadPoolExecutor(len(given)) as pool:
    calls = [pool.submit(client.call, url, None, "start", each, 580.0) for each in given]
    print(json.dumps([call.result() for call in calls]))
"""
DROP_IN = f"/run/systemd/system/{UNIT}.d"

machine.succeed(
    f"mkdir -p {DROP_IN}",
    f"printf '[Service]\\nEnvironment=HIVE_SUBAGENT_MAX_RUNNING=40\\n' >{DROP_IN}/many.conf",
    "systemctl daemon-reload",
    f"systemctl restart {UNIT}",
)
machine.wait_for_unit(UNIT)
daemon = main_pid()
path = brief("busy", {"text": "done"})

with subtest("the daemon goes before its runs"):
    assert machine.succeed(f"cat {CGROUP}/supervisor/cpu.weight").strip() == "10000"

for number in range(ROUNDS):
    names = [f"busy-{number}-{each}" for each in range(AT_ONCE)]
    lines = "\n".join(json.dumps({"name": name, "prompt_file": path}) for name in names)

    with subtest(f"round {number + 1}: each start is answered well"):
        codes = machine.succeed(
            f"printf %s {shlex.quote(lines)} | python3 -c {shlex.quote(CALLS)}", timeout=600
        )
        assert json.loads(codes) == [0] * AT_ONCE, codes

    with subtest(f"round {number + 1}: each run ends as it should"):
        answer = call("wait", {"names": names, "timeout_s": 580}, "--timeout 590")
        assert answer["done"], answer
        states = {(done["state"], done["stop_reason"]) for done in answer["sessions"]}
        assert states == {("idle", "turn_ended")}, states
        assert answer.get("left_out", 0) == 0 and len(answer["sessions"]) == AT_ONCE, answer

with subtest("it is the same daemon"):
    assert main_pid() == daemon
    assert machine.get_unit_property(UNIT, "NRestarts") == "0"
    assert "Watchdog timeout" not in log(f"-u {UNIT}")
