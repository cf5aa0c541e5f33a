"""A subagent of the model: its lines carry the `parent_tool_use_id` of the call that began it."""

from __future__ import annotations

import time

from hive_subagent_stub import shapes
from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.endings import EndTurn
from hive_subagent_stub.ids import token
from hive_subagent_stub.turn import Ending

if TYPE_CHECKING:
    from hive_subagent_stub._types import Json, Step
    from hive_subagent_stub.stub import Stub
    from hive_subagent_stub.turn import Turn


def _send(stub: Stub, turn: Turn, step: Step, given: Json) -> None:
    """Have them run in the background, as the Agent tool does since about 2.1.330."""
    from hive_subagent_stub.background import send_agent
    from hive_subagent_stub.tools import Call

    given = given | ({"run_in_background": True} if "background" in step else {})
    call = Call("Agent", given, step)
    turn.say({"type": "tool_use", "id": call.id, "name": "Agent", "input": given})
    inner = {
        "parent_tool_use_id": call.id,
        "subagent_type": "general-purpose",
        "task_description": given["description"],
    }
    outcome = send_agent(stub, call, step, inner)
    block = {"tool_use_id": call.id, "type": "tool_result", "content": outcome.content}
    turn.hear([block], tool_use_result=outcome.detail)
    turn.step_over()


def perform(stub: Stub, turn: Turn, _key: str, step: Step) -> None:
    """Run the steps of `subagent` in the foreground, or in the background by themselves."""
    from hive_subagent_stub.steps import perform as perform_step

    call, agent = token("toolu_"), token("a", 17)
    description = str(step.get("description", "sub"))
    prompt = str(step.get("prompt", "go"))
    given = {
        "description": description,
        "prompt": prompt,
        "subagent_type": "general-purpose",
    }
    if step.get("background", not stub.version.old):
        _send(stub, turn, step, given)
        return
    turn.say({"type": "tool_use", "id": call, "name": "Agent", "input": given})
    task: Json = {"task_id": agent, "tool_use_id": call}
    stub.out.emit(
        shapes.system(
            stub,
            "task_started",
            **task,
            description=description,
            subagent_type="general-purpose",
            task_type="local_agent",
            prompt=prompt,
        )
    )
    outer, steps, requests = turn.ending, turn.steps, turn.requests
    turn.speaking, turn.ending = False, Ending()
    turn.inner = {
        "parent_tool_use_id": call,
        "subagent_type": "general-purpose",
        "task_description": description,
    }
    turn.hear([{"type": "text", "text": prompt}])
    turn.steps = list(step["subagent"])
    text = ""
    try:
        while turn.steps:
            inner = turn.steps.pop(0)
            perform_step(stub, turn, inner)
            text = str(inner.get("text", text))
            stub.wait(time.monotonic())
    except EndTurn:
        pass  # measured: a hook's stop ends the subagent alone
    finally:
        turn.inner, turn.ending, turn.steps, turn.speaking = {}, outer, steps, False
    ended = {"status": "completed", "end_time": int(time.time() * 1000)}
    stub.out.emit(shapes.system(stub, "task_updated", task_id=agent, patch=ended))
    stub.out.emit(
        shapes.system(
            stub,
            "task_notification",
            **task,
            status="completed",
            output_file="",
            summary=description,
            usage={"total_tokens": 120 * (turn.requests - requests), "tool_uses": 0},
        )
    )
    content = [{"type": "text", "text": text}]
    block = {"tool_use_id": call, "type": "tool_result", "content": content}
    detail = {"status": "completed", "prompt": prompt, "agentId": agent, "content": content}
    turn.hear([block], tool_use_result=detail)
    turn.step_over()
