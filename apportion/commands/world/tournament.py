"""`apportion world tournament`: every ordered pair of agents plays the same tasks, and a table compares them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.shared.options import CORPUS, PATH, json_option, with_options
from apportion.commands.shared.options_file import CONFIG
from apportion.commands.shared.places import check_place, write
from apportion.commands.world.deduction import DEDUCTION
from apportion.commands.world.games import ABOUT, PAIR_OPTIONS, pairs_of
from apportion.commands.world.leagues import HELP, LEAGUE_OPTIONS, league_of, report_of, tell_league
from apportion.commands.world.playing import COUNT, EPISODE_OPTIONS, choice_of, played, tell_price, told_before
from apportion.foundation.errors import InputError

if TYPE_CHECKING:
    from apportion.environments.simulation import Simulation
    from apportion.environments.tournament.standings import Standings


@click.group("tournament")
def tournament_group() -> None:
    """Let every agent play with every other, and see who reaches more."""


def _add(kind: str, text: str, choose: Callable[..., Simulation], options: Sequence[Any], more: str = "") -> None:
    """Add the command that lets agents meet in the world ``kind``; ``more``: what else can be done next."""

    @tournament_group.command(kind, help=text)
    @click.argument("out", metavar="CORPUS", type=PATH)
    @CONFIG
    @click.option("--agents", required=True, help=f"Who plays, with commas between; see `simulate {kind}`.")
    @partial(with_options, options)
    def command(
        out: Path,
        overwrite: bool,
        most_unusable: float,
        as_json: bool,
        preview: int | None,
        dry_run: bool,
        **options: Any,
    ) -> None:
        from apportion.environments.deduction.league import LeagueChoice

        choice = choose(**options)
        league = isinstance(choice, LeagueChoice)
        if len(choice.players.names) < 2 and not league:
            raise InputError("--agents: a tournament needs two agents at least, with a comma between")
        if told_before(choice, preview, dry_run, as_json):
            return
        tell_price(choice, as_json)
        report = played(choice, out, overwrite, most_unusable, as_json, "tournament")
        if league:
            tell_league(out, as_json)
        else:
            _tell_table(out, as_json, f"apportion inspect {out}{more.format(out=out)}")
        if report.left_out or report.problems:
            told = f"{len(report.left_out):,} {'matches' if league else 'episodes'} failed or have no score"
            click.echo(f"{told}: see {out / 'import_report.json'}", err=True)
            sys.exit(1)


def _tell_table(out: Path, as_json: bool, next_steps: str) -> None:
    """Write the table beside the corpus, and show it."""
    from apportion.environments.tournament.page import as_json as document
    from apportion.environments.tournament.page import summary, write_table
    from apportion.environments.tournament.results import read_results
    from apportion.environments.tournament.standings import standings

    table = standings(read_results(out))
    paths = write_table(out, table, title_of(table))
    if as_json:
        click.echo(document(table))
    else:
        click.echo(summary(table))
        click.echo(f"wrote {out} (a corpus), {' and '.join(str(path) for path in paths)}")
        click.echo(f"next: {next_steps}")


@tournament_group.command("table")
@click.argument("corpus", type=CORPUS)
@click.option("--by", "judge", default="rules", show_default=True, metavar="NAME", help="Whose scores: an annotator.")
@click.option("--out", "-o", type=PATH, metavar="FILE", help="Write it (.md or .json), too.")
@json_option("the table")
def table_command(corpus: Path, judge: str, out: Path | None, as_json: bool) -> None:
    """Make the table of a corpus of simulated episodes, or of a judged copy of one, anew.

    --by names the judge: `rules`, or one whose ratings `apportion world evaluate` has added, such as paper@MODEL. A
    game of hidden roles has the tables of a league.
    """
    from apportion.environments.deduction.league import is_league
    from apportion.environments.tournament.page import as_json as document
    from apportion.environments.tournament.page import page
    from apportion.environments.tournament.results import read_results
    from apportion.environments.tournament.standings import standings
    from apportion.environments.tournament.team_games.tables import league_json

    if out is not None:
        check_place(out, "--out", (".md", ".json"))
    if is_league(corpus):
        if judge != "rules":
            raise InputError(f"--by {judge}: who has won a game of hidden roles is said by its rules; leave it out")
        league = report_of(corpus)
        if out is not None:
            write(out, "--out", league_json(league) + "\n" if out.suffix == ".json" else league.markdown())
        click.echo(league_json(league) if as_json else league.text())
        return
    table = standings(read_results(corpus, judge))
    if out is not None:
        write(out, "--out", document(table) + "\n" if out.suffix == ".json" else page(table, title_of(table)))
    click.echo(document(table) if as_json else page(table, title_of(table)).rstrip())


def title_of(table: Standings) -> str:
    """What was played."""
    return f"Tournament of {', '.join(table.agents)}"


MATCHES = click.option("--matches", type=COUNT, help="As many episodes, seats drawn from --agents, not all pairs.")
PARTNER = click.option("--partner", metavar="AGENT", help="Each plays with itself and this one, not all pairs.")
_SOTOPIA = """Play social episodes (SOTOPIA): every ordered pair of --agents, on the same tasks and seeds.

CORPUS is a corpus like that of `simulate sotopia`, the table beside it (tournament.json, tournament.md), by pair
and by agent in each seat. The same command goes on after a kill.
"""
_PAIRS = """Play {kind}: every ordered pair of --agents, each with itself, on the same {unit}s and seeds.

CORPUS is a corpus like that of `simulate {kind}`, with the table beside it as tournament.json and tournament.md:
{scores} by pair and by agent in each seat, with bootstrap intervals over {unit}s and paired t-tests. The same command
goes on after a kill.
"""
_JUDGE = ", or apportion world evaluate {out} (seven dimensions, by a language model)"
_add("sotopia", _SOTOPIA, partial(choice_of, paired=True), (MATCHES, PARTNER, *EPISODE_OPTIONS), _JUDGE)
for _kind, _unit, _scores in (
    ("negotiation", "context", "points and advantage"),
    ("bargaining", "bargain", "points, advantage, snp and share"),
    ("casino", "context", "points and advantage"),
):
    _text = _PAIRS.format(kind=_kind, unit=_unit, scores=_scores)
    _add(_kind, _text, partial(pairs_of, _kind, paired=True), (*ABOUT[_kind], *PAIR_OPTIONS))
for _kind, _title in DEDUCTION.items():
    _add(_kind, HELP.format(title=_title, kind=_kind), partial(league_of, _kind), LEAGUE_OPTIONS)
