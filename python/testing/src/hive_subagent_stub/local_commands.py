"""Slash commands that the CLI runs itself: no request, a result at once."""

from __future__ import annotations

from hive_subagent_stub import catalogue, shapes
from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.ids import token, uuid4

if TYPE_CHECKING:
    from hive_subagent_stub.stub import Stub
    from hive_subagent_stub.turn import Turn

_COST = "Total duration (API):  0s\nTotal duration (wall): 0s"


def named(stub: Stub, prompt: str) -> str | None:
    """The command that a prompt runs instead of reaching the model.

    Measured: a blank before the slash is enough to make it text; so is a second slash in the word.
    A name that nobody knows is text to 2.1.332 and an answer of 2.1.197.
    """
    name = prompt.split(maxsplit=1)[0][1:] if prompt[:1] == "/" else ""
    if not name.replace("-", "").replace("_", "").isalnum():
        return None
    if name in ("clear", "compact", "cost", "usage", "context"):
        return name
    known = name in catalogue.SLASH_COMMANDS or name in catalogue.OLD_SLASH_COMMANDS
    return name if stub.version.old and not known else None


def answer(stub: Stub, name: str) -> str:
    """What the command says."""
    if name == "clear":
        return ""
    if name == "compact":
        return "Not enough messages to compact."
    if name in ("cost", "usage"):
        title = "Total cost:            " if stub.version.old else "Estimated cost:        "
        return f"{title}${stub.total_cost_usd:.4f}\n{_COST}"
    if name == "context":
        return f"## Context Usage\n\n**Model:** {stub.model}"
    return f"Unknown command: /{name}"


def before_init(stub: Stub, turn: Turn, name: str) -> None:
    """`/clear` begins another session, under the same title."""
    if name != "clear":
        return
    old = stub.version.old
    if not old:
        new = uuid4()
        line = {
            "type": "conversation_reset",
            "new_conversation_id": new,
            "uuid": new,
            "trigger": "clear",
            "session_id": stub.session.id,
        }
        if turn.message is not None and turn.message.uuid:
            line["user_message_uuid"] = turn.message.uuid
        stub.out.emit(line)
        stub.out.emit(shapes.system(stub, "background_tasks_changed", tasks=[]))
    stub.session.move_on()
    if not old:
        stub.cost_base = 0.0
        stub.requests = 0
        if stub.session.title:
            title = stub.session.title
            stub.out.emit(shapes.system(stub, "session_title_changed", title=title))


def run(stub: Stub, turn: Turn, name: str) -> None:
    """Answer, after init."""
    text = answer(stub, name)
    shown = text or ("(no content)" if stub.version.old else "")
    if shown:
        turn.message_id, turn.request_id = token("msg_"), stub.request_id()
        stub.out.emit(shapes.assistant(stub, turn, {"type": "text", "text": shown}))
    if stub.options.replay and not stub.version.old:
        echo = (
            f"<command-name>/{name}</command-name>\n"
            f"            <command-message>{name}</command-message>\n"
            "            <command-args></command-args>"
        )
        uuid = turn.message.uuid if turn.message else None
        at = turn.message.at if turn.message else ""
        stub.out.emit(shapes.replay(stub, echo, uuid=uuid, at=at))
    turn.num_turns = 0
    ending = turn.ending
    ending.text, ending.stop_reason, ending.terminal_reason = text, None, None
    ending.without = ["api_error_status"] if not stub.version.old else []
    if not stub.version.old:
        ending.overrides = {"local_command": name}
