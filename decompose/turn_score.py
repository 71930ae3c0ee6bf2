"""What a method says of one turn, before it is turned into a share of the score."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TurnScore:
    """One target turn's value in the method's own units.

    ``value`` is None where the method has nothing to say of the turn; ``sd`` is the spread over repeated samples in
    the same units, None for a single one; ``rationale`` is what the value rests on, in words; ``samples`` are the
    values that ``value`` is the mean of (K, None where a sample said nothing), empty for a single one.

    >>> TurnScore(3, -2.0, rationale="It answers another question.").value
    -2.0
    """

    turn: int
    value: float | None
    rationale: str | None = None
    sd: float | None = None
    samples: tuple[float | None, ...] = ()
