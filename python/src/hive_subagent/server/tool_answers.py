"""Answers of the tools: a text for the model, structured content for programs."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel, WrapValidator
from pydantic_core.core_schema import ValidatorFunctionWrapHandler

from hive_subagent.claude.client import is_claude_code
from hive_subagent.errors import SubagentError
from hive_subagent.system.sanitize import on_lines


def _none_or_text(value: Any, text: ValidatorFunctionWrapHandler) -> Any:
    return None if value is None else text(value)


if TYPE_CHECKING:
    OptionalText = str | None
else:
    # the SDK turns a text that happens to be JSON into an object, unless the annotation is `str`
    OptionalText = Annotated[str, WrapValidator(_none_or_text)]


async def answering(work: Awaitable[tuple[BaseModel, str]]) -> CallToolResult:
    """The answer of a tool: a text that is whole by itself, and all of it as structured content.

    Our own errors become tool errors word for word: their texts are made to be read. A subagent's
    words in a text have their control characters as escapes; the structured fields carry them as
    they are.
    """
    try:
        reply, text = await work
    except SubagentError as error:
        return refusal(str(error))
    text = on_lines(text)
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content={"text": text, **reply.model_dump(mode="json")},
    )


def refusal(text: str) -> CallToolResult:
    """A tool error; raised, it would reach the model with a prefix."""
    return CallToolResult(content=[TextContent(type="text", text=on_lines(text))], is_error=True)


async def text_for_claude(
    ctx: ServerRequestContext[Any, Any], call_next: CallNext
) -> HandlerResult:
    """Middleware: Claude Code gets the text of an answer alone, so that its model reads that.

    It would show its model the structured content instead. A tool whose answers have none may not
    promise a shape for it either.
    """
    answer = await call_next(ctx)
    headers = getattr(ctx.request, "headers", {})
    if not is_claude_code(ctx.params, headers.get("user-agent")):
        return answer
    if not isinstance(answer, dict):  # it is what goes over the wire
        return answer
    if ctx.method == "tools/call":
        return {key: value for key, value in answer.items() if key != "structuredContent"}
    if ctx.method == "tools/list":
        for tool in answer["tools"]:
            tool.pop("outputSchema", None)
    return answer
