"""`apportion play negotiation --study`: people negotiate with agents that they do not know, and say what they think."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.parts.options import option_names, with_options
from apportion.commands.simulated.play import MODEL_OPTIONS

if TYPE_CHECKING:
    from environments.negotiation.study.settings import StudySettings

_PATH = click.Path(path_type=Path)


@click.command("negotiation")
@click.argument("out", metavar="FOLDER", type=_PATH)
@click.option("--study", "file", type=_PATH, required=True, metavar="FILE.toml", help="What is asked, and with whom.")
@click.option("--called", "person", metavar="ID", help="Who takes part: an id, and no name.")
@click.option("--report", is_flag=True, help="Write study.md and study.json of what is in FOLDER, and stop.")
def play_negotiation_command(
    out: Path, file: Path, person: str | None, report: bool, temperature: float, **model: Any
) -> None:
    """Take part in a study: consent, rules, a quiz, a practice game, games with several agents, ten questions each.

    Every agent is called Alice: which one it is stands in FOLDER and on no screen. Ctrl-C or /stop stops; the same
    command goes on, even after a kill, and asks nothing twice. Nothing is kept of a person but the id, what they did
    and what they answered. docs/negotiation_people.md says what FILE holds.
    """
    from environments.negotiation.study.settings import read_study
    from foundation.errors import InputError

    settings = read_study(file)
    if report:
        _write_report(settings, out)
    elif person is None:
        raise InputError("--called: missing; give the id of who takes part, or --report for what came of it")
    else:
        _sit(settings, out, person, temperature, model)


def _sit(settings: StudySettings, out: Path, person: str, temperature: float, model: dict[str, Any]) -> None:
    from environments.negotiation.agents import ROSTER
    from environments.negotiation.study.design import check_participant
    from environments.negotiation.study.sitting import Study
    from environments.terminal.screen import terminal
    from llm_client.chosen import ChosenModel

    check_participant(person)
    screen, chosen = terminal(), ChosenModel(**model)
    names = dict.fromkeys((settings.practice, *settings.agents))
    with ROSTER.agents_of(tuple(names), chosen, chosen.cache_in(out), option_names(), temperature) as agents:
        sitting = Study(settings, agents, out, screen).sit(person)
    if not sitting.consented:
        click.echo("You did not agree to take part; nothing else was asked or kept.")


def _write_report(settings: StudySettings, out: Path) -> None:
    from apportion.commands.parts.places import write
    from environments.negotiation.study.report import as_json, as_markdown
    from environments.negotiation.study.results import read_study_results

    results = read_study_results(settings, out)
    for name, text in (("study.md", as_markdown), ("study.json", as_json)):
        write(out / name, "FOLDER", text(settings.title, results))
    click.echo(f"{results.took_part:,} people took part, {len(results.games):,} games")
    click.echo(f"wrote {out / 'study.md'} and {out / 'study.json'}")


with_options(MODEL_OPTIONS, play_negotiation_command)
