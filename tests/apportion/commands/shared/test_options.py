import click
import pytest
from click.testing import CliRunner

from apportion.commands.shared.options import JSONObject, json_option, with_options


def test_json_is_one_option_that_says_what_it_prints_and_what_not():
    @click.command()
    @json_option("the figures", quiet=True, more="; a picture only with --png")
    def command(as_json: bool) -> None:
        click.echo(as_json)

    (option,) = command.params
    assert option.help == "Print the figures as JSON and no progress; a picture only with --png."
    assert CliRunner().invoke(command, ["--json"]).output == "True\n"


def test_a_group_of_options_stands_below_the_commands_own():
    group = (click.option("--b"), click.option("--c"))

    @click.command()
    @click.option("--a")
    def command(**options: object) -> None:
        pass

    names = [parameter.name for parameter in with_options(group, command).params]
    assert names == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ('{"top_k": 20}', "{'top_k': 20}"),
        ("[1]", "is no JSON object such as '{\"top_k\": 20}'"),
        ("top_k=20", "'top_k=20' is no JSON (Expecting value"),
        ("[" * 100_000, "is no JSON (maximum recursion"),
    ],
)
def test_an_object_of_json_is_read_or_refused(given, words):
    @click.command()
    @click.option("--extra", type=JSONObject())
    def command(extra: object) -> None:
        click.echo(extra)

    done = CliRunner().invoke(command, ["--extra", given])
    assert words in done.output and done.exit_code == (0 if given.startswith("{") else 2)
