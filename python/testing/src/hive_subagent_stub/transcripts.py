"""Sessions on disk, where and as the CLI keeps them."""

from __future__ import annotations

import json
import os

from hive_subagent_stub._types import TYPE_CHECKING
from hive_subagent_stub.ids import is_uuid, timestamp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hive_subagent_stub._types import Json

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def config_dir(environment: Mapping[str, str]) -> str:
    """The CLI's home: $CLAUDE_CONFIG_DIR, else ~/.claude."""
    return environment.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")


def encode(directory: str) -> str:
    """The folder name of a directory's sessions; several directories may share one."""
    raw = directory.encode("utf-16-le", "surrogatepass")
    units = [raw[i] | raw[i + 1] << 8 for i in range(0, len(raw), 2)]
    name = "".join(chr(u) if u < 128 and chr(u).isalnum() else "-" for u in units)
    if len(name) <= 200:
        return name
    total = 0
    for unit in units:
        total = (total * 31 + unit) & 0xFFFFFFFF
    return f"{name[:200]}-{_base36(abs(total - (1 << 32) if total >> 31 else total))}"


def _base36(number: int) -> str:
    digits = ""
    while True:
        number, rest = divmod(number, 36)
        digits = _DIGITS[rest] + digits
        if not number:
            return digits


def lines_of(path: str) -> Iterator[Json]:
    """The JSON objects of a transcript; a torn or foreign line is passed over."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return
    for raw in data.split(b"\n"):
        try:
            value = json.loads(raw)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def title_of(path: str) -> str | None:
    """The last title written to a transcript."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    title = None
    at = data.find(b'"custom-title"')
    while at >= 0:
        start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        try:
            value = json.loads(data[start : end if end >= 0 else len(data)])
            if value.get("type") == "custom-title":
                title = str(value.get("customTitle", ""))
        except (ValueError, AttributeError):
            pass
        at = data.find(b'"custom-title"', at + 1)
    return title


def project_dirs(projects: str, directory: str) -> list[str]:
    """Where sessions of `directory` are looked for: its own folder, and its repository's."""
    own = os.path.join(projects, encode(directory))
    names = [encode(tree) for tree in _worktrees(directory)]
    found = [own]
    if names:
        for entry in _names(projects):
            path = os.path.join(projects, entry)
            if path != own and any(entry == n or entry.startswith(n + "-") for n in names):
                found.append(path)
    return found


def _worktrees(directory: str) -> list[str]:
    """The trees of the git repository that `directory` lies in: main one and worktrees."""
    place = directory
    while not os.path.lexists(os.path.join(place, ".git")):
        above = os.path.dirname(place)
        if above == place:
            return []
        place = above
    git = os.path.join(place, ".git")
    if os.path.isfile(git):  # a worktree: its .git names <common>/worktrees/<name>
        link = _first_line(git).removeprefix("gitdir:").strip()
        git = os.path.dirname(os.path.dirname(os.path.join(place, link)))
    trees = [os.path.dirname(git), place]
    names = _names(os.path.join(git, "worktrees"))
    links = [_first_line(os.path.join(git, "worktrees", name, "gitdir")) for name in names]
    trees += [os.path.dirname(link) for link in links if link]
    return [os.path.realpath(tree) for tree in trees]


def _first_line(path: str) -> str:
    try:
        with open(path) as file:
            return file.readline().strip()
    except OSError:
        return ""


class ResumeMiss(Exception):
    """No session to resume; `text` is the CLI's own line, `session_id` what its result names."""

    def __init__(self, text: str, session_id: str | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.session_id = session_id


def find(value: str, *, projects: str, directory: str, anywhere: bool) -> str:
    """The transcript that `--resume=value` means; ResumeMiss where there is none or several."""
    folders = project_dirs(projects, directory)
    if value.endswith(".jsonl") and os.path.isfile(value):
        return value
    if is_uuid(value):
        if anywhere:
            folders += [os.path.join(projects, name) for name in _names(projects)]
        for folder in folders:
            path = os.path.join(folder, f"{value.lower()}.jsonl")
            if os.path.isfile(path):
                return path
        raise ResumeMiss(f"No conversation found with session ID: {value}", value)
    hits = [] if not value else _titled(value, folders)
    if not hits:
        raise ResumeMiss(
            "Error: --resume requires a valid session ID or session title when used with --print. "
            f'Usage: claude -p --resume <session-id|title>. Provided value "{value}" is not a UUID '
            "and does not match any session title."
        )
    if len(hits) > 1:
        rows = [
            f"  {os.path.basename(path)[:-6]}  (modified {timestamp(modified)})"
            for modified, path in sorted(hits, reverse=True)
        ]
        raise ResumeMiss(
            f'Error: --resume "{value}" matches {len(hits)} sessions. '
            "Pass one of these session IDs to disambiguate:\n" + "\n".join(rows)
        )
    return hits[0][1]


def latest(folder: str) -> str | None:
    """The transcript of `--continue`: the one written to last."""
    found = _transcripts(folder)
    return max(found)[1] if found else None


def _titled(value: str, folders: list[str]) -> list[tuple[float, str]]:
    wanted = value.casefold()
    return [
        (modified, path)
        for folder in folders
        for modified, path in _transcripts(folder)
        if (title_of(path) or "").casefold() == wanted
    ]


def _transcripts(folder: str) -> list[tuple[float, str]]:
    found = []
    for name in _names(folder):
        if name.endswith(".jsonl") and is_uuid(name[:-6]):
            path = os.path.join(folder, name)
            try:
                found.append((os.stat(path).st_mtime, path))
            except OSError:  # archived meanwhile
                continue
    return found


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def remove(path: str) -> None:
    """Delete a file that may be gone already."""
    try:
        os.unlink(path)
    except OSError:
        return


def clean_up(projects: str, days: float, now: float) -> None:
    """Delete transcripts not written to for `days`, as the CLI does at a start."""
    for name in _names(projects):
        for modified, path in _transcripts(os.path.join(projects, name)):
            if now - modified > days * 86400:
                remove(path)
