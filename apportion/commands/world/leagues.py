"""`apportion world tournament werewolf|avalon|onuw`: leagues of games of hidden roles, by the table of these games."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from apportion.commands.shared.options import with_options
from apportion.commands.world.deduction import LIMIT, RULES, deduction_of
from apportion.commands.world.playing import COUNT, HOW_OPTIONS, MODEL_OPTIONS, SEED, played, told_before

MATCHES = click.option("--matches", type=COUNT, default=500, show_default=True, help="Each with a deal of its own.")
TEAMS = click.option(
    "--teams", is_flag=True, help="One agent a team: every ordered pair plays all the matches, on the same deals."
)
LEAGUE_OPTIONS = (MATCHES, TEAMS, SEED, RULES, LIMIT, *HOW_OPTIONS, *MODEL_OPTIONS)
"""Of a league: all but who plays, and where it is written."""


def league_command(kind: str, title: str) -> click.Command:
    """`apportion world tournament KIND`."""

    @click.command(kind, help=_HELP.format(title=title, kind=kind), short_help=f"A league of {title}.")
    @click.argument("out", metavar="CORPUS", type=click.Path(path_type=Path))
    @click.option("--agents", required=True, help=f"The pool, by name, with commas between; see `simulate {kind}`.")
    def command(
        out: Path,
        matches: int,
        teams: bool,
        overwrite: bool,
        most_unusable: float,
        as_json: bool,
        preview: int | None,
        dry_run: bool,
        **options: Any,
    ) -> None:
        from apportion.environments.deduction.league import LeagueChoice
        from apportion.environments.tournament.team_games.matches import POOL
        from apportion.environments.tournament.team_games.matches import TEAMS as TEAM_AGAINST_TEAM

        mode = TEAM_AGAINST_TEAM if teams else POOL
        choice = LeagueChoice.of(deduction_of(kind, games=matches, **options), mode)
        if told_before(choice, preview, dry_run, as_json):
            return
        report = played(choice, out, overwrite, most_unusable, as_json, "tournament")
        tell_league(out, as_json)
        if report.left_out or report.problems:
            told = f"{len(report.left_out):,} matches failed or have no score"
            click.echo(f"{told}: see {out / 'import_report.json'}", err=True)
            sys.exit(1)

    made: click.Command = with_options(LEAGUE_OPTIONS, command)
    return made


def tell_league(out: Path, as_json: bool) -> None:
    """Write the tables beside the corpus, and show them."""
    from apportion.environments.tournament.team_games.tables import league_json, write_league

    report = report_of(out)
    paths = write_league(out, report)
    if as_json:
        click.echo(league_json(report))
        return
    click.echo(report.text())
    click.echo(f"\nwrote {out} (a corpus), {' and '.join(str(path) for path in paths)}")
    click.echo(f"next: apportion world tables stackelberg {out}, or apportion init {out}")


def report_of(corpus: Path) -> Any:
    """The tables of the one game in a corpus, made anew."""
    from apportion.environments.deduction.league import read_matches
    from apportion.environments.report_tables.report import is_human
    from apportion.environments.tournament.team_games.tables import league_report
    from apportion.foundation.errors import InputError
    from apportion.foundation.intervals.resampling import Sampling

    found = read_matches(corpus, is_human)
    if len(found) > 1:
        raise InputError(f"{corpus}: holds several games ({', '.join(one.game for one in found)}); a league is of one")
    (matches,) = found
    return league_report(matches, Sampling(), f"League of {matches.game}: {', '.join(matches.agents)}")


_HELP = """A league of {title}.

Every seat of every match is drawn from the pool --agents; with --teams each agent has a team to itself, against each
other one and itself, --matches of every ordered pair. Match N has the same deal whoever plays, in every league of the
same --seed and rules. CORPUS is a corpus like that of `simulate {kind}`, with the tables beside it as tournament.json
and tournament.md: win rates by team, role and seat, differences and votes received, with intervals over deals. The
same command goes on after a kill, and pays for no reply twice.
"""
