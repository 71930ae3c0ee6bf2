"""`apportion refine`: a Refiner learns words that move whoever speaks next (Stackelberg Speaker)."""

from __future__ import annotations

import click

from apportion.commands.refine.instances import instances_command
from apportion.commands.refine.persuasion import persuasion_command
from apportion.commands.refine.train import train_command


@click.group("refine")
def refine_group() -> None:
    """Train a Refiner: words that move whoever speaks next, in games that are simulated.

    It is made to persuade. What it may not be used for: docs/stackelberg.md.
    """


for _command in (instances_command, train_command, persuasion_command):
    refine_group.add_command(_command)
