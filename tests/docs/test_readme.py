"""README's demonstration, its picture, and the pages that it leads to.

The commands of "Run it" are run by tests/test_readme.py, with the real CLI by tests/e2e.
"""

from __future__ import annotations

import runpy
from pathlib import Path

from docs.pages import ROOT, Block, matches, steps
from docs.reader import Reader
from docs.terminal import terminals


def test_the_demonstration_prints_what_the_readme_shows(tmp_path: Path) -> None:
    reader = Reader.below(tmp_path)
    demo = next(step for step in steps("README.md") if isinstance(step, Block))
    assert demo.text == "make demo\n"
    with terminals(tmp_path / "typed", ROOT, reader.environment) as terminal:
        said = terminal("").run(reader.change(demo.text))
    assert demo.expected is not None
    # two runs that end at about the same time come in either order
    first, *notices = demo.expected.split("\n[")
    assert matches(f"…{first.strip()}…", said)
    for notice in notices:
        assert matches(f"…[{notice.strip()}…", said), notice


def test_the_pictures_are_what_the_script_draws() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "picture.py"))
    for page, colours in script["PAGES"].items():
        assert (ROOT / "docs" / f"picture-{page}.svg").read_text() == script["draw"](colours)


def test_the_readme_leads_to_every_page() -> None:
    """A page that nothing leads to is not found."""
    readme = (ROOT / "README.md").read_text()
    for page in (ROOT / "docs").glob("*/*.md"):
        assert f"({page.relative_to(ROOT)})" in readme, page
