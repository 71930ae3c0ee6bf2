"""`apportion world play negotiation --study`: people negotiate with agents that they do not know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from apportion.commands.shared.options import option_names


def sit(file: Path, out: Path, person: str | None, temperature: float, model: dict[str, Any]) -> None:
    """Let a person take part in the study of a file, from where that person's sitting stands in the folder ``out``."""
    from apportion.environments.negotiation.agents import ROSTER
    from apportion.environments.negotiation.human_study.design import check_participant
    from apportion.environments.negotiation.human_study.session import Study
    from apportion.environments.negotiation.human_study.settings import read_study
    from apportion.environments.terminal.console import terminal
    from apportion.foundation.errors import InputError
    from apportion.llm_client.model_spec import ModelSpec

    settings = read_study(file)
    if person is None:
        raise InputError("--called: missing; give the id of who takes part, or --report for what came of it")
    check_participant(person)
    screen, chosen = terminal(), ModelSpec(**model)
    names = dict.fromkeys((settings.practice, *settings.agents))
    with ROSTER.agents_of(tuple(names), chosen, chosen.cache_in(out), option_names(), temperature) as agents:
        sitting = Study(settings, agents, out, screen).sit(person)
    if not sitting.consented:
        click.echo("You did not agree to take part; nothing else was asked or kept.")


def write_report(file: Path, out: Path) -> None:
    """Write what came of the study of a file into its folder."""
    from apportion.commands.shared.places import write
    from apportion.environments.negotiation.human_study.corpus import write_study_corpus
    from apportion.environments.negotiation.human_study.report import as_json, as_markdown
    from apportion.environments.negotiation.human_study.results import read_study_results
    from apportion.environments.negotiation.human_study.settings import read_study

    settings = read_study(file)
    results = read_study_results(settings, out)
    for name, text in (("study.md", as_markdown), ("study.json", as_json)):
        write(out / name, "FOLDER", text(settings.title, results))
    click.echo(f"people who took part: {results.took_part:,}; games: {len(results.games):,}")
    click.echo(f"wrote {out / 'study.md'} and {out / 'study.json'}")
    # No participant is called so: an id has no dot.
    corpus = out / "games.corpus"
    if write_study_corpus(settings, out, corpus) is not None:
        click.echo(f"wrote {corpus} (a corpus)")
        click.echo(f"next: apportion inspect {corpus}")
