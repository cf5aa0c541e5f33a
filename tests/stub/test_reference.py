"""The reference page and the program know the same steps."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hive_subagent_stub import script, steps
from stub.process import Home, Json, directive

PAGE = (Path(__file__).parents[2] / "docs" / "contributing" / "stub.md").read_text()

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)


def test_every_step_is_on_the_page_and_every_step_of_the_page_exists() -> None:
    known = set(steps.names())
    shown = set(re.findall(r'\{"([a-z_0-9]+)":', PAGE))
    assert known - shown == set()
    assert shown - known - {"steps"} == set()


AROUND = st.text(max_size=30).filter(lambda text: "[[STUB" not in text)


@given(AROUND, JSON, AROUND)
@example("", '[[STUB {"steps": []}]]', "")
def test_a_directive_is_found_whatever_its_json_holds(before: str, inner: Json, after: str) -> None:
    value = {"steps": [{"text": "x", "inner": inner}]}
    found = script.find(f"{before}[[STUB {json.dumps(value)}]]{after}", "here")
    assert found is not None
    assert found.value == value


@given(st.text(max_size=200))
def test_any_text_is_a_script_or_not_or_a_bad_one(text: str) -> None:
    for whole in (text, f"[[STUB {text}"):
        said = ""
        try:
            script.find(whole, "here")
        except script.BadScript as bad:
            said = str(bad)
        assert "\n" not in said


def test_lines_of_a_subagent_are_not_the_turns(home: Home) -> None:
    inner: list[Json] = [{"bash": "echo in"}, {"text": "SUB RESULT"}]
    claude = home.say(directive({"subagent": inner}, {"text": "main end"}), version="2.1.197")
    result = claude.result()
    assert result["result"] == "main end"
    assert result["num_turns"] == 2
    owned = [line for line in claude.seen if line.get("parent_tool_use_id")]
    assert [line["type"] for line in owned] == ["user", "assistant", "user", "assistant"]


@pytest.mark.parametrize("size", [400, 800, 4000])
def test_lines_have_about_the_size_asked_for(home: Home, size: int) -> None:
    claude = home.say(directive({"lines": 5, "bytes": size}))
    claude.result()
    sizes = [len(raw) for raw in claude.raw if raw.startswith(b'{"type":"assistant"')]
    assert len(sizes) == 5
    assert all(abs(found - size) < 60 for found in sizes)
    assert len({line["uuid"] for line in claude.seen}) == len(claude.seen)
