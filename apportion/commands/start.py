"""`apportion start`: from a file or a folder to its first rewards, with what was found and what is to be decided."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion.commands.corpus import ask_speakers, pairs_of
from apportion.commands.shared.places import write
from apportion.foundation.errors import InputError
from apportion.foundation.truncate import listed, shortened, some

if TYPE_CHECKING:
    from apportion.corpus.corpus import Corpus
    from apportion.corpus.importers.recognise import Recognised
    from apportion.corpus.session import Session
    from apportion.corpus.writer import ImportReport

SHOWN_SESSIONS, SHOWN_TURNS, WIDTH = 3, 4, 90
MOST_TOLD = 6
FEWEST_TO_LEARN = 4
TABLES, CONFIG, RUN = "corpus", "apportion.toml", "run"
"""What lies in OUT."""
CHAT_TARGET = "assistant"


@dataclass(frozen=True)
class _Wishes:
    """What the person has said beforehand."""

    options: dict[str, str]
    rating: str | None
    target: str | None
    yes: bool

    def __bool__(self) -> bool:
        return bool(self.options or self.rating or self.target)


@click.command("start")
@click.argument("source", metavar="FILE|FOLDER", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="The folder to write.  [default: ./NAME-apportion]")
@click.option(
    "--option", "-o", "options", multiple=True, metavar="KEY=VALUE", help="As of `apportion import`: -o score=csat."
)
@click.option("--rating", metavar="NAME", help="Which score is to become rewards, where there are several.")
@click.option("--target", metavar="WHO", help="Whose turns get rewards where nobody is rated: first, second or a name.")
@click.option("--yes", is_flag=True, help="Ask nothing: take what is suggested, and refuse where nothing is.")
def start_command(
    source: Path, out: Path | None, options: tuple[str, ...], rating: str | None, target: str | None, yes: bool
) -> None:
    """Say what FILE or FOLDER is, and make its first rewards, with nothing trained and nothing sent.

    Chats, tables, traces, recordings and corpora are told apart by what is in them. What is not sure is asked on a
    terminal, and refused elsewhere with the option that settles it. The folder gets a corpus, a short apportion.toml
    and a run to look at; the same command goes on after a stop, and makes nothing twice.
    """
    from apportion.corpus.importers.reading.asking import nobody_asked
    from apportion.corpus.importers.recognise import recognise

    found = recognise(source)
    name = source.resolve().name
    out = out or Path(f"{name.partition('.')[0] or name or 'data'}-apportion")
    with nobody_asked() if yes else nullcontext():
        code = _start(source, out, found, _Wishes(pairs_of(options), rating, target, yes))
    sys.exit(code)


def _start(source: Path, out: Path, found: Recognised, wishes: _Wishes) -> int:
    from apportion.corpus.corpus import Corpus
    from apportion.corpus.importers.recognise import CORPUS
    from apportion.corpus.power import weak_ratings

    earlier = _earlier(source, out)
    click.echo(f"{source}: {found.words}")
    report = None
    if found.kind == CORPUS:
        folder = source
    else:
        folder = out / TABLES
        report = _imported(found.kind, source, out, earlier, wishes)
    corpus = Corpus.open(folder)
    sessions = list(corpus.iter_sessions())
    weak = weak_ratings(corpus, report.problems if report else ())
    for line in (*_facts(corpus, sessions), *_told(report, out), "", *_shown(sessions)):
        click.echo(line)
    config = out / CONFIG
    if wishes or not config.is_file():
        text, why = _configuration(source, out, folder, found.kind, corpus, wishes)
        write(config, "--out", text)
        click.echo(f"wrote {config}: {why}")
    else:
        click.echo(f"{config} is kept as it is (options write it anew)")
    code = _rewarded(out, sum(bool(session.ratings) for session in sessions), weak)
    return code or int(report is not None and bool(report.left_out or report.problems))


def _earlier(source: Path, out: Path) -> dict[str, str] | None:
    """The options by which an earlier start made OUT from the same; None where nothing is there.

    Raises ``InputError``: OUT holds something else.
    """
    from apportion.corpus.writer import options_before
    from apportion.pipeline.config import load_config

    if not out.exists() or (out.is_dir() and not any(path.is_file() for path in out.rglob("*"))):
        return None
    options = options_before(out / TABLES, source)
    if options is not None:
        return options
    if (out / CONFIG).is_file() and load_config(out / CONFIG, checked=()).corpus.resolve() == source.resolve():
        return {}
    raise InputError(
        f"{out}: it is there and does not come from `apportion start {source}`. Name another folder: --out FOLDER."
    )


def _imported(kind: str, source: Path, out: Path, earlier: dict[str, str] | None, wishes: _Wishes) -> ImportReport:
    """Import; what is not sure is asked, taken as suggested (`--yes`), or refused."""
    from apportion.corpus.importers import import_to
    from apportion.corpus.importers.chats.scales import NoScaleError
    from apportion.corpus.importers.reading.asking import choose, is_answered
    from apportion.corpus.speakers.doubt import UnsureSpeakersError

    options = {**(earlier or {}), **wishes.options}
    while True:
        try:
            return import_to(kind, source, out / TABLES, options, overwrite=earlier is not None)
        except NoScaleError as unsure:
            scale = choose(f"{unsure.what}. Which is it?", unsure.scales)
            if scale is None and wishes.yes and unsure.likely:
                scale = unsure.likely
                click.echo(f"scale      {scale}, as the scores look (-o scale=… says otherwise)")
            elif scale is None:
                hint = f" Or --yes, which takes {unsure.likely}." if unsure.likely else ""
                raise InputError(f"{unsure}{hint}") from None
            options["scale"] = scale
        except UnsureSpeakersError as unsure:
            if not is_answered():
                raise
            options["speakers"] = str(ask_speakers(unsure, options.get("speakers"), out / TABLES))


def _facts(corpus: Corpus, sessions: list[Session]) -> Iterator[str]:
    """What the corpus holds."""
    from apportion.corpus.inspection.inspect import inspect
    from apportion.corpus.languages.settling import languages_found, languages_listed

    seen = inspect(corpus)
    speakers = list(dict.fromkeys(_plain(turn.speaker) for session in sessions for turn in session.turns))
    yield f"found      {_many(seen.sessions, 'session')}, {_many(seen.utterances, 'turn')}"
    yield f"speakers   {len(speakers):,}: {listed(speakers, 6)}"
    for rating in seen.ratings:
        pairs = dict.fromkeys(
            f"{_plain(one.rater)} rates {_plain(one.target)}"
            for session in sessions
            for one in session.ratings
            if one.name == rating.name
        )
        yield (
            f"scores     {_plain(rating.name)}, {rating.low:g} to {rating.high:g}: {rating.scores:,}, mean "
            f"{rating.mean:.2f}; {listed(list(pairs))}"
        )
    if not seen.ratings:
        yield "scores     none"
    languages = languages_found({session.session_id: session for session in sessions}).values()
    yield f"language   {languages_listed(session.language for session in languages)}"
    recorded = ", ".join(f"{many:,} {kind}" for kind, many in seen.recordings)
    yield f"recorded   {recorded or 'nothing'}"


def _told(report: ImportReport | None, out: Path) -> list[str]:
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


def _shown(sessions: list[Session]) -> Iterator[str]:
    """The first sessions as they were understood."""
    for session in sessions[:SHOWN_SESSIONS]:
        scores = "".join(f", {_plain(one.name or 'score')} {one.score:g}" for one in session.ratings[:2])
        yield f"{_plain(session.session_id)}: {_many(len(session.turns), 'turn')}{scores}"
        for turn in islice(session.turns, SHOWN_TURNS):
            yield f"  {shortened(f'{_plain(turn.speaker)}: {_plain(turn.text)}', WIDTH)}"
        if len(session.turns) > SHOWN_TURNS:
            yield f"  … {len(session.turns) - SHOWN_TURNS:,} more"
    if len(sessions) > SHOWN_SESSIONS:
        yield f"… {_many(len(sessions) - SHOWN_SESSIONS, 'more session')}"
    yield ""


def _many(many: int, noun: str) -> str:
    return f"{many:,} {noun}{'s' * (many != 1)}"


def _plain(text: str) -> str:
    from apportion.environments.terminal.console import printable

    return printable(text)


def _configuration(
    source: Path, out: Path, folder: Path, kind: str, corpus: Corpus, wishes: _Wishes
) -> tuple[str, str]:
    """The text of the configuration, and why it has these methods."""
    from apportion.pipeline.first_rewards import choose_methods, short_config

    ratings = corpus.rating_names()
    rating = _rating(ratings, wishes)
    sessions = {session.session_id: session for session in corpus.iter_sessions()}
    chosen = choose_methods(sessions, rated=bool(ratings))
    target = None if ratings else _target(kind, wishes)
    named = TABLES if folder == out / TABLES else str(folder.resolve())
    text = short_config(_plain(source.name or str(source)), named, rating, target, chosen.methods)
    whose = f"; the turns of {target!r} get rewards (--target WHO says otherwise)" if target else ""
    return text, f"{' and '.join(chosen.methods)}, since {chosen.why}{whose}"


def _rating(names: list[str], wishes: _Wishes) -> str | None:
    from apportion.corpus.importers.reading.asking import choose

    if wishes.rating is not None and wishes.rating not in names:
        raise InputError(f"--rating {wishes.rating}: the scores here are {', '.join(names) or 'none'}. Name one.")
    if wishes.rating is not None or len(names) < 2:
        return wishes.rating or next(iter(names), None)
    chosen = choose("Which score is to become rewards?", names)
    if chosen is None:
        raise InputError(
            f"several scores: {', '.join(names)}. Say which is to become rewards: --rating {json.dumps(names[0])}."
        )
    return chosen


def _target(kind: str, wishes: _Wishes) -> str:
    """Whose turns get rewards where nobody is rated."""
    from apportion.corpus.importers.reading.asking import choose

    if wishes.target is not None or kind == "chat":
        return wishes.target or CHAT_TARGET
    chosen = choose("No score. Whose turns are to get rewards, by who speaks?", ["second", "first"])
    if chosen is None and not wishes.yes:
        raise InputError(
            "there is no score, so nobody says who is rated. Say whose turns get rewards: --target second (who answers "
            "first), first, or a name."
        )
    return chosen or "second"


def _rewarded(out: Path, rated: int, weak: list[str]) -> int:
    """Make the rewards, say what came of them, and what is next; the exit code."""
    from apportion.pipeline.first_rewards import make_rewards

    quiet = not sys.stderr.isatty()
    summary, made = make_rewards(out / CONFIG, quiet=quiet)
    for text in summary.warnings if quiet else ():  # A terminal has shown them.
        if not any(known.endswith(text) for known in weak):
            click.echo(f"warning: {text}")
    for method, many in summary.unjudged.items():
        click.echo(
            f"no rewards by {method} in {_many(many, 'session')}: nothing to judge by there, as where nobody answers. "
            f'In {out / CONFIG}, methods = ["uniform"] gives equal shares of a score'
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
