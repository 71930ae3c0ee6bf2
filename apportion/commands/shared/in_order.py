"""A group that lists its commands as a person comes to need them, under headings."""

from __future__ import annotations

from collections.abc import Sequence

import click

OTHERS = "Others"


class CommandsInOrder(click.Group):
    """Keeps the order in which commands were added; ``add_section`` adds several under one heading."""

    sections: dict[str, list[str]]

    def add_section(self, title: str, commands: Sequence[click.Command]) -> None:
        """Add ``commands``, listed in this order under ``title``."""
        self.sections = {**getattr(self, "sections", {}), title: [str(command.name) for command in commands]}
        for command in commands:
            self.add_command(command)

    def list_commands(self, context: click.Context) -> list[str]:
        """The names in their order, not in the alphabet's."""
        listed = [name for names in self.sections.values() for name in names]
        return listed + [name for name in self.commands if name not in listed]

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each heading with its commands and what they do."""
        listed = [name for names in self.sections.values() for name in names]
        rest = [name for name in self.commands if name not in listed]
        sections = {**self.sections, OTHERS: rest} if rest else self.sections
        room = formatter.width - 6 - max(map(len, self.commands))
        for title, names in sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(room)) for name in names])
