"""One running claude: spawn, talk, listen, wait, close.

The process is watched through a pidfd: asyncio's own wait hangs while a grandchild holds stdout.
It stays a zombie until `close`, so that neither its pid nor its session number can be used again
while its tree is being ended.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import uuid
from collections.abc import Callable, Sequence

import anyio

from hive_subagent.claude import bounds, hooks, protocol
from hive_subagent.claude.conversation import Conversation, Message
from hive_subagent.claude.hooks import Prompt, Steering
from hive_subagent.claude.invocation import Invocation
from hive_subagent.claude.outcome import Exit
from hive_subagent.claude.pipes import STDERR_KEPT, Stderr, Stdout, unread, widen
from hive_subagent.claude.stream import Event
from hive_subagent.errors import SubagentError

log = logging.getLogger(__name__)


class SpawnFailed(SubagentError):
    """Claude could not be started at all; the text names the program or the directory."""


class RunningClaude:
    """A claude process that lives for one run. Create with `spawn`, end with `close`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.pid = process.pid
        self.exit: Exit | None = None
        self.conversation = Conversation(on_change=self._notify)
        self._process = process
        self._pidfd = os.pidfd_open(process.pid)
        self._changed = asyncio.Event()
        self._stdout = Stdout(self.conversation, self._notify)
        self._stderr = Stderr(self.conversation, self._notify)
        self._input: asyncio.WriteTransport | None = None
        self._outputs: list[asyncio.ReadTransport] = []

    @classmethod
    async def spawn(
        cls,
        invocation: Invocation,
        *,
        launcher: Callable[[Sequence[str]], Sequence[str]],
        steering: Steering | None = None,
    ) -> RunningClaude:
        """Start claude in a session of its own.

        `launcher` turns claude's argv into the one that is executed; `steering` is asked between
        the steps of its turns. Raises SpawnFailed.
        """
        try:
            process = subprocess.Popen(
                launcher(invocation.argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=invocation.directory,
                env=dict(invocation.environment),
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            culprit = error.filename or invocation.argv[0]
            raise SpawnFailed(f"cannot start {culprit}: {error.strerror}") from None
        widen(process.stdout)
        claude = cls(process)
        with anyio.CancelScope(shield=True):
            await claude._connect()
        if steering is not None:
            claude._let_steer(steering)
        return claude

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(self._pidfd, self._on_exit)
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        out, _ = await loop.connect_read_pipe(lambda: self._stdout, process.stdout)
        err, _ = await loop.connect_read_pipe(lambda: self._stderr, process.stderr)
        self._input, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        self._outputs = [out, err]

    def _let_steer(self, steering: Steering) -> None:
        def answer(request_id: str, request: Event) -> None:
            if self._deaf:  # a background task opened another turn after the last word
                return
            bounds.check_unread(self._unread)
            steer = hooks.ask(request, steering)
            if isinstance(steer, Prompt):
                # claude reads in order: it has the message before it goes on from here
                self.send(steer)
            elif steer is not None:
                self.conversation.answered(request_id, steer.message)
            self._write(hooks.reply(request_id, request, steer))

        self.conversation.on_request = answer
        for follower in steering.followers:
            self.conversation.stream.follow(follower)
        self._write(hooks.subscribe(str(uuid.uuid4())))

    def send(self, prompt: str | Prompt, *, cuts: bool = False) -> Message:
        """Send a user message; wait for its result with `answered`.

        `cuts` interrupts what claude is doing for the message before, its tool included.
        """
        if cuts:
            self._interrupt()
        if isinstance(prompt, str):
            prompt = Prompt(prompt)
        message = self.conversation.sent(prompt.message)
        message.cuts = cuts
        self._write(protocol.user_message(protocol.as_prompt(prompt.text), uuid=message.uuid))
        return message

    def ask_to_stop(self) -> None:
        """Ask claude on the control channel to end its turn; the process lives on."""
        self.conversation.stopping = True
        self._interrupt()

    def _interrupt(self) -> None:
        self._write(protocol.control_request(str(uuid.uuid4()), "interrupt"))

    def signal(self, number: signal.Signals) -> None:
        """Signal the process itself, not its tree; nothing happens once it has exited."""
        if self.exit is None:
            try:
                signal.pidfd_send_signal(self._pidfd, number)
            except ProcessLookupError:
                return

    def end_input(self) -> None:
        """Close stdin: claude finishes what it does and exits."""
        self.conversation.closed = True
        if self._input is not None and not self._input.is_closing():
            self._input.close()

    async def first_event(self) -> bool:
        """Wait for a first `system` or `assistant` line or the end; whether there was one."""
        await self._until(lambda: self.conversation.begun or self.over)
        return self.conversation.begun

    async def answered(self, message: Message) -> Event | None:
        """Wait for the result that answers `message`; None when there will be none."""
        await self._until(lambda: message.result is not None or self.over)
        return message.result

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something that claude prints makes `condition` true, or nothing more comes."""
        await self._until(lambda: condition() or self.over)

    def look_again(self) -> None:
        """Have those who wait look again: something that claude does not print has changed."""
        self._notify()

    async def until_exit(self, *, unless: Callable[[], bool]) -> None:
        """Wait for the process itself to exit, or for `unless`."""
        await self._until(lambda: self.exit is not None or unless())

    async def exited(self) -> Exit:
        """Wait for the process itself to exit."""
        await self._until(lambda: self.exit is not None)
        assert self.exit is not None
        return self.exit

    @property
    def over(self) -> bool:
        """Whether nothing more will be heard: exited, output closed, or unreadable."""
        return self.exit is not None or self._stdout.ended or self._stdout.broken is not None

    @property
    def broken(self) -> str | None:
        """Why the output cannot be read any more, if so."""
        return self._stdout.broken

    @property
    def skipped_lines(self) -> int:
        """Lines over the cap that were left out."""
        return self._stdout.framer.skipped

    @property
    def stderr(self) -> str:
        """The last 64 KiB of stderr, stripped."""
        return self._stderr.tail[-STDERR_KEPT:].decode("utf-8", "replace").strip()

    async def drain(self, timeout_s: float) -> None:
        """Read what is left in the pipes; a stray holder of them delays this by `timeout_s`."""
        with anyio.move_on_after(timeout_s):
            await self._until(lambda: self._stdout.ended and self._stderr.ended)

    async def close(self) -> None:
        """Reap the process, which must have exited, and give back every descriptor."""
        for output in self._outputs:
            output.close()
        stdin = self._input
        # one that closes already must not be aborted as well, unless it never would: it still
        # has something to say to a stray holder of the other end
        if stdin is not None and (not stdin.is_closing() or stdin.get_write_buffer_size()):
            stdin.abort()
        if self._pidfd >= 0:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOHANG)
            os.close(self._pidfd)
            self._pidfd = -1
        if self.exit is not None:
            self._process.returncode = self.exit.code
        # transports close their files in the loop's next round
        await asyncio.sleep(0)

    @property
    def _unread(self) -> int:
        return self._input.get_write_buffer_size() if self._input is not None else 0

    @property
    def _deaf(self) -> bool:
        return self._input is None or self._input.is_closing()

    def _write(self, data: bytes) -> None:
        if self._input is not None and not self._input.is_closing():
            self._input.write(data)

    def _on_exit(self) -> None:
        found = os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        if found is None:
            return
        asyncio.get_running_loop().remove_reader(self._pidfd)
        self._read_rest()
        by_signal = found.si_code in (os.CLD_KILLED, os.CLD_DUMPED)
        self.exit = Exit(-found.si_status if by_signal else found.si_status)
        self._notify()

    def _read_rest(self) -> None:
        # what claude wrote last can still lie in the pipe, which a grandchild may hold open for
        # ever: it is read before the exit is told, so that the exit is always the last word.
        # Only what lies there now: a grandchild that goes on writing would never let us go
        stdout = self._process.stdout
        try:
            left = 0 if stdout is None or self._stdout.ended else unread(stdout.fileno())
            while stdout is not None and left > 0 and (data := os.read(stdout.fileno(), left)):
                left -= len(data)
                self._stdout.data_received(data)
        except (OSError, ValueError):
            pass
        self._stdout.last_line()

    def _notify(self) -> None:
        self._changed.set()

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._changed.clear()
            await self._changed.wait()
