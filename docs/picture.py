"""Draw the picture of README: owner, daemon, subagents and notices, for light and dark pages.

    python3 docs/picture.py

writes docs/picture-light.svg and docs/picture-dark.svg. A test compares them with what this draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Colours:
    """The colours of one page."""

    text: str
    faint: str
    line: str
    box: str
    daemon: str
    subagent: str
    notice: str


PAGES = {
    "light": Colours("#1f2328", "#59636e", "#59636e", "#f6f8fa", "#ddf4ff", "#dafbe1", "#fff8c5"),
    "dark": Colours("#f0f6fc", "#9198a1", "#9198a1", "#151b23", "#0c2d6b", "#0f3a1d", "#4d3800"),
}
FONT = "font-family='system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif'"


class Drawing:
    """SVG elements in one set of colours."""

    def __init__(self, colours: Colours) -> None:
        self.colours = colours
        self.parts: list[str] = []

    def box(self, x: int, y: int, width: int, height: int, fill: str, *lines: str) -> None:
        """A box; the first line of its text is bold."""
        c = self.colours
        self.parts.append(
            f"<rect x='{x}' y='{y}' width='{width}' height='{height}' rx='8' fill='{fill}'"
            f" stroke='{c.line}'/>"
        )
        top = y + (height - 18 * len(lines)) / 2 + 13
        for number, line in enumerate(lines):
            weight = "600" if number == 0 else "400"
            colour = c.text if number == 0 else c.faint
            self.text(x + width // 2, top + 18 * number, line, colour=colour, weight=weight)

    def frame(self, x: int, y: int, width: int, height: int, label: str) -> None:
        """A dashed frame around boxes, its label inside at the top."""
        self.parts.append(
            f"<rect x='{x}' y='{y}' width='{width}' height='{height}' rx='10' fill='none'"
            f" stroke='{self.colours.line}' stroke-dasharray='5 4'/>"
        )
        self.text(x + width // 2, y + 19, label, colour=self.colours.faint)

    def arrow(self, x1: int, y1: int, x2: int, y2: int) -> None:
        """An arrow from the first point to the second."""
        self.parts.append(
            f"<line x1='{x1}' y1='{y1}' x2='{x2}' y2='{y2}' stroke='{self.colours.line}'"
            " stroke-width='1.6' marker-end='url(#head)'/>"
        )

    def text(
        self, x: float, y: float, text: str, *, colour: str, weight: str = "400", size: int = 13
    ) -> None:
        """A centred line of text."""
        self.parts.append(
            f"<text x='{x:g}' y='{y:g}' text-anchor='middle' font-size='{size}'"
            f" font-weight='{weight}' fill='{colour}' {FONT}>{escape(text)}</text>"
        )

    def svg(self, width: int, height: int, title: str) -> str:
        """The whole file."""
        head = (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}'"
            f" width='{width}' height='{height}' role='img'>\n<title>{escape(title)}</title>\n"
            "<defs><marker id='head' markerWidth='9' markerHeight='9' refX='8' refY='4.5'"
            f" orient='auto'><path d='M0,0 L9,4.5 L0,9 z' fill='{self.colours.line}'/></marker>"
            "</defs>\n"
        )
        return head + "\n".join(self.parts) + "\n</svg>\n"


def draw(colours: Colours) -> str:
    """The picture."""
    d = Drawing(colours)
    faint = colours.faint
    d.box(15, 75, 165, 74, colours.box, "owner", "an agent, for example", "Claude Code")
    d.box(
        345,
        60,
        195,
        104,
        colours.daemon,
        "hive-subagent-daemon",
        "starts, watches, ends,",
        "reports",
    )
    d.frame(700, 8, 205, 212, "own cgroup or session")
    for number, name in enumerate(("lint", "docs", "port-tests")):
        d.box(
            716,
            38 + 60 * number,
            173,
            50,
            colours.subagent,
            f"subagent {name}",
            "claude -p, its tools",
        )
    d.box(355, 250, 175, 56, colours.notice, "notice", "one for each run")
    d.box(15, 250, 165, 56, colours.box, "sinks", "a folder, a command, …")
    d.arrow(180, 98, 343, 98)
    d.text(262, 88, "start, wait, intervene", colour=faint, size=12)
    d.arrow(345, 128, 182, 128)
    d.text(262, 146, "how each run ended", colour=faint, size=12)
    d.arrow(540, 98, 698, 98)
    d.text(620, 88, "prompts, interventions", colour=faint, size=12)
    d.arrow(700, 128, 542, 128)
    d.text(620, 146, "events, goal_reached,", colour=faint, size=12)
    d.text(620, 162, "need_help", colour=faint, size=12)
    d.arrow(442, 164, 442, 248)
    d.text(508, 210, "when a run ends", colour=faint, size=12)
    d.arrow(355, 278, 182, 278)
    d.text(267, 268, "until it is accepted", colour=faint, size=12)
    title = (
        "The owner calls the daemon's tools. The daemon runs each subagent in its own cgroup or"
        " session, answers how it ended, and delivers one notice for each run to the sinks."
    )
    return d.svg(920, 320, title)


def main() -> None:
    """Write both files."""
    for page, colours in PAGES.items():
        (HERE / f"picture-{page}.svg").write_text(draw(colours))


if __name__ == "__main__":
    main()
