"""One route of the operator API: what it takes, what answers it; from a request to its answer."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import anyio
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import Receive

from hive_subagent.errors import Refused, SubagentError
from hive_subagent.server.api.errors import fault, json_answer, refusal
from hive_subagent.server.api.requests import Request
from hive_subagent.server.mcp_server import misfit, unknown_parameter
from hive_subagent.system.sanitize import on_lines

R = TypeVar("R", bound=Request)

Answer = BaseModel | tuple[BaseModel, str]
"""The structured answer, with the tool's text where there is one."""

_PARAMETER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Endpoint(Generic[R]):
    """`calls` is what the call is named in refusals: the name of the tool, where there is one.

    `takes` holds the parameters of the path and beside them those of the query (GET) or the JSON
    object (POST). `long`: the caller may hang up and so end its call, as it ends no run.
    """

    method: Literal["GET", "POST"]
    path: str
    calls: str
    takes: type[R]
    gives: type[BaseModel]
    handle: Callable[[R], Awaitable[Answer]]
    summary: str
    has_text: bool = True
    long: bool = False

    @property
    def in_path(self) -> list[str]:
        """The parameters that stand in the path."""
        return _PARAMETER.findall(self.path)

    async def serve(self, request: HttpRequest) -> Response:
        try:
            taken = self._take(request)
            work = self.handle(taken)
            answer = await (_unless_gone(work, request.receive) if self.long else work)
        except SubagentError as error:
            return refusal(error)
        except Exception:
            return fault(self.path)
        if isinstance(answer, tuple):
            reply, text = answer
            return json_answer({"text": on_lines(text), **reply.model_dump(mode="json")})
        return json_answer(answer.model_dump(mode="json"))

    def _take(self, request: HttpRequest) -> R:
        """Raises Refused for what does not fit."""
        if self.method == "GET":
            given: dict[str, Any] = dict(request.query_params)
        else:
            given = _object(request.state.body)
        own = request.path_params
        for parameter in given:
            if parameter in own or parameter not in self.takes.model_fields:
                taken = [name for name in self.takes.model_fields if name not in own]
                said = unknown_parameter(parameter, self.calls, taken)
                raise Refused(said, name=parameter[:80])
        try:
            return self.takes.model_validate(given | own)
        except ValidationError as error:
            where = ".".join(str(part) for part in error.errors()[0]["loc"])
            raise Refused(misfit(error, self.calls), name=where[:80]) from None


def _object(body: bytes) -> dict[str, Any]:
    """The JSON object of a body; an empty one stands for no parameters. Raises Refused."""
    try:
        found = from_json(body) if body.strip() else {}
    except ValueError as error:
        raise Refused(f"the body is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise Refused("the body is no JSON object: give the parameters by name")
    return found


async def _unless_gone(work: Awaitable[Answer], receive: Receive) -> Answer:
    """The answer; where its caller hangs up before, the work is cancelled."""
    answers: list[Answer] = []
    failures: list[Exception] = []
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        try:
            answers.append(await work)
        except Exception as error:
            # as it is, not in a group of exceptions
            failures.append(error)
        tasks.cancel_scope.cancel()
    if failures:
        raise failures[0]
    if not answers:
        raise Refused("the caller has hung up", kind="unavailable")
    return answers[0]
