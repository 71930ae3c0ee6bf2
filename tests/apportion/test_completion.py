import shutil
import subprocess
import sys

import pytest

from apportion.cli import cli
from apportion.commands.shared.in_order import CommandsInOrder
from tests.behaviour.command import ROOT, environment

BASH = shutil.which("bash")
COMPLETES = """
eval "$(_APPORTION_COMPLETE=bash_source apportion)"
for words in "$@"; do
  COMP_WORDS=($words); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
  _apportion_completion apportion "${COMP_WORDS[$COMP_CWORD]}" ""
  echo "${COMPREPLY[@]}"
done
"""
EXPECTED = {
    "apportion wo": "world",
    "apportion run --only dec": "decompose",
    "apportion run c.toml --only align --algorithm ppo --dry": "--dry-run",
}


@pytest.mark.skipif(BASH is None, reason="no bash on this machine")
def test_bash_completes_commands_and_options(tmp_path):
    command = tmp_path / "apportion"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m apportion "$@"\n')
    command.chmod(0o755)
    settings = environment()
    settings["PATH"] = f"{tmp_path}:{settings['PATH']}"
    asked = [str(BASH), "-c", COMPLETES, "bash", *EXPECTED]
    done = subprocess.run(asked, cwd=ROOT, env=settings, capture_output=True, text=True)
    assert done.stdout.splitlines() == [*EXPECTED.values()], done.stderr


def test_commands_are_listed_in_the_order_of_their_use_under_headings():
    import click

    assert isinstance(cli, CommandsInOrder)
    with click.Context(cli, info_name="apportion", max_content_width=110) as context:
        text = cli.get_help(context)
        names = cli.list_commands(context)
    order = ["doctor", "demo", "start", "import", "inspect", "init", "run", "view", "label", "probe", "models"]
    assert [name for name in names if name in order] == order
    assert sorted(names) == sorted(cli.commands)
    places = [text.index(f"\n  {name} ") for name in names]
    assert places == sorted(places)
    assert "Further commands:" in text and "_APPORTION_COMPLETE=bash_source" in text


def test_a_command_without_a_heading_is_listed_with_the_others():
    import click

    group = CommandsInOrder("g")
    group.add_section("First", [click.Command("one")])
    group.add_command(click.Command("more"))
    with click.Context(group) as context:
        assert group.list_commands(context) == ["one", "more"]
        assert "Others:\n  more" in group.get_help(context)
