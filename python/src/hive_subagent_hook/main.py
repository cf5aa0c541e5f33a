#!/usr/bin/env python3
"""hive-subagent-hook: a parent's hand on a Claude Code session that no daemon started.

A command hook for PostToolUse and PostToolUseFailure. `TASK_ID` in its environment names the
channel `temp/$TASK_ID/`, looked for under `$CLAUDE_PROJECT_DIR`, then under the working directory.
It consumes what the parent has put there, each file once:

    _stop.txt       answers a block "[parent-stop] TEXT"; the other two are left for some seconds
    _keyinfo.txt    is appended to .claude/hooks/state/keyinfo-$TASK_ID.txt, silently
    _intervene.txt  answers a block "[PARENT INTERVENTION] TEXT"

and appends a line for each tool, and for each file it had to set aside, to `output.txt`. It always
exits 0: a hook that fails would cost the subagent its turn. `--for main` or `--for subagents` lets
it act only for the session's own agent, or only for the agents inside the session; for nobody where
it cannot tell which of them asks.

It runs at every tool use, as `python3 -IS main.py`, so it is one file, and it imports nothing that
a bare start of the interpreter has not loaded or holds built in: `json` alone would double its cost
(`make bench PARTS=hook` measures it).
"""

import errno
import os
import stat
import sys
import time

MYPY = False  # typing itself is slow to import
if MYPY:
    from collections.abc import Callable

STOP, KEYINFO, INTERVENE, OUTPUT = "_stop.txt", "_keyinfo.txt", "_intervene.txt", "output.txt"
EVENTS = {"PostToolUse": "done", "PostToolUseFailure": "failed"}
TOLD = f".{STOP}.told-"  # hidden, and followed by the time: what is left of a stop for a moment
PARALLEL_S = 5.0  # within this the hooks of tools that ran in parallel are taken for one step
MAX_BYTES = 64 * 1024
MAX_STDIN = 1024 * 1024
WRITER_PATIENCE_S = 0.2
_SAFE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Unusable(Exception):
    """A file of the parent that cannot be acted on; the text says why."""


def main() -> int:
    """Act on one hook event; returns 0 whatever happens."""
    try:
        _handle(_drain_stdin())
    except Exception as error:
        _log(f"{type(error).__name__}: {error}")
    return 0


def _handle(raw: bytes) -> None:
    task = os.environ.get("TASK_ID", "")
    if not task:
        return
    if not _is_plain_name(task):
        _log(f"TASK_ID {task!r} is not a plain file name; ignored")
        return
    found = _open_channel(task)
    if found is None:
        return
    base, channel = found
    event = _parse(raw)
    asked = "=".join(sys.argv[1:])
    if sys.argv[1:] and asked not in ("--for=main", "--for=subagents"):
        _tell(channel, f"it takes --for main or --for subagents, not {sys.argv[1:]}", also_log=True)
        return
    if event.get("hook_event_name", "PostToolUse") not in EVENTS or not _is_for_us(event, asked):
        return
    _tell(channel, _describe(event))
    names = os.listdir(channel)
    _recover(channel, names)
    if STOP in names:
        _consume(channel, STOP, lambda text: _answer("[parent-stop] " + text))
    if STOP in names or _was_told_to_stop(channel, names):
        return  # a parallel hook was first; the others of its step hold back as well
    if KEYINFO in names:
        _consume(channel, KEYINFO, lambda text: _append_keyinfo(base, task, text))
    if INTERVENE in names:
        _consume(channel, INTERVENE, lambda text: _answer("[PARENT INTERVENTION] " + text))


def _is_plain_name(task: str) -> bool:
    # 200 bytes leave room for "keyinfo-" and ".txt" within the 255 of a file name
    return (
        task.isprintable()
        and "/" not in task
        and ".." not in task
        and not task.startswith(".")
        and len(task.encode()) <= 200
    )


def _drain_stdin() -> bytes:
    # to the end and before anything is claimed: the CLI throws away the answer of a hook that
    # closed its input early. What is over the limit is read and dropped: an event cut there is one
    # that cannot be read
    chunks, room = [], MAX_STDIN
    try:
        if os.isatty(0):
            return b""
        while chunk := os.read(0, 1 << 16):
            chunks.append(chunk[:room])
            room -= len(chunks[-1])
    except OSError:
        pass
    return b"".join(chunks)


