"""One owner's talk with one session: its runs, and what is said to them by tool and by file."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import anyio
from mcp.types import CallToolResult

from chaos.daemon import Daemon
from chaos.hearing import Word, runs_in
from chaos.owner import Owner, brief, text

FILES = {"info": "_keyinfo.txt", "redirect": "_intervene.txt", "stop": "_stop.txt"}
LONG = "x" * 11_000
"""More than a hook may hand over."""

Step = dict[str, Any]


class Gone(Exception):
    """The daemon was killed."""


@dataclass
class Session:
    """A name and what runs under it."""

    name: str
    session_id: str = ""
    runs: int = 0


@dataclass
class Hands:
    """What was said so far, of one daemon and its successors."""

    daemon: Daemon
    seed: int
    total: int
    words: list[Word] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)
    deaths: int = 0

    def transcript(self, session_id: str) -> Path | None:
        """Where claude keeps a session, archived or not."""
        return next((self.daemon.claude / "projects").glob(f"*/{session_id}.jsonl*"), None)

    def runs(self, session: Session) -> int:
        """How many runs of a session claude has begun."""
        found = self.transcript(session.session_id) if session.session_id else None
        return runs_in(found) if found else 0

    @property
    def accepted(self) -> int:
        """How many words a run has taken, or may have."""
        return sum(word.state not in ("refused", "withdrawn") for word in self.words)

    @property
    def full(self) -> bool:
        """Whether enough was said."""
        return self.accepted >= self.total


async def run(owner: Owner, work: Hands, session: Session, random: Random) -> None:
    """One run, and what is said to it meanwhile."""
    _withdraw(work, session)
    before = work.runs(session)
    tool, arguments = _call(owner, session, random)
    async with anyio.create_task_group() as tasks:
        if session.session_id and random.random() < 0.3:
            # while it starts
            tasks.start_soon(_speak, owner, work, session, random, None)
        answer = await _ask(owner.tool(tool, **arguments))
    if answer.is_error:
        return
    reply = answer.structured_content or {}
    if not session.session_id:
        session.session_id = reply["session_id"]
        work.sessions.append(session)
    session.runs += 1
    run = None
    with anyio.move_on_after(5):
        while (run := work.runs(session)) == before:  # noqa: ASYNC110
            await anyio.sleep(0.005)
    stops = 0
    for _ in range(random.choice([0, 1, 2, 3, 4, 6])):
        await anyio.sleep(random.choice([0, 0, 0.02, 0.1]) * random.random())
        word = await _speak(owner, work, session, random, run, may_stop=not stops)
        if word.state == "refused":
            break
        stops += word.kind == "stop"
    await _end(owner, work, session, random)


async def _end(owner: Owner, work: Hands, session: Session, random: Random) -> None:
    """See a run out; one that hangs is interrupted."""
    waited = await _ask(owner.tool("wait", names=[session.name], timeout_s=1.5))
    while not (waited.structured_content or {}).get("done"):
        await _ask(owner.tool("interrupt", name=session.name, force=random.random() < 0.3))
        waited = await _ask(owner.tool("wait", names=[session.name], timeout_s=30))
    _withdraw(work, session)


def _withdraw(work: Hands, session: Session, *, but: Word | None = None) -> None:
    """Take back the files that no run has taken."""
    for word in work.words:
        mine = word.session_id == session.session_id and word.way == "file"
        if mine and not word.answered and word is not but:
            file = work.daemon.runtime / "channels" / session.name / FILES[word.kind]
            try:
                file.unlink()
            except FileNotFoundError:
                word.state = "file"
            else:
                word.state = "withdrawn"
            word.answered = time.monotonic()


async def _speak(
    owner: Owner,
    work: Hands,
    session: Session,
    random: Random,
    run: int | None,
    may_stop: bool = False,
) -> Word:
    """Say one thing."""
    kinds = ["info"] * 5 + ["redirect"] * 6 + ["stop"] * may_stop
    kind: Any = random.choice(kinds)
    way = random.choice(["tool", "tool", "file"] if run is not None else ["tool"])
    word = Word(len(work.words), session.session_id, kind, way, run, sent=time.monotonic())
    work.words.append(word)
    said = word.token + (LONG if kind != "stop" and random.random() < 0.1 else "")
    if way == "file":
        await _write(work, session, word, said)
        return word
    now = {"now": True} if kind == "redirect" and random.random() < 0.3 else {}
    answer = await _ask(owner.tool("intervene", name=session.name, kind=kind, text=said, **now))
    word.answered = time.monotonic()
    if answer.is_error:
        word.state = "refused"
        assert "does not run" in text(answer), text(answer)
    else:
        reply = answer.structured_content or {}
        word.state, word.id = reply["state"], reply["id"]
    return word


async def _write(work: Hands, session: Session, word: Word, said: str) -> None:
    """By rename; the next word waits until this one was taken, a while at most."""
    _withdraw(work, session, but=word)  # or it would be replaced
    channel = work.daemon.runtime / "channels" / session.name
    draft, file = channel.parent / f"draft-{word.number}", channel / FILES[word.kind]
    await anyio.Path(draft).write_text(said)
    await anyio.Path(draft).rename(file)
    with anyio.move_on_after(1.0):
        while file.exists():  # noqa: ASYNC110
            await anyio.sleep(0.005)
        word.state, word.answered = "file", time.monotonic()


async def flush(owner: Owner, work: Hands, session: Session) -> None:
    """Runs that nobody speaks to, until one has ended well: then everything kept was heard."""
    _withdraw(work, session)
    while session.session_id:
        prompt = f"[[STUB {json.dumps({'steps': [{'text': 'flushed'}]})}]]"
        answer = await _ask(owner.tool("continue", name=session.name, prompt=prompt, goal=""))
        assert not answer.is_error, text(answer)
        session.runs += 1
        waited = await _ask(owner.tool("wait", names=[session.name], timeout_s=60))
        [view] = (waited.structured_content or {})["sessions"]
        if view["stop_reason"] == "turn_ended":
            return


async def _ask(call: Awaitable[CallToolResult]) -> CallToolResult:
    try:
        answer = await call
    except Exception as error:
        raise Gone from error
    if answer.is_error and re.search("daemon is stopping|the daemon stopped", text(answer)):
        raise Gone
    return answer


def _call(owner: Owner, session: Session, random: Random) -> tuple[str, dict[str, Any]]:
    """`start` or `continue`, with a random script."""
    goal = random.random() < 0.3
    version = "2.1.197" if random.random() < 0.3 else "2.1.332"
    turns = [_steps(random) for _ in range(3 if goal else 1)]
    directive = f"[[STUB {json.dumps({'turns': turns, 'version': version})}]]"
    given: dict[str, Any] = {"name": session.name, "goal": ""}
    if goal:
        given |= {"goal": f"{directive} the goal", "max_turns": random.randint(1, 3)}
    prompt = "Go on." if goal else f"{directive} Go on."
    if session.session_id:
        return "continue", given | {"prompt": prompt}
    return "start", given | {"trigger": prompt, "prompt_file": str(brief(owner.daemon))}


def _steps(random: Random) -> list[Step]:
    steps = [_step(random) for _ in range(random.choice([0, 1, 3, 6, 9, 12]))]
    last = random.random()
    if last < 0.8:
        return [*steps, {"text": "done"}]
    ends: list[Step] = [{"die": "SIGKILL"}, {"hang": True}, {"api_error": 529}, {"exit": 1}]
    return [*steps, random.choice([*ends, {"tool": "Read", "seconds": 3600}])]


def _step(random: Random) -> Step:
    tool: Step = {"tool": "Read", "result": "x", "seconds": random.uniform(0, 0.2)}
    steps: list[Step] = [
        tool,
        tool,
        tool | {"error": True},
        {"bash": f"sleep {random.uniform(0, 0.1):.3f}; :"},
        {"tools": [tool, {"tool": "Grep", "result": "y"}]},
        {"subagent": [tool, {"text": "inner"}], "description": "d", "prompt": "p"},
        {"sleep": random.uniform(0, 0.2)},
        {"text": "thinking aloud"},
    ]
    return random.choice(steps)
