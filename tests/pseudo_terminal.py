"""A program in a pseudo-terminal of its own: keys, Ctrl-C, and everything that was on the screen."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

# The program's standard input becomes the terminal that controls it, so that Ctrl-C is a signal.
START = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.executable, sys.argv[1:])"
CTRL_C, CTRL_D = "\x03", "\x04"


class PseudoTerminal:
    """Runs ``python ARGUMENTS`` and types into it; ``screen`` is all that it has shown."""

    def __init__(self, arguments: Sequence[str], columns: int = 100) -> None:
        self._own, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, sys.executable, *arguments],
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm", "COLUMNS": str(columns)},
        )
        os.close(other)
        self._raw = b""
        self._seen = 0

    @property
    def screen(self) -> str:
        return self._raw.decode("utf-8", "replace")

    def until(self, text: str, seconds: float = 60.0) -> str:
        """Wait for a text behind what was waited for before; what was shown up to there."""
        end = time.monotonic() + seconds
        while (found := self.screen.find(text, self._seen)) < 0:
            if time.monotonic() > end or not self._read(0.2):
                raise AssertionError(f"{text!r} was not shown. The screen from there on:\n{self.screen[self._seen :]}")
        shown = self.screen[self._seen : found + len(text)]
        self._seen = found + len(text)
        return shown

    def type(self, text: str) -> None:
        """Type, a piece at a time: what is typed ahead may not be more than the terminal holds."""
        data, end = text.encode(), time.monotonic() + 60.0
        while data:
            if time.monotonic() > end:
                raise AssertionError(f"nobody reads what is typed. The screen:\n{self.screen[self._seen :]}")
            _, ready, _ = select.select([], [self._own], [], 0.1)
            if ready:
                data = data[os.write(self._own, data[:512]) :]
            self._read(0.0)

    def kill(self) -> None:
        """End it with -9."""
        self._process.send_signal(signal.SIGKILL)
        self.end()

    def end_by(self, key: str) -> int:
        """Type a key until it has ended; its exit code.

        A person presses it once, and again where nothing happens: a signal that comes right before Python begins to
        wait for a key is only seen with the next one.
        """
        for _ in range(30):
            self.type(key)
            end = time.monotonic() + 2.0
            while time.monotonic() < end:
                if not self._read(0.2):
                    return self._process.wait(60)
        return self.end(0.0)

    def end(self, seconds: float = 60.0) -> int:
        """Wait until it has ended; its exit code."""
        end = time.monotonic() + seconds
        while self._read(0.2):
            if time.monotonic() > end:
                raise AssertionError(f"it has not ended. The screen from there on:\n{self.screen[self._seen :]}")
        return self._process.wait(60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(60)
        os.close(self._own)

    def _read(self, seconds: float) -> bool:
        """Take what was shown; whether it may show more."""
        ready, _, _ = select.select([self._own], [], [], seconds)
        if not ready:
            return self._process.poll() is None
        try:
            data = os.read(self._own, 65_536)
        except OSError:  # Linux: nobody has the other end open any more
            return False
        self._raw += data
        return bool(data)