def _open_channel(task: str) -> tuple[str, int] | None:
    folder = os.O_RDONLY | os.O_DIRECTORY | _SAFE
    for base in (os.environ.get("CLAUDE_PROJECT_DIR"), "."):
        if base:
            try:
                # in two steps: O_NOFOLLOW holds for the last component alone
                temp = os.open(f"{base}/temp", folder)
            except OSError:
                continue
            try:
                return base, os.open(task, folder, dir_fd=temp)
            except OSError:
                continue
            finally:
                os.close(temp)
    return None


def _parse(raw: bytes) -> dict[str, object]:
    """The event, or an empty one where the input is none: a shell may run the hook by hand."""
    text = raw.decode("utf-8", "replace").strip()
    try:
        try:
            from _json import make_scanner  # what json runs on, without its import of re
        except ImportError:
            from json import loads

            event = loads(text)
        else:
            event = make_scanner(_Scanner)(text, 0)[0]  # type: ignore[arg-type]
    except (StopIteration, ValueError, RecursionError, SystemError):
        # SystemError: the scanner has no words for its error where json is not loaded
        return {}
    return event if isinstance(event, dict) else {}


class _Scanner:
    """The attributes that the C scanner behind `json` reads."""

    strict = False
    object_hook = object_pairs_hook = array_hook = None
    # int refuses more than 4,300 digits
    parse_float = parse_constant = parse_int = float


def _is_for_us(event: dict[str, object], asked: str) -> bool:
    if asked and not event:
        _log(f"an event that cannot be read is nobody's: nothing is done with {asked}")
        return False
    if asked == "--for=main":
        return event.get("agent_id") is None
    return not asked or bool(event.get("agent_id"))


def _was_told_to_stop(channel: int, names: list[str]) -> bool:
    """Whether a hook took a stop a moment ago; what is left of an older one is removed."""
    told = False
    for name in names:
        since = name.rpartition("-")[2]
        if name.startswith((TOLD, f"{STOP}.claimed-")) and since.isdecimal():
            fresh = abs(time.time_ns() - int(since[:20])) < PARALLEL_S * 1e9
            told |= fresh
            if not fresh and name.startswith(TOLD):
                _unlink(channel, name)
    return told


def _describe(event: dict[str, object]) -> str:
    tool_input = event.get("tool_input")
    values = tool_input.values() if isinstance(tool_input, dict) else ()
    gist = next((value for value in values if isinstance(value, str)), "")
    who = f"agent {event['agent_id']}: " if event.get("agent_id") else ""
    ended = EVENTS[str(event.get("hook_event_name", "PostToolUse"))]
    return f"{who}tool {event.get('tool_name', '?')} {ended}: {gist[:200]}"


def _consume(channel: int, name: str, act: "Callable[[str], None]") -> None:
    """Claim the file, act on its text, delete it. What cannot be acted on is set aside and told."""
    claimed = f"{name}.claimed-{os.getpid()}-{time.time_ns()}"
    try:
        os.rename(name, claimed, src_dir_fd=channel, dst_dir_fd=channel)
    except FileNotFoundError:
        return  # parallel tools fire parallel hooks: another one was first
    try:
        act(_read(channel, claimed))
    except Unusable as error:
        _set_aside(channel, claimed, name, str(error))
    except OSError as error:
        _put_back(channel, claimed, name, f"could not be acted on ({error.strerror})")
    else:
        if name == STOP:
            told = f"{TOLD}{time.time_ns()}"
            os.rename(claimed, told, src_dir_fd=channel, dst_dir_fd=channel)
        else:
            _unlink(channel, claimed)


