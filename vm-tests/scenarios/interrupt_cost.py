# agent: scout
"""What a forced interrupt of 200 processes takes, over a bare cgroup.kill of as many; printed.

Side by side in one machine, in turns; the daemon's part is the whole call of a client. Nothing is
asserted of the times.
"""

PROCESSES, ROUNDS = 200, 6
MEASURE = """
import json, os, pathlib, statistics, subprocess, sys, time
sys.path.insert(0, "/etc/hive-test")
import client

processes, rounds, path, unit = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
url = json.loads(client.ABOUT.read_text())["url"]
said = []
client.say = said.append
bare = pathlib.Path("/sys/fs/cgroup/bare-kill")

def call(tool, **arguments):
    assert client.call(url, None, tool, arguments, 300.0) == 0, said
    return said.pop()

def there(group):
    return len((group / "cgroup.procs").read_text().split())

def until_there(group):
    deadline = time.monotonic() + 120
    while there(group) < processes:
        assert time.monotonic() < deadline, there(group)
        time.sleep(0.05)

def bare_kill():
    bare.mkdir()
    enter = f"echo 0 >{bare}/cgroup.procs; i=0; while [ $i -lt {processes} ]; do"
    spawner = subprocess.Popen(["sh", "-c", enter + " sleep 600 & i=$((i+1)); done; wait"])
    until_there(bare)
    began = time.monotonic()
    (bare / "cgroup.kill").write_text("1")
    while "populated 1" in (bare / "cgroup.events").read_text():
        time.sleep(0.001)
    took = time.monotonic() - began
    spawner.wait()
    bare.rmdir()
    return took

def interrupt(name):
    call("start", name=name, prompt_file=path)
    (leaf,) = pathlib.Path(unit).glob("run-*")
    until_there(leaf)
    began = time.monotonic()
    answer = call("interrupt", name=name, force=True)
    took = time.monotonic() - began
    assert answer["ended"], answer
    assert len(answer["processes"]) + answer.get("left_out", 0) >= processes, answer
    return took

ours, kernels = [], []
for number in range(rounds):
    kernels.append(bare_kill())
    ours.append(interrupt(f"crowd-{number}"))
over = sorted(a - b for a, b in zip(ours, kernels))
print(json.dumps({
    "bare_ms": [round(1000 * each, 1) for each in sorted(kernels)],
    "interrupt_ms": [round(1000 * each, 1) for each in sorted(ours)],
    "over_ms_median": round(1000 * statistics.median(over), 1),
    "over_ms_most": round(1000 * over[-1], 1),
}))
"""
SPAWN = f"i=0; while [ $i -lt {PROCESSES} ]; do sleep 600 & i=$((i+1)); done; wait"

with subtest(f"{PROCESSES} processes, {ROUNDS} times in turns"):
    path = brief("crowd", {"bash": SPAWN}, {"text": "never said"})
    told = machine.succeed(
        f"python3 -c {shlex.quote(MEASURE)} {PROCESSES} {ROUNDS} {path} {CGROUP}", timeout=580
    )
    print(f"figures: {told.strip()}")
    for number in range(ROUNDS):
        done = session(f"crowd-{number}")
        assert (done["state"], done["cause"]) == ("killed", "interrupt"), done
