"""The judge ``rules``: GOAL, FIN and SEC of scenarios that rules can check, exactly. This is not SOTOPIA-EVAL.

Dimensions and ranges are those of section 3; what these rules cannot tell is None.
"""

from __future__ import annotations

from collections.abc import Sequence

from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.sotopia.goal_checks import Agreement, SeatAct, agreement, gave_away
from apportion.environments.sotopia.tasks import Task


def judge_by_rules(task: Task, acts: Sequence[SeatAct]) -> list[dict[str, float | None]]:
    """What each seat has reached.

    ``task``: What was played. ``acts``: What was done, each with the seat that did it. Returns: By seat and dimension;
    None is not known.
    """
    terms = task.scenario.terms
    agreed = agreement(terms.deal, len(task.characters), acts) if terms is not None and terms.deal is not None else None
    return [
        {**dict.fromkeys(RANGES), "GOAL": _goal(task, seat, agreed, acts), "SEC": _secret(task, seat, acts)}
        | {"FIN": _money(task, seat, agreed)}
        for seat in range(len(task.characters))
    ]


def _goal(task: Task, seat: int, agreed: Agreement | None, acts: Sequence[SeatAct]) -> float | None:
    """0 where nothing was agreed; the middle of the deal and the secret where a scenario has both."""
    terms = task.scenario.terms
    if terms is None:
        return None
    parts: list[float] = []
    if terms.deal is not None:
        share = 0.0 if agreed is None else terms.deal.worth(agreed.offer, seat, agreed.by)
        parts.append(min(max(share, 0.0), 1.0))
    if any(terms.keep):
        parts.append(_kept(task, seat, acts))
    return 10.0 * sum(parts) / len(parts) if parts else None


def _kept(task: Task, seat: int, acts: Sequence[SeatAct]) -> float:
    terms = task.scenario.terms
    assert terms is not None
    away = [gave_away(phrases, keeper, acts) for keeper, phrases in enumerate(terms.keep) if phrases]
    if terms.keep[seat]:
        return 0.0 if gave_away(terms.keep[seat], seat, acts) else 1.0
    return sum(away) / len(away)


def _secret(task: Task, seat: int, acts: Sequence[SeatAct]) -> float | None:
    terms = task.scenario.terms
    goal = terms.keep[seat] if terms is not None and terms.keep else ()
    phrases = (*task.characters[seat].secret_words, *goal)
    if not phrases:
        return None
    return -10.0 if gave_away(phrases, seat, acts) else 0.0


def _money(task: Task, seat: int, agreed: Agreement | None) -> float | None:
    """From the least that is acceptable (0) to the most (5); a deal worse than that is a loss."""
    terms = task.scenario.terms
    if terms is None or terms.deal is None or not terms.deal.money:
        return None
    share = 0.0 if agreed is None else terms.deal.worth(agreed.offer, seat, agreed.by)
    return 5.0 * min(max(share, -1.0), 1.0)
