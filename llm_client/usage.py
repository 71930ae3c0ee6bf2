"""Tokens and money, summed over replies."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Overrun:
    """What replies cost beyond what they could at most: ``counted`` tokens, where ``asked`` were the most.

    ``estimated`` says that the server did not count all of them itself.
    """

    usd: float
    asked: int
    counted: int
    replies: int = 1
    estimated: bool = False

    def text(self) -> str:
        """The cause in words, to stand after "because"."""
        which = "a reply" if self.replies == 1 else f"{self.replies:,} replies"
        where = f"where at most {self.asked:,} were asked ({usd_text(self.usd)} more than foreseen)"
        if self.estimated:
            return f"{which} took about {self.counted:,} tokens, not all counted by the server, {where}"
        return f"the server counted {self.counted:,} tokens for {which} {where}"


@dataclass(frozen=True)
class Usage:
    """What a number of replies used.

    ``unpriced`` of them have no known cost and are not in ``usd``. ``unanswered_usd`` is the most that requests may
    have cost whose reply never came, since the process or the connection ended; ``under_way_usd`` is set aside for
    requests that a process is waiting for, ``in_batches_usd`` for those that are in a batch. ``overrun`` is what
    replies cost beyond the most that was foreseen for them, where that happened. ``uncounted`` replies have a cost
    though the server did not count their tokens: the dearest possible.
    """

    replies: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0
    unanswered_usd: float = 0.0
    under_way_usd: float = 0.0
    in_batches_usd: float = 0.0
    overrun: Overrun | None = None
    uncounted: int = 0

    def text(self) -> str:
        """One line for a person."""
        cached = f" ({self.cached_tokens:,} of them cached)" if self.cached_tokens else ""
        tokens = f"{self.prompt_tokens:,} input{cached} and {self.completion_tokens:,} output tokens"
        return f"{self.replies:,} replies, {tokens}, {self.cost_text()}"

    def cost_text(self) -> str:
        """The cost in words."""
        words = "cost unknown" if self.replies and self.unpriced == self.replies else usd_text(self.usd)
        if 0 < self.unpriced < self.replies:
            words += f" and the unknown cost of {self.unpriced:,} replies"
        if self.uncounted:
            words += f" ({self.uncounted:,} replies that the server did not count taken at their dearest)"
        if self.unanswered_usd:
            words += f" (and at most {usd_text(self.unanswered_usd)} for requests whose reply never came)"
        if self.under_way_usd:
            words += f" (and at most {usd_text(self.under_way_usd)} for requests under way in another run)"
        if self.in_batches_usd:
            words += f" (and at most {usd_text(self.in_batches_usd)} for requests in a batch)"
        return words


def exceeded_text(ceiling_usd: float, used: Usage) -> str | None:
    """By how much a ceiling is exceeded and why, in words; None where what was paid is within it."""
    over_usd = used.usd - ceiling_usd
    # Sums of many small numbers, in whatever order, are equal up to rounding.
    if over_usd <= 1e-9 * max(1.0, ceiling_usd):
        return None
    words = f"the budget of {usd_text(ceiling_usd)} is exceeded by {usd_text(over_usd)}"
    if used.overrun is None or used.overrun.usd < over_usd * (1 - 1e-9):
        return f"{words}: {usd_text(used.usd)} had been paid before it was set"
    return f"{words}, because {used.overrun.text()}"


def budget_text(ceiling_usd: float, used: Usage) -> str:
    """How far a ceiling is used up, in words: what is left of it, or by how much it is exceeded and why."""
    aside_usd = used.unanswered_usd + used.under_way_usd + used.in_batches_usd
    left_usd = max(0.0, ceiling_usd - used.usd - aside_usd)
    return exceeded_text(ceiling_usd, used) or f"{usd_text(left_usd)} left of the budget of {usd_text(ceiling_usd)}"


def usd_text(usd: float) -> str:
    """Dollars with cents, or with four digits where cents would say nothing."""
    return f"${usd:,.2f}" if usd == 0 or usd >= 1 else f"${usd:.4f}"
