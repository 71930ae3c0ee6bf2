import shlex
import tomllib

import click
import pytest

from apportion.cli import cli
from docs.make_reference import settings
from tests.docs.pages import PAGES, WRITTEN, commands, fenced, indented, name

pytestmark = pytest.mark.skipif("world" not in cli.commands, reason="pages tell the command line of 17 commands")
LINES = sorted({(name(page), line) for page in WRITTEN for line in commands(page)})
OPEN = ("partner_settings", "environment_settings", "reward_settings", "weights", "kindness")
"""Tables whose keys are a partner's, an environment's, a reward's, a mix's, or of a made-up package."""
KEYS = {key for key, *_ in settings()}
SECTIONS = {key.partition(".")[0] for key in KEYS}


def parse(words: list[str]) -> list[str]:
    """The names of the commands in a command line.

    Raises
    ------
    click.UsageError
        A command, an option or a choice that is not there, or more words than the command takes.
    """
    command, context, said = cli, click.Context(cli), []
    while True:
        given, rest, _ = command.make_parser(context).parse_args(list(words))
        for parameter in command.params:
            value = given.get(parameter.name)
            if isinstance(parameter.type, click.Choice) and value not in (None, ()):
                for choice in value if isinstance(value, list | tuple) else [value]:
                    parameter.type.convert(choice, parameter, context)
        if not isinstance(command, click.Group):
            if rest:
                raise click.UsageError(f"too many words: {rest}")
            return said
        if not rest:
            return said
        said.append(rest[0])
        if (below := command.get_command(context, rest[0])) is None:
            raise click.UsageError(f"no command {' '.join(said)}")
        command, words, context = below, rest[1:], click.Context(below, parent=context, info_name=rest[0])


def test_there_are_commands():
    assert len(LINES) > 100


@pytest.mark.parametrize(("page", "line"), LINES)
def test_a_command_of_a_page_can_be_parsed(page, line):
    words = shlex.split(line.replace("…", "x"), comments=True)[1:]
    parse([word for word in words if word != "\\"])


@pytest.mark.parametrize("line", ["apportion world fly", "apportion run a.toml --fly", "apportion doctor now here"])
def test_what_is_not_there_is_found(line):
    with pytest.raises(click.UsageError):
        parse(shlex.split(line)[1:])


def keys(table, prefix=""):
    """The dotted names of what a configuration sets."""
    for key, value in table.items():
        if isinstance(value, dict) and key not in OPEN and f"{prefix}{key}" not in KEYS:
            yield from keys(value, f"{prefix}{key}.")
        elif key not in OPEN:
            yield f"{prefix}{key}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_key_of_a_page_is_a_setting(page):
    for block in [*indented(page), *fenced(page, "toml")]:
        try:
            table = tomllib.loads(block)
        except tomllib.TOMLDecodeError:
            continue  # a file of another format
        if {key for key, value in table.items() if isinstance(value, dict)} & (SECTIONS - {"corpus"}):
            assert not [key for key in keys(table) if key not in KEYS and not key.startswith("decompose.kindness")]
