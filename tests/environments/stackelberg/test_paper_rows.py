"""Every command that fills a row of a paper's table can be typed, and names agents that there are."""

import shlex
import tomllib
from itertools import pairwise

import click
import pytest

from apportion.cli import cli
from apportion.environments.agents.wrappers import unwrapped
from apportion.environments.deduction.games import game_called
from apportion.environments.report_tables.rows_to_play import PaperRow, PaperRows, method_of
from apportion.environments.sotopia.agents import ROSTER
from apportion.environments.sotopia.reports.social_methods import POLICY, SAVOIR
from apportion.environments.stackelberg.paper_rows import PERSON, TABLE_1, TABLE_2, TABLE_3, TABLE_4
from apportion.pipeline.config import Config
from apportion.rlhf.stackelberg.settings import RefineSettings

TABLES: dict[str, PaperRows] = {
    **{f"1 {game}": rows for game, rows in TABLE_1.items()},
    **{f"2 {game}": rows for game, rows in TABLE_2.items()},
    "3": TABLE_3,
    "4": TABLE_4,
    "savoir": SAVOIR,
}
ROWS = [pytest.param(table, row, id=f"{name}-{row.name}") for name, table in TABLES.items() for row in table.rows]
AGENTS = ("--agents", "--with", "--partner")


def parsed(words: list[str]) -> None:
    """The command line as the program reads it; nothing runs. Raises click.UsageError: it cannot be read."""
    command: click.Command = cli
    context = click.Context(cli, info_name="apportion")
    while isinstance(command, click.Group):
        name, found, words = command.resolve_command(context, words)
        assert found is not None, name
        command, context = found, click.Context(found, context, name)
    command.parse_args(context, words)


def written(command: str) -> tuple[str, str]:
    """The file that a `printf` writes, and its text."""
    _, text, mark, name = shlex.split(command)
    assert mark == ">"
    return name, text.replace("\\n", "\n")


def exists(world: str, name: str) -> bool:
    """Whether an agent of a name is in the roster of a world, whatever is behind its @."""
    roster = ROSTER if world == "sotopia" else game_called(world).roster
    wrapped = unwrapped(name)
    if wrapped is not None:
        return exists(world, wrapped.inner)
    style = name.partition("@")[0]
    return style in roster.registry.names() or style in roster.form.prompts.names()


@pytest.mark.parametrize(("table", "row"), ROWS)
def test_a_rows_commands_can_be_typed(table: PaperRows, row: PaperRow) -> None:
    files: dict[str, str] = {}
    for command in table.commands(row):
        if command.startswith("printf "):
            files.update([written(command)])
            continue
        first, *words = shlex.split(command)
        assert first == "apportion"
        parsed(list(words))
        for option, value in pairwise(words):
            if option in AGENTS and words[1] != "tables":  # Tables are told names as logs have them.
                assert all(exists(words[2], name) for name in value.split(",")), value
    for name, text in files.items():
        values = tomllib.loads(text)
        settings = RefineSettings if "instances" in values else Config
        settings.model_validate(values)
        assert any(name in shlex.split(command) for command in table.commands(row) if command.startswith("apportion"))


@pytest.mark.parametrize(("table", "row"), ROWS)
def test_who_plays_is_known_as_the_row_that_it_fills(table: PaperRows, row: PaperRow) -> None:
    told = row.name.partition(" (")[0]
    assert method_of(row.agent) == told or row == PaperRow(PERSON, "")
    assert row.name not in {cells[0] for cells in table.missing({row.name}, 1)}
    (fill,) = {cell.fill for cells in table.missing((), 2) if cells[0] == row.name for cell in cells[1:]}
    assert fill == " && ".join(table.commands(row))


@pytest.mark.parametrize(("table", "row"), ROWS)
def test_a_rows_commands_need_nothing_that_they_do_not_make(table: PaperRows, row: PaperRow) -> None:
    ready = {one.agent for one in table.rows if not one.made} | {row.agent, "base"}
    for command in table.commands(row)[len(row.made) :]:
        for option, value in pairwise(shlex.split(command)):
            assert option not in AGENTS[:2] or set(value.split(",")) <= ready
            assert option != "--reward" or value.rpartition("=")[0] == row.agent.replace("react+", "react@MODEL+")
    everybody = " ".join(table.pool)
    assert all(other.agent in everybody and other.told in everybody for other in table.rows)


def test_the_rows_are_those_of_the_papers() -> None:
    assert [row.name for row in TABLE_1["avalon"].rows[2:]] == [
        "lasi", "strategist", "react+refiner", "strategist+refiner",
    ]  # fmt: skip
    assert [row.name for row in TABLE_2["onuw"].rows] == [
        "react", "react+refiner (positive-only)", "react+refiner (negative-only)", "react+refiner (full)",
    ]  # fmt: skip
    assert [row.name for row in TABLE_3.rows] == [
        "react", "recon", "sotopia-pi", "dsi", "sdpo", "metamind", "react+refiner", "metamind+refiner",
    ]  # fmt: skip
    assert [row.name for row in TABLE_4.rows] == [PERSON, *(row.name for row in TABLE_1["werewolf"].rows)]
    assert [row.name for row in SAVOIR.rows] == [
        POLICY.partition("/")[2], "ppdpp", "epo", "dat", "dsi", "sotopia-rl", "savoir",
    ]  # fmt: skip
