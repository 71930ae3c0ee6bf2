"""What `apportion start` says: what a corpus holds, what its import told, sessions as understood, rewards."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion.commands.shared.start_choices import CONFIG, RUN, TABLES
from apportion.environments.terminal.console import printable
from apportion.foundation.errors import InputError
from apportion.foundation.truncate import listed, shortened, some

if TYPE_CHECKING:
    from apportion.corpus.corpus import Corpus
    from apportion.corpus.session import Session
    from apportion.corpus.writer import ImportReport

SHOWN_SESSIONS, SHOWN_TURNS, WIDTH = 3, 4, 90
MOST_TOLD = 6


def facts(corpus: Corpus, sessions: list[Session]) -> Iterator[str]:
    """What the corpus holds."""
    from apportion.corpus.inspection.inspect import inspect
    from apportion.corpus.languages.settling import languages_found, languages_listed

    seen = inspect(corpus)
    speakers = list(dict.fromkeys(printable(turn.speaker) for session in sessions for turn in session.turns))
    yield f"found      {_many(seen.sessions, 'session')}, {_many(seen.utterances, 'turn')}"
    yield f"speakers   {len(speakers):,}: {listed(speakers, 6)}"
    for rating in seen.ratings:
        pairs = dict.fromkeys(
            f"{printable(one.rater)} rates {printable(one.target)}"
            for session in sessions
            for one in session.ratings
            if one.name == rating.name
        )
        yield (
            f"scores     {printable(rating.name)}, {rating.low:g} to {rating.high:g}: {rating.scores:,}, mean "
            f"{rating.mean:.2f}; {listed(list(pairs))}"
        )
    if not seen.ratings:
        yield "scores     none"
    languages = languages_found({session.session_id: session for session in sessions}).values()
    yield f"language   {languages_listed(session.language for session in languages)}"
    recorded = ", ".join(f"{many:,} {kind}" for kind, many in seen.recordings)
    yield f"recorded   {recorded or 'nothing'}"


def told(report: ImportReport | None, out: Path) -> list[str]:
    """What the import left out, took for something, or warns of."""
    if report is None:
        return []
    from apportion.corpus.account import account_lines

    where = f"{out / TABLES} holds all; `apportion inspect {out / TABLES}`"
    parts: Mapping[str, list[str]] = {
        "note": list(report.notes),
        "recorded": [str(one) for one in report.recordings.people],
        "chosen": list(report.recordings.chosen),
        "left out": [str(one) for one in report.left_out],
        "problem": [str(one) for one in report.problems],
        "warning": [*report.recordings.warnings, *report.warnings],
    }
    told = [line for title, lines in parts.items() for line in some(title, lines, MOST_TOLD, where)]
    return [*account_lines(report.account), *told]


def shown(sessions: list[Session]) -> Iterator[str]:
    """The first sessions as they were understood."""
    for session in sessions[:SHOWN_SESSIONS]:
        scores = "".join(f", {printable(one.name or 'score')} {one.score:g}" for one in session.ratings[:2])
        yield f"{printable(session.session_id)}: {_many(len(session.turns), 'turn')}{scores}"
        for turn in islice(session.turns, SHOWN_TURNS):
            yield f"  {shortened(f'{printable(turn.speaker)}: {printable(turn.text)}', WIDTH)}"
        if len(session.turns) > SHOWN_TURNS:
            yield f"  … {len(session.turns) - SHOWN_TURNS:,} more"
    if len(sessions) > SHOWN_SESSIONS:
        yield f"… {_many(len(sessions) - SHOWN_SESSIONS, 'more session')}"
    yield ""


def _many(many: int, noun: str) -> str:
    return f"{many:,} {noun}{'s' * (many != 1)}"


def rewards_made(out: Path, rated: int, weak: list[str]) -> int:
    """Make the rewards, say what came of them, and what is next; the exit code."""
    from apportion.pipeline.default_methods import FEWEST_TO_LEARN
    from apportion.pipeline.first_rewards import make_rewards

    quiet = not sys.stderr.isatty()
    summary, made = make_rewards(out / CONFIG, quiet=quiet)
    for text in summary.warnings if quiet else ():  # A terminal has shown them.
        if not any(known.endswith(text) for known in weak):
            click.echo(f"warning: {text}")
    for method, many in summary.unjudged.items():
        click.echo(
            f"no rewards by {method} in {_many(many, 'session')}: nothing to judge by there, as where nobody answers. "
            f'In {out / CONFIG}, method = "uniform" gives equal shares of a score'
        )
    for method, rewards in made.items():
        told = f"rewards    {method}: {_many(rewards.turns, 'turn')} of {_many(rewards.episodes, 'episode')}"
        if not rewards.turns:
            continue
        if not rated:
            click.echo(f"{told}; nobody gave a score: they sum to what the model foretells")
        elif rewards.exact:
            click.echo(f"{told}; each sum is exact: the score less the training mean, {rewards.offset:.4g}")
        else:
            raise InputError(f"{told}: a sum is {rewards.farthest:g} off. Report this with the input.")
    click.echo(f"look       apportion view {out / RUN}")
    if rated < FEWEST_TO_LEARN:
        click.echo(f"next       scores for {FEWEST_TO_LEARN} sessions or more: a reward model learns from them")
    else:
        click.echo(f"next       apportion run {out / CONFIG}")
    return summary.exit_code() or int(not any(rewards.turns for rewards in made.values()))
