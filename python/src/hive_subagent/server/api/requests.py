"""What each route of the operator API takes: parts of its path, its query, its JSON object.

The fields are those of the tools. Every model is frozen and takes no other field.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from hive_subagent.delegation.service import Task
from hive_subagent.models.session import InterventionKind, WaitPolicy
from hive_subagent.sessions.options import Options

MOST_SESSIONS = 1000
"""Sessions in one list."""

OUTPUT_BYTES = 1024 * 1024
"""The most of `output.txt` in one answer."""

Name = Annotated[str, Field(description="name of a subagent")]
NameOrDelegation = Annotated[str, Field(description="name of a subagent, or id of a delegation")]
Timeout = Annotated[float, Field(description="seconds; hours are fine")]


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Nothing(Request):
    """No parameter at all."""


class ListRequest(Request):
    ended: Annotated[bool, Field(description="also those that have ended")] = True
    limit: Annotated[int, Field(ge=1, le=MOST_SESSIONS)] = MOST_SESSIONS


class NameRequest(Request):
    name: Name


class DelegationRequest(Request):
    id: Annotated[str, Field(description="id of a delegation")]


class OutputRequest(Request):
    name: Name
    offset: Annotated[
        int, Field(description="first byte; negative: so many before the end", ge=-OUTPUT_BYTES)
    ] = 0
    limit: Annotated[int, Field(description="bytes", ge=1, le=OUTPUT_BYTES)] = 64 * 1024


class TranscriptRequest(Request):
    name: Name
    last: Annotated[int, Field(description="most entries, 1 to 200")] = 20
    before: Annotated[int | None, Field(description="only entries before this position")] = None
    search: Annotated[str | None, Field(description="only entries that hold this text")] = None


class _Launch(Request):
    model: str | None = None
    goal: str | None = None
    max_turns: int | None = None
    report_file: str | None = None
    memory_max: str | int | None = None
    turn_timeout_s: float | None = None
    background_wait_s: float | None = None

    @property
    def options(self) -> Options:
        """As the sessions' service takes them."""
        return Options(**{name: getattr(self, name) for name in _Launch.model_fields})


class StartRequest(_Launch):
    name: Annotated[str, Field(description="1 to 63 of a-z, 0-9 and -")]
    prompt: Annotated[str | None, Field(description="instructions; or prompt_file")] = None
    prompt_file: str | None = None
    trigger: Annotated[str | None, Field(description="first message, if not the usual")] = None
    dir: str | None = None


class ContinueRequest(_Launch):
    name: Name
    prompt: str
    dir: str | None = None


class InterruptRequest(Request):
    name: NameOrDelegation
    force: Annotated[bool, Field(description="kill at once")] = False


class InterveneRequest(Request):
    name: Name
    kind: InterventionKind
    text: str
    now: Annotated[bool, Field(description="redirect: cut what it does now")] = False


class WaitRequest(Request):
    name: NameOrDelegation
    timeout_s: Timeout = 60


class WaitForRequest(Request):
    names: Annotated[list[str] | None, Field(description="none: all that run")] = None
    until: Literal["all", "any"] = "all"
    timeout_s: Timeout = 60


class TaskGiven(Request):
    task: Annotated[str, Field(description="what to do, whole: the child knows nothing else")]
    role: str
    name: str | None = None
    dir: str | None = None
    model: str | None = None
    timeout_s: float | None = None

    @property
    def asked(self) -> Task:
        """As the delegation takes it."""
        return Task(**self.model_dump())


class DelegateRequest(Request):
    tasks: list[TaskGiven]
    model: str | None = None
    dir: str | None = None
    wait_policy: WaitPolicy = "all"
    timeout_s: float | None = None
