"""How figures of a criterion are told: shares in percent, preferences against an even half, ratings as they are."""

from __future__ import annotations

from dataclasses import dataclass

from apportion.foundation.tables.numbers import NO_FIGURE, fixed, p_value
from apportion.study.design.criteria import Kind


@dataclass(frozen=True)
class Unit:
    """A kind of figure: what it is called, by how much it is multiplied, its decimals.

    ``difference_factor`` and ``even`` turn a difference to the base into what is told: a difference, or of pairs the
    share won against the base, of which a half is even.
    """

    title: str
    column: str
    factor: float
    decimals: int
    difference: str
    difference_factor: float
    even: float = 0.0

    def value(self, value: float | None) -> str:
        """A figure alone."""
        return NO_FIGURE if value is None else fixed(self.factor * value, self.decimals)

    def interval(self, value: float | None, low: float | None, high: float | None) -> str:
        """A figure with its interval."""
        ends = "" if low is None or high is None else f" [{self.value(low)}, {self.value(high)}]"
        return self.value(value) + ends

    def splits(self, mean: float, sd: float) -> str:
        """A mean and its deviation over splits, two decimals as the paper has them."""
        return f"{fixed(self.factor * mean, 2)} ± {fixed(self.factor * sd, 2)}"

    def told(self, difference: float) -> float:
        """A difference to the base as a number that is shown."""
        return self.even + self.difference_factor * difference

    def difference_text(self, value: float, low: float | None, high: float | None) -> str:
        """A difference to the base with its interval."""
        texts = [
            fixed(self.told(end), self.decimals, sign=not self.even) for end in (value, low, high) if end is not None
        ]
        return texts[0] + (f" [{texts[1]}, {texts[2]}]" if len(texts) == 3 else "")


_SHARE = Unit("Marked", "% of answers", 100.0, 1, "difference, points", 100.0)
_RATING = Unit("Rated", "mean", 1.0, 2, "difference", 1.0)
UNITS: dict[Kind, Unit] = {
    "select": _SHARE,
    "pair": Unit("Preferred", "% of answers, ties half", 100.0, 1, "won against the base, %", 50.0, 50.0),
    "rating": _RATING,
    "turns": Unit("Turns rated", "mean a turn", 1.0, 2, "difference", 1.0),
}
"""By kind of criterion."""


def p_text(p: float | None) -> str:
    """A p as it stands in tables."""
    return NO_FIGURE if p is None else p_value(p)


def stars(p: float | None) -> str:
    """The marks of LLM-GELI's tables, of p-values that are corrected: ``*`` below 0.05, ``**`` below 0.01.

    >>> stars(0.03), stars(0.004), stars(0.2), stars(None)
    ('*', '**', '', '')
    """
    if p is None or p >= 0.05:
        return ""
    return "**" if p < 0.01 else "*"
