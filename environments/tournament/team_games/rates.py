"""Win rates and their differences, with intervals over deals.

The unit is the deal: seats of one match share its end, and matches of one deal share what was dealt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from apportion.environments.report_tables.table import Figure, Value, value_of
from apportion.environments.tournament.team_games.matches import Matches, Seat
from apportion.foundation.arrays import Floats
from apportion.foundation.intervals.estimate import Missing
from apportion.foundation.intervals.proportion import clustered_share
from apportion.foundation.intervals.resampling import Sampling, Statistic

Chosen = Callable[[Seat], bool]
"""Which seats count."""
Ends = Sequence[tuple[str, bool]]
"""How seats ended: the deal of each, and whether it won."""
LEAGUE = "apportion world tournament werewolf CORPUS --agents A,B"
TEAMS = f"{LEAGUE} --teams"
"""The commands that fill tables of leagues."""
NEVER = Missing("it never sat there", f"{LEAGUE} --matches N, also with --teams")
_PERCENT = 100.0


def ends(matches: Matches, chosen: Chosen) -> Ends:
    """How the chosen seats ended; those of which it is not known are left out."""
    return [(deal, seat.won) for deal, seat in matches.seats if seat.won is not None and chosen(seat)]


def of_agent(agent: str, team: str | None = None) -> Chosen:
    """The seats of an agent, in a team where one is named."""
    return lambda seat: seat.agent == agent and team in (None, seat.team)


def ends_against(matches: Matches, agent: str, team: str, opponent: str) -> Ends:
    """How the dealt ``team`` ended where ``agent`` had it to itself and ``opponent`` the other one."""
    (other,) = (name for name in matches.teams if name != team)
    met = [match for match in matches.by_teams.matches if match.sole(team) == agent and match.sole(other) == opponent]
    return ends(matches.only(met), lambda seat: seat.dealt_team == team)


def win_rate(found: Ends) -> Figure:
    """How often seats won, in percent, with Wilson's interval for seats that share deals.

    ``items`` are seats, ``episodes`` deals.
    """
    (sums,) = _by_deal(found)
    share = clustered_share(sums[:, 0], sums[:, 1])
    if share is None:
        return NEVER
    low, high = (None if end is None else _PERCENT * end for end in (share.low, share.high))
    return Value(_PERCENT * share.value, low, high, share.trials, share.clusters)


def difference(one: Ends, other: Ends, sampling: Sampling) -> Figure:
    """The win rate of ``one`` less that of ``other``, in points of percent, by a bootstrap over deals.

    Every deal is drawn with all of its matches, so that what both had in common counts in neither.
    """
    return _of_two(one, other, lambda first, second: first - second, sampling)


def middle(one: Ends, other: Ends, sampling: Sampling) -> Figure:
    """The mean of two win rates, whatever their numbers of seats (``Avg.`` of Table 2), by the same bootstrap."""
    return _of_two(one, other, lambda first, second: (first + second) / 2, sampling)


def change_of_middle(ours: tuple[Ends, Ends], theirs: tuple[Ends, Ends], sampling: Sampling) -> Figure:
    """The difference of two such means, on the same deals."""
    if not all((*ours, *theirs)):
        return NEVER
    sums = np.concatenate(_by_deal(*ours, *theirs), axis=-1)

    def statistic(drawn: Floats) -> Floats:
        rates = [_rate(drawn, place) for place in range(4)]
        changed: Floats = (rates[0] + rates[1] - rates[2] - rates[3]) / 2
        return changed

    return value_of(sums, statistic, sum(map(len, (*ours, *theirs))), sampling)


def distinct(figure: Figure) -> bool:
    """Whether the interval of a difference leaves out 0."""
    return (
        isinstance(figure, Value)
        and figure.low is not None
        and figure.high is not None
        and not figure.low <= 0 <= figure.high
    )


def _of_two(one: Ends, other: Ends, of: Callable[[Floats, Floats], Floats], sampling: Sampling) -> Figure:
    if not one or not other:
        return NEVER
    sums = np.concatenate(_by_deal(one, other), axis=-1)
    statistic: Statistic = lambda drawn: of(_rate(drawn, 0), _rate(drawn, 1))  # noqa: E731
    return value_of(sums, statistic, len(one) + len(other), sampling)


def _rate(drawn: Floats, place: int) -> Floats:
    """In percent, of the columns (won, seats) at a place; NaN where no seat was drawn."""
    with np.errstate(invalid="ignore", divide="ignore"):
        rate: Floats = _PERCENT * drawn[..., 2 * place] / drawn[..., 2 * place + 1]
    return rate


def _by_deal(*samples: Ends) -> list[Floats]:
    """Of each sample, by deal, how many seats won and how many there were [shape=(D, 2)], D the deals of any."""
    deals = {deal: place for place, deal in enumerate(dict.fromkeys(deal for one in samples for deal, _ in one))}
    found = [np.zeros((len(deals), 2)) for _ in samples]
    for sums, sample in zip(found, samples, strict=True):
        for deal, won in sample:
            sums[deals[deal]] += (won, 1)
    return found
