"""Over runs, cuts and crashes each text arrives exactly once, in order, or is still kept."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from support.batches import batch_of

from hive_subagent.claude.conversation import Message
from hive_subagent.claude.hooks import TEXT_LIMIT, Prompt, Say
from hive_subagent.intervention.intervention import Intervention
from hive_subagent.intervention.queue import InterventionQueue
from hive_subagent.models.session import Undelivered


class OneRunAfterAnother(RuleBasedStateMachine):
    """A session of several runs: every text arrives exactly once, in order, or is still kept."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: tuple[Undelivered, ...] = ()
        self.put: list[str] = []
        self.arrived: list[str] = []
        self.sent: list[tuple[Message, str]] = []
        self.begin()

    def begin(self) -> None:
        self.queue = InterventionQueue(missed=self.kept, keep=self.keep)

    def keep(self, undelivered: tuple[Undelivered, ...]) -> None:
        self.kept = undelivered

    def took(self, text: str) -> None:
        self.arrived += [word for word in text.split() if word.startswith("note-")]

    def send(self, said: Say | Prompt) -> None:
        self.sent.append((said.message, said.text))

    @rule(kind=st.sampled_from(["info", "redirect"]), long=st.booleans())
    def owner_speaks(self, kind: Any, long: bool) -> None:
        text = f"note-{len(self.put)}"
        self.put.append(text)
        self.queue.put(Intervention(kind=kind, text=f"{text} {'x' * TEXT_LIMIT * long}"))

    @rule()
    def step(self) -> None:
        self.steered(self.queue.at_step("h"))

    @rule()
    def end_of_a_turn(self) -> None:
        self.steered(self.queue.at_end("h"))

    def steered(self, steer: object) -> None:
        if isinstance(steer, Say | Prompt):
            self.send(steer)

    @rule()
    def prompt(self) -> None:
        self.send(self.queue.before("go on"))

    @rule()
    def redirect_at_once(self) -> None:
        self.steered(self.queue.everything())

    @rule()
    def claude_reads(self) -> None:
        for message, text in self.sent:
            message.consumed = True
            self.took(text)
        self.sent.clear()
        self.queue.hear(batch_of(b"{}\n"))

    @rule()
    def claude_drops_what_it_has_not_read(self) -> None:
        for message, _ in self.sent:
            message.lost = True
        self.sent.clear()

    @rule()
    def next_run(self) -> None:
        """What claude had not read died with it."""
        self.sent.clear()
        self.queue.leave()
        self.begin()

    @rule()
    def crash(self) -> None:
        self.sent.clear()
        self.begin()

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        kept = [note.text.split()[0] for note in self.kept]
        assert self.arrived + kept == self.put


TestOneRunAfterAnother = OneRunAfterAnother.TestCase
