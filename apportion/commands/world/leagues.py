"""`apportion world tournament werewolf|avalon|onuw`: leagues of games of hidden roles, by the table of these games."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.world.deduction import LIMIT, RULES, deduction_of
from apportion.commands.world.playing import COUNT, HOW_OPTIONS, MODEL_OPTIONS, SEED

if TYPE_CHECKING:
    from apportion.environments.deduction.league import LeagueChoice

MATCHES = click.option("--matches", type=COUNT, default=500, show_default=True, help="Each with a deal of its own.")
TEAMS = click.option(
    "--teams", is_flag=True, help="One agent a team: every ordered pair plays all the matches, on the same deals."
)
AGAINST = click.option(
    "--against", multiple=True, metavar="AGENT", help="With --teams: each meets this one alone; repeat for several."
)
LEAGUE_OPTIONS = (MATCHES, TEAMS, AGAINST, SEED, RULES, LIMIT, *HOW_OPTIONS, *MODEL_OPTIONS)
"""Of a league: all but who plays, and where it is written."""


def league_of(kind: str, matches: int, teams: bool, against: tuple[str, ...], **options: Any) -> LeagueChoice:
    """What the options of the running command choose."""
    from apportion.environments.deduction.league import LeagueChoice
    from apportion.environments.tournament.team_games.matches import POOL
    from apportion.environments.tournament.team_games.matches import TEAMS as TEAM_AGAINST_TEAM

    mode = TEAM_AGAINST_TEAM if teams else POOL
    return LeagueChoice.of(deduction_of(kind, games=matches, **options), mode, against)


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


HELP = """A league of {title}.

Every seat of every match is drawn from the pool --agents; with --teams each agent has a team to itself, against each
other one and itself, --matches of every ordered pair. Match N has the same deal whoever plays, in every league of the
same --seed and rules. CORPUS is a corpus like that of `simulate {kind}`, with the tables beside it as tournament.json
and tournament.md: win rates by team, role and seat, differences and votes received, with intervals over deals. The
same command goes on after a kill, and pays for no reply twice.
"""
