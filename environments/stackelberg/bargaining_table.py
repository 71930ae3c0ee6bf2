"""Table 7 of the Stackelberg Speaker: buyers against one seller, by deals, profit and share of the surplus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from apportion.environments.negotiation.bargaining.scenario import BUYER, SELLER
from apportion.environments.report_tables.figures import Figure, mean
from apportion.environments.report_tables.table import Cell, Table
from apportion.environments.tournament.results import Result
from apportion.environments.tournament.team_games.rates import win_rate
from apportion.foundation.intervals.estimate import Missing
from apportion.foundation.intervals.resampling import Sampling

SNP, SHARE = "snp", "share"


def table_7(bargains: Sequence[Result], named: Sequence[str], sampling: Sampling) -> Table:
    """Buyers against one seller.

    Parameters
    ----------
    bargains : sequence of Result
        Scored by the rules; ``share`` is there where there was a deal.
    named : sequence of str
        Whom agents are held against: the first of them that sells here, else who sold to most buyers.
    sampling : Sampling
    """
    title = "Table 7 of the Stackelberg Speaker: bargaining, the buyer's side"
    if not bargains:
        return Table("table_7", title, absent="no corpus of bargains was given")
    sold = Counter(seller for _, seller in {(one.seating[BUYER], one.seating[SELLER]) for one in bargains})
    seller = next((name for name in named if name in sold), None) or min(sold, key=lambda name: (-sold[name], name))
    found = [one for one in bargains if one.seating[SELLER] == seller]
    rows: list[tuple[Cell, ...]] = []
    for buyer in sorted({one.seating[BUYER] for one in found}):
        mine = [one for one in found if one.seating[BUYER] == buyer]
        deals = win_rate([(one.task, SHARE in one.scores[BUYER]) for one in mine])
        rows.append((buyer, deals, _mean(mine, SNP, 1.0, sampling), _mean(mine, SHARE, 100.0, sampling)))
    notes = (
        "deal rate in percent with Wilson's interval; SNP: the buyer's profit in parts of the surplus, 0 without a "
        "deal, its mean over bargains; share: the same of deals alone, in percent",
        "intervals are over bargains: one that is played several times is one unit",
    )
    columns = ("Buyer", "Deal rate, %", "SNP", "Share, %")
    return Table("table_7", f"{title}, against the seller {seller}", columns, tuple(rows), notes)


def _mean(bargains: Sequence[Result], dimension: str, factor: float, sampling: Sampling) -> Figure:
    known = [one for one in bargains if dimension in one.scores[BUYER]]
    if not known:
        return Missing("no bargain ended in a deal")
    return mean([one.task for one in known], [factor * one.scores[BUYER][dimension] for one in known], sampling)
