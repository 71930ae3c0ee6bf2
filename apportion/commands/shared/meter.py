"""How far a download or a training is, on the error stream."""

from __future__ import annotations

import sys
import time

import click


class Meter:
    """How far it is, on the error stream: one line that changes on a terminal, one every ten seconds elsewhere."""

    def __enter__(self) -> Meter:
        self._live = sys.stderr.isatty()
        self._shown_at = time.monotonic()
        self._open_line = False
        return self

    def __exit__(self, *error: object) -> None:
        if self._open_line:
            click.echo(err=True)

    def __call__(self, done: int, total: int | None) -> None:
        """Show how many bytes of how many (None where that is not known) are there."""
        text = f"{done / 1e6:.1f} MB" if total is None else f"{done / 1e6:.1f} of {total / 1e6:.1f} MB"
        self.say(text, done == total)

    def say(self, text: str, last: bool = False) -> None:
        """Show ``text`` where it is time to; the ``last`` one always."""
        now = time.monotonic()
        if now - self._shown_at < (0.1 if self._live else 10.0) and not last:
            return
        self._shown_at = now
        click.echo(f"\r{text}" if self._live else text, nl=not self._live, err=True)
        self._open_line = self._live
