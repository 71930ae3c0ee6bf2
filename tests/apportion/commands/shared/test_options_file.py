"""`--config FILE`: what a file says stands in the place of options that are left out."""

from pathlib import Path

import click
import pytest

from apportion.commands.shared.options import JSONObject
from apportion.commands.shared.options_file import CONFIG
from apportion.foundation.errors import InputError


@click.command()
@CONFIG
@click.option("--agents", required=True)
@click.option("--rule", "rules", multiple=True)
@click.option("--matches", type=click.IntRange(1), default=500)
@click.option("--teams", is_flag=True)
@click.option("--extra-body", type=JSONObject())
def command(**options: object) -> dict[str, object]:
    """Gives back what it is given."""
    return options


def chosen(tmp_path: Path, text: str, *more: str) -> dict[str, object]:
    path = tmp_path / "options.toml"
    path.write_text(text, encoding="utf-8")
    found = command.main(["--config", str(path), *more], standalone_mode=False)
    assert isinstance(found, dict)
    return found


def test_options_of_every_kind_come_from_the_file_and_the_command_line_goes_before(tmp_path: Path) -> None:
    text = 'agents = ["react", "base@m"]\nrule = ["a=1", "b=2"]\nmatches = 7\nteams = true\nextra-body = { k = 2 }\n'
    found = chosen(tmp_path, text, "--matches", "9")
    assert found == {
        "agents": "react,base@m", "rules": ("a=1", "b=2"), "matches": 9, "teams": True, "extra_body": {"k": 2},
    }  # fmt: skip
    assert chosen(tmp_path, 'agents = "a,b"')["matches"] == 500


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("agents = [", "options.toml: not valid TOML"),
        ('agent = "a"', "options.toml: agent: no such option; did you mean 'agents'"),
        ('config = "x"', "options.toml: config: no such option"),
        ('agents = "a"\nmatches = "many"', "options.toml: matches: 'many' is not a valid integer range"),
    ],
)
def test_what_it_cannot_say_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        chosen(tmp_path, text)
    with pytest.raises(InputError, match=r"nowhere\.toml"):
        command.main(["--config", str(tmp_path / "nowhere.toml")], standalone_mode=False)
