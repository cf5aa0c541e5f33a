"""Every command of every page is run by a test, or the page says why not (issue 12, 11)."""

from __future__ import annotations

import re

import pytest

from docs.pages import ROOT, blocks

PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md"))
)
# the test that runs all blocks of a page but those in NOT_RUN
RUN = {
    "README.md": "tests/test_readme.py",
    "docs/contributing/recipes.md": "tests/docs/test_recipes.py",
    "docs/how-to/be-told.md": "tests/docs/test_howto.py",
    "docs/reference/api.md": "tests/docs/test_api.py",
    "docs/reference/http.md": "tests/e2e/test_environments.py",
    "docs/how-to/install-skills.md": "tests/docs/test_howto.py",
    "docs/how-to/intervene.md": "tests/docs/test_howto.py",
    "docs/how-to/upgrade.md": "tests/docs/test_tutorial.py",
    "docs/how-to/watch.md": "tests/docs/test_tutorial.py",
    "docs/skills/subagent-intervention/SETUP.md": "tests/hook/test_skill.py",
    "docs/skills/subagent-intervention/SKILL.md": "tests/docs/test_howto.py",
    "docs/tutorial/first-subagent.md": "tests/docs/test_tutorial.py",
    "docs/tutorial/from-claude-code.md": "tests/docs/test_tutorial.py",
}
_VM = "needs Nix, a virtual machine or packages of the system; CI runs these targets"
# the blocks that no test can run here, with the reasons that the pages give
NOT_RUN = {
    "CONTRIBUTING.md": ["they are the test suite itself"],
    "docs/contributing/real-cli.md": ["the real CLI; CI runs these targets"] * 4,
    "docs/contributing/vm-tests.md": [_VM] * 7,
    "docs/explanation/containment.md": ["needs a container engine"],
    "docs/how-to/be-told.md": [
        "it asks a model; tests/e2e/test_parent.py does the same with a scripted one"
    ],
    "docs/how-to/debian-service.md": [
        "it makes an account and installs units; tests/docs/test_examples.py checks the units",
        "it starts a service of the whole machine",
        "it needs the service above; the same commands are run for README",
        "it needs the service above",
        "it installs units of the whole machine",
        "it removes units and the account's state",
    ],
    "docs/how-to/intervene.md": [
        "three words to a subagent of your own; tests/cli/test_commands.py does the same",
        "a name and a text of your own; tests/intervention/test_howto.py runs the script",
    ],
    "docs/how-to/operate-on-nixos.md": [
        "needs NixOS; the VM scenarios do the same",
        "needs NixOS; tests/e2e/test_parent.py uses the same file",
        "needs NixOS",
    ],
    "docs/reference/commands.md": [
        "it asks a model; tests/cli/test_commands.py does the same with the stand-in"
    ],
    "docs/how-to/upgrade.md": ["pip fetches from an index; README's installation is tested"],
}


@pytest.mark.parametrize("page", PAGES)
def test_every_command_is_run_or_has_a_reason_why_not(page: str) -> None:
    commands = blocks(page, "sh")
    assert [block.not_run for block in commands if block.not_run] == NOT_RUN.get(page, [])
    if any(block.not_run is None for block in commands):
        name = re.escape(page.rpartition("/")[2])
        assert re.search(rf"{name}|README", (ROOT / RUN[page]).read_text())


def test_no_page_is_listed_that_is_not_there() -> None:
    assert {*RUN, *NOT_RUN} <= set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_commands_stand_in_blocks_that_are_read(page: str) -> None:
    """A block of another kind of shell, or one that is indented without a fence, is not run."""
    others = [block.line for block in blocks(page) if block.language in ("bash", "shell")]
    assert others == []
    assert not re.search(r"^    (?:make|sudo|pip|cd)\b", (ROOT / page).read_text(), re.M)


def test_the_contributors_questions_have_answers_that_are_there() -> None:
    """Issue 12, 11: the core of the code appeared once, as the name of a file."""
    source = (ROOT / "CONTRIBUTING.md").read_text()
    table = source.partition("| question | answer |")[2].partition("\n\n")[0]
    answers = [row.split("|")[2] for row in table.splitlines()[2:]]
    package = ROOT / "python" / "src" / "hive_subagent"
    for answer in answers:
        text = ""
        for name in re.findall(r"`([^`]+)`", answer):
            if "/" in name or name.endswith(".py"):
                here = [p for p in (package / name, ROOT / name) if p.exists()]
                here += list(package.glob(f"outbox/{name}"))
                assert here, name
                text += here[0].read_text() if here[0].is_file() else ""
            elif not name.startswith("make "):
                assert re.search(rf"\b{name}\b", text), f"{name} in {answer}"


def test_the_glossary_of_the_code_names_modules_that_are_there() -> None:
    source = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    modules = re.findall(r"`([a-z_/]+\.py)` \|$", source, re.MULTILINE)
    assert len(modules) > 10
    assert [m for m in modules if not (ROOT / "python/src/hive_subagent" / m).exists()] == []
