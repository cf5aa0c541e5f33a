"""What the tools of both servers share: answers, refusals, optional texts."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Annotated, Any

from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel, WrapValidator
from pydantic_core.core_schema import ValidatorFunctionWrapHandler

from hive_subagent.errors import SubagentError
from hive_subagent.visible import on_lines


def _none_or_text(value: Any, text: ValidatorFunctionWrapHandler) -> Any:
    return None if value is None else text(value)


if TYPE_CHECKING:
    OptionalText = str | None
else:
    # the SDK turns a text that happens to be JSON into an object, unless the annotation is `str`
    OptionalText = Annotated[str, WrapValidator(_none_or_text)]


async def answering(work: Awaitable[tuple[BaseModel, str]]) -> CallToolResult:
    """The answer of a tool: the text for the model and the same as structured content.

    The text stands in both, since Claude Code shows its model nothing but the structured content
    where there is any (measured with 2.1.197 and 2.1.332). Our own errors become tool errors
    word for word: their texts are made to be read. A subagent's words in a text have their control
    characters as escapes; the structured fields carry them as they are.
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