def _read(channel: int, claimed: str) -> str:
    try:
        descriptor = os.open(claimed, os.O_RDONLY | _SAFE, dir_fd=channel)
    except OSError as error:
        how = " without following a link" if error.errno == errno.ELOOP else ""
        raise Unusable(f"cannot be opened{how}: {error.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unusable("is not a regular file")
        _await_its_writer(descriptor)
        content = b""
        while len(content) <= MAX_BYTES and (chunk := os.read(descriptor, MAX_BYTES + 1)):
            content += chunk
    finally:
        os.close(descriptor)
    if len(content) > MAX_BYTES:
        raise Unusable(f"is larger than {MAX_BYTES} bytes")
    try:
        text = content.decode().strip()
    except UnicodeDecodeError as error:
        raise Unusable(f"is not UTF-8 at byte {error.start}") from None
    if not text:
        raise Unusable("is empty")
    return text


def _await_its_writer(descriptor: int) -> None:
    """Wait until nobody has the file open for writing; raises OSError when that takes long.

    A claim by rename can catch a file that `echo TEXT >FILE` has created and not yet filled. The
    kernel grants a read lease only on a file that no one writes. Where it grants none at all
    (another owner's file, some network file systems), the content is taken as it is.
    """
    import fcntl

    if not hasattr(fcntl, "F_SETLEASE"):
        return
    deadline = time.monotonic() + WRITER_PATIENCE_S
    while True:
        try:
            fcntl.fcntl(descriptor, fcntl.F_SETSIG, 23)  # SIGURG: the default, SIGIO, would kill
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except BlockingIOError:  # somebody writes it
            if time.monotonic() > deadline:
                raise OSError(errno.EAGAIN, "its writer still has it open") from None
            time.sleep(0.005)
        except OSError:
            return
        else:
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            return


def _answer(reason: str) -> None:
    try:
        from _json import encode_basestring_ascii as quoted
    except ImportError:
        from json import dumps as quoted
    _write_all(1, f'{{"decision":"block","reason":{quoted(reason)}}}\n'.encode())


def _append_keyinfo(base: str, task: str, text: str) -> None:
    folder = os.path.join(base, ".claude", "hooks", "state")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    _append(os.path.join(folder, f"keyinfo-{task}.txt"), text.encode() + b"\n")


def _append(path: str, content: bytes, channel: int | None = None) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _SAFE
    descriptor = os.open(path, flags, 0o600, dir_fd=channel)
    try:
        _write_all(descriptor, content)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _put_back(channel: int, claimed: str, name: str, why: str) -> None:
    try:
        # link, unlike rename, does not overwrite what the parent has written meanwhile
        os.link(claimed, name, src_dir_fd=channel, dst_dir_fd=channel, follow_symlinks=False)
    except OSError:
        _set_aside(channel, claimed, name, why)
    else:
        _unlink(channel, claimed)
        _tell(channel, f"{name} {why}; it is left for the next step", also_log=True)


def _unlink(channel: int, name: str) -> None:
    try:  # noqa: SIM105 - contextlib is slow to import
        os.unlink(name, dir_fd=channel)
    except FileNotFoundError:
        pass  # a parallel hook swept it


def _set_aside(channel: int, claimed: str, name: str, why: str) -> None:
    aside = f"{name}.rejected-{os.getpid()}-{time.time_ns()}"
    try:
        os.rename(claimed, aside, src_dir_fd=channel, dst_dir_fd=channel)
    except FileNotFoundError:
        return  # a parallel hook swept the same leftover
    _tell(channel, f"{name} {why}; set aside as {aside}, write it again", also_log=True)


def _recover(channel: int, names: list[str]) -> None:
    """Set aside and tell what a hook had claimed that was killed before it could act."""
    for claimed in names:
        name, _, tail = claimed.partition(".claimed-")
        owner = tail.partition("-")[0]
        if name in (STOP, KEYINFO, INTERVENE) and owner.isdecimal():
            try:
                os.kill(int(owner), 0)
            except ProcessLookupError:
                _set_aside(channel, claimed, name, "was held by a hook that died, delivered or not")
            except (OSError, OverflowError):
                continue  # alive under another user, or no pid at all


def _tell(channel: int, line: str, also_log: bool = False) -> None:
    """One line for whoever follows output.txt; a lost line is no reason to fail."""
    if also_log:
        _log(line)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        _append(OUTPUT, f"{stamp} {_one_line(line)}\n".encode(), channel)
    except OSError as error:
        _log(f"{OUTPUT} cannot be written: {error.strerror}")


def _log(line: str) -> None:
    try:  # noqa: SIM105 - contextlib is slow to import
        os.write(2, f"hive-subagent-hook: {_one_line(line)}\n".encode())
    except OSError:
        pass


def _one_line(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)


if __name__ == "__main__":
    os._exit(main())  # nothing is buffered, and the interpreter's own teardown costs a millisecond
