"""Numbers as a person reads them."""

from __future__ import annotations

NO_FIGURE = "–"
"""Stands where a figure would, and there is none."""
LEAST_P = 0.001
"""A p below this is only said to be below it."""
NOISE = 1e-9
"""Below this a figure in units of a score is what floating-point sums leave behind, and nothing that was measured."""


def fixed(value: float, decimals: int, *, sign: bool = False, thousands: bool = False) -> str:
    """``value`` with so many decimals; what rounds to zero has no sign.

    ``sign`` puts a plus before what is above zero, ``thousands`` commas between them.

    >>> fixed(-0.0004, 3), fixed(-0.0006, 3), fixed(2.5, 1, sign=True), fixed(1e-17, 3, sign=True)
    ('0.000', '-0.001', '+2.5', '0.000')
    """
    rounded = round(value, decimals)
    mark = "+" if sign and rounded > 0 else ""
    # + 0.0 turns -0.0 into 0.0
    return f"{mark}{rounded + 0.0:{',' if thousands else ''}.{decimals}f}"


def p_value(p: float, *, named: bool = False) -> str:
    """A p as a person reads it; ``named`` where no heading says what it is.

    >>> p_value(0.0004), p_value(0.0312), p_value(0.0004, named=True), p_value(0.0312, named=True)
    ('< 0.001', '0.031', 'p<0.001', 'p=0.031')
    """
    if p < LEAST_P:
        return f"p<{LEAST_P:g}" if named else f"< {LEAST_P:g}"
    return f"{'p=' if named else ''}{fixed(p, 3)}"
