"""Numbers as a person reads them."""

from __future__ import annotations

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
