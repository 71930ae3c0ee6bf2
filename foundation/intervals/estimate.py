"""A figure with its interval, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

from apportion.foundation.tables.numbers import fixed


@dataclass(frozen=True)
class IntervalEstimate:
    """A figure and the ends of its interval; what it rests on is said by the classes that extend this one.

    ``low`` and ``high`` are None where too few of what was drawn again vary to give an interval.

    >>> IntervalEstimate(-0.4, -0.71, 0.0).text(2), IntervalEstimate(0.4, None, None).text(1, sign=True)
    ('-0.40 [-0.71, 0.00]', '+0.4')
    """

    value: float
    low: float | None
    high: float | None

    @property
    def above_zero(self) -> bool:
        """Whether the whole interval lies above zero."""
        return self.low is not None and self.low > 0.0

    def text(self, decimals: int, *, sign: bool = False) -> str:
        """Value and interval as a person reads them; the value alone where there is no interval."""
        return f"{fixed(self.value, decimals, sign=sign)}{self.ends(decimals, sign=sign)}"

    def ends(self, decimals: int, *, sign: bool = False) -> str:
        """The interval in brackets, after a space; nothing where there is none."""
        if self.low is None or self.high is None:
            return ""
        return f" [{fixed(self.low, decimals, sign=sign)}, {fixed(self.high, decimals, sign=sign)}]"

    def negated(self) -> Self:
        """The same difference, seen from the other side."""
        low, high = (None if end is None else -end for end in (self.high, self.low))
        return replace(self, value=-self.value, low=low, high=high)


@dataclass(frozen=True)
class Missing:
    """A figure that cannot be given, and why; ``fill``: the command that gives it, empty where there is none."""

    reason: str
    fill: str = field(default="", compare=False)
