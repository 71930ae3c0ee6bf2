"""Ctrl-C in a command that goes on otherwise than most do."""

from __future__ import annotations

import click


class Stopped(click.exceptions.Abort):
    """Raised in the place of a KeyboardInterrupt; its words say what is kept and how to go on."""
