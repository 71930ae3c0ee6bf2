"""Text that any file can hold."""

from __future__ import annotations

import re

IN_TABLES = "?"
"""What half a surrogate pair is in the tables of a corpus."""
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")


def whole_text(text: str, instead: str = "\ufffd") -> str:
    r"""``text`` with ``instead`` for each half of a surrogate pair: JSON can spell one, and no UTF-8 file can hold it.

    >>> whole_text("lamp \ud83d!", IN_TABLES)
    'lamp ?!'
    """
    return _HALF_A_PAIR.sub(instead, text)
