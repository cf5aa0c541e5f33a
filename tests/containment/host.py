"""A process that hosts a containment of its own: `host.py IDENTITY strays|no SCRIPT`.

It runs SCRIPT with bash as its only run and passes on what that prints, each line after
"said"; to each line on its stdin it answers with a JSON list of pids: "end" and "everything"
with what died, "leftovers" with what was swept.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

from hive_subagent.containment import Containment


def say(word: str, value: object) -> None:
    print(word, json.dumps(value), flush=True)


async def main(identity: str, strays: str, script: str) -> None:
    containment = Containment.create(identity=identity, claim_strays=strays == "strays")
    containment.start()
    enclosure = containment.open("hosted")
    process = subprocess.Popen(
        enclosure.launcher(["bash", "-c", script]),
        env={"PATH": os.environ["PATH"], **enclosure.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    enclosure.adopt(process.pid)
    say("root", process.pid)
    assert process.stdout is not None
    for line in iter(process.stdout.readline, b"ready\n"):
        say("said", line.decode().strip())
    say("ready", None)
    while command := (await asyncio.to_thread(sys.stdin.readline)).strip():
        if command == "end":
            say("died", [info.pid for info in await enclosure.end()])
        elif command == "everything":
            say("died", [info.pid for info in await containment.end_everything()])
        elif command == "leftovers":
            say("died", [info.pid for info in await containment.sweep_leftovers()])
    await containment.stop()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
