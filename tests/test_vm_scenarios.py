"""Each VM scenario is kept with faults that make it fail, and looks in a way that can find.

That the faults are noticed shows in a machine: `make vm-test FAULTS=1`. Issue 11, 17.
"""

from __future__ import annotations

import ast
import importlib.util
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
VM_TESTS = ROOT / "vm-tests"
SCENARIOS = sorted((VM_TESTS / "scenarios").glob("*.py"))
NAMES = [path.stem for path in SCENARIOS]


@pytest.fixture(scope="module")
def faults() -> Iterator[ModuleType]:
    """The driver's module, which is no part of a package that is installed."""
    path = VM_TESTS / "debian" / "driver" / "faults.py"
    spec = importlib.util.spec_from_file_location("vm_tests_faults", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def calls(scenario: Path, name: str) -> Iterator[str]:
    """The first argument of each call of a function or method, as it is written."""
    for node in ast.walk(ast.parse(scenario.read_text())):
        if isinstance(node, ast.Call) and node.args:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else None
            called = node.func.id if isinstance(node.func, ast.Name) else called
            if called == name:
                for argument in node.args:
                    yield ast.unparse(argument)


def beginnings(scenario: Path) -> list[str]:
    """The names of a scenario's subtests, up to what is only known when it runs."""
    found = []
    for written in calls(scenario, "subtest"):
        text = ast.parse(written, mode="eval").body
        parts = text.values if isinstance(text, ast.JoinedStr) else [text]
        known = ""
        for part in parts:
            if not isinstance(part, ast.Constant):
                break
            known += str(part.value)
        found.append(known)
    return found


@pytest.mark.parametrize("scenario", SCENARIOS, ids=NAMES)
def test_every_scenario_has_a_fault_that_one_of_its_parts_notices(scenario: Path) -> None:
    """Issue 11, 17."""
    kept = tomllib.loads((VM_TESTS / "faults" / f"{scenario.stem}.toml").read_text())["fault"]
    assert kept
    for fault in kept:
        assert set(fault) == {"part", "plant"}
        assert any(
            name.startswith(fault["part"]) or fault["part"].startswith(name)
            for name in beginnings(scenario)
        ), fault["part"]


def test_the_code_that_a_fault_exchanges_is_there() -> None:
    """Issue 11, 17: in a machine the plant would fail, which shows an hour later."""
    sources = [path.read_text() for path in (ROOT / "python").rglob("src/**/*.py")]
    exchanged = []
    for file in (VM_TESTS / "faults").glob("*.toml"):
        for fault in tomllib.loads(file.read_text())["fault"]:
            words = shlex.split(fault["plant"].replace("$'", "'"))
            for at, word in enumerate(words):
                if word in ("patch", "patch_all"):
                    count = sum(source.count(words[at + 1]) for source in sources)
                    assert count == 1 or (count and word == "patch_all"), (file.name, words[at + 1])
                    exchanged.append(words[at + 1])
    assert exchanged


def test_every_fault_has_a_scenario() -> None:
    """Issue 11, 17."""
    assert sorted(path.stem for path in (VM_TESTS / "faults").glob("*.toml")) == NAMES


@pytest.mark.parametrize("scenario", SCENARIOS, ids=NAMES)
def test_no_scenario_takes_a_broken_pipeline_for_an_answer(scenario: Path) -> None:
    """Issue 11, 17: under pipefail `x | grep -q y` fails also when y was found and x cut off."""
    for name in ("fail", "wait_until_fails"):
        assert not [written for written in calls(scenario, name) if "|" in written]


@pytest.mark.parametrize(
    ("part", "failed", "problem", "wrong"),
    [
        ("b", "b is right", AssertionError(), None),
        ("b", "b is right", None, "passed in spite of the fault"),
        ("b", "a", AssertionError(), "failed in 'a', not in 'b'"),
        ("b", None, AssertionError(), "failed in None, not in 'b'"),
        ("", None, AssertionError(), None),
        ("", "a", AssertionError(), "failed in 'a', not in ''"),
    ],
)
def test_a_fault_is_noticed_only_where_it_has_to_be(
    faults: ModuleType, part: str, failed: str | None, problem: Exception | None, wrong: str | None
) -> None:
    """Issue 11, 17."""
    assert faults.Fault(1, part, "true").verdict(failed, problem) == wrong
