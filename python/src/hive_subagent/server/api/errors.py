"""Refusals as the operator API answers them: the sentence of the tools, and its parts as fields."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any, Literal

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from hive_subagent.errors import RefusalKind, Refused, SubagentError
from hive_subagent.models.session import Frozen
from hive_subagent.system.sanitize import on_lines

log = logging.getLogger(__name__)

STATUS: Mapping[RefusalKind, int] = {
    "invalid": 422,
    "not_found": 404,
    "conflict": 409,
    "limit": 429,
    "unavailable": 503,
    "failed": 424,
}
"""The HTTP status of each kind of refusal."""


class ApiErrorBody(Frozen):
    """`message` is for people; `name` is of a subagent, a parameter or a setting."""

    message: str
    kind: RefusalKind | Literal["http", "internal"]
    name: str | None = None
    path: str | None = None
    limit: float | None = None


class ApiError(Frozen):
    """The body of every answer that is no success."""

    error: ApiErrorBody


def json_answer(
    content: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """JSON in UTF-8; half of a surrogate pair, which a model can print, becomes a `?`."""
    body = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(
        body.encode("utf-8", "replace") + b"\n",
        status,
        {"Cache-Control": "no-store", **(headers or {})},
        media_type="application/json",
    )


def refusal(error: SubagentError) -> Response:
    """The answer to a call that was refused."""
    kind: RefusalKind = error.kind if isinstance(error, Refused) else "failed"
    body = ApiErrorBody(
        message=on_lines(str(error)),
        kind=kind,
        name=error.name,
        path=error.path,
        limit=error.limit,
    )
    retry = {"Retry-After": "1"} if kind == "unavailable" else None
    return _answer(body, STATUS[kind], retry)


def transport_error(
    message: str, status: int, headers: Mapping[str, str] | None = None
) -> Response:
    """The answer to a request that reached no route."""
    return _answer(ApiErrorBody(message=message, kind="http"), status, headers)


async def on_http_exception(request: Request, error: Exception) -> Response:
    """An exception handler of Starlette: unknown routes and methods."""
    assert isinstance(error, HTTPException)
    said = {
        404: f"there is no route {request.url.path[:200]}: see /api/v1/openapi.json",
        405: f"{request.method} is not served here",
    }.get(error.status_code, error.detail)
    return transport_error(said, error.status_code, error.headers)


def fault(path: str) -> Response:
    """The answer where a fault of the daemon broke the call; call it while it is handled."""
    log.exception("a call of %s broke", path)
    message = "the daemon has a fault; its log says which"
    return _answer(ApiErrorBody(message=message, kind="internal"), 500)


def _answer(body: ApiErrorBody, status: int, headers: Mapping[str, str] | None = None) -> Response:
    content = ApiError(error=body).model_dump(mode="json", exclude_none=True)
    return json_answer(content, status, headers)
