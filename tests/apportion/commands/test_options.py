from __future__ import annotations

import click
from click.testing import CliRunner

from apportion.commands.options import option_names, with_options


def test_a_parameter_is_called_by_its_option_and_others_as_they_are():
    @click.command()
    @click.option("--judge", "model")
    @click.option("--max-tokens", type=int)
    def command(**options: object) -> None:
        called = option_names()
        click.echo(" ".join(called(name) for name in ("model", "max_tokens", "else")))

    assert CliRunner().invoke(command).output == "--judge --max-tokens else\n"


def test_a_group_of_options_stands_below_the_commands_own():
    group = (click.option("--b"), click.option("--c"))

    @click.command()
    @click.option("--a")
    def command(**options: object) -> None:
        pass

    names = [parameter.name for parameter in with_options(group, command).params]
    assert names == ["a", "b", "c"]
