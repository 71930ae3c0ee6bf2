"""Long texts and long lists, cut short: the first few, and how many more there are."""

from __future__ import annotations

from collections.abc import Sequence


def shortened(text: str, most: int = 60) -> str:
    """The text with at most so many letters; dots stand for what is cut off.

    >>> shortened("a long cell", 7), shortened("short")
    ('a long…', 'short')
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def listed(names: Sequence[object], most: int = 3, separator: str = ", ", *, apart: bool = False) -> str:
    """The first ``most`` names, and the number of the others; ``apart`` puts the separator before that, too.

    >>> listed(["a", "b", "c", "d"], 2), listed(["a", "b", "c", "d"], 2, "; ", apart=True)
    ('a, b and 2 more', 'a; b; and 2 more')
    """
    more = f"{separator if apart else ' '}and {len(names) - most:,} more" if len(names) > most else ""
    return separator.join(map(str, names[:most])) + more


def first_few(names: Sequence[str], most: int = 3) -> str:
    """The first ``most`` names, and dots where there are others; for where their number is told anyway.

    >>> first_few(["a", "b", "c", "d"])
    'a, b, c, …'
    """
    return ", ".join([*names[:most], "…"] if len(names) > most else names)


def counted(names: Sequence[str], noun: str, most: int = 3) -> str:
    """How many there are, and the first ``most`` of them.

    >>> counted(["s1"], "session"), counted(["s1", "s2", "s3", "s4"], "session")
    ('1 session (s1)', '4 sessions (s1, s2, s3, …)')
    """
    return f"{len(names):,} {noun}{'' if len(names) == 1 else 's'} ({first_few(names, most)})"


def indented(messages: Sequence[object], most: int) -> list[str]:
    """A line for each of the first ``most`` messages, and one with the number of the others."""
    lines = [f"  {message}" for message in messages[:most]]
    return lines + ([f"  (+{len(messages) - most} more)"] if len(messages) > most else [])


def some(title: str, messages: Sequence[str], most: int = 10, where: str = "") -> list[str]:
    """``title: message`` for the first ``most`` messages, and a line with how many more there are and ``where``."""
    more = [f"{title}: {len(messages) - most:,} more{where and f' ({where})'}"] if len(messages) > most else []
    return [f"{title}: {message}" for message in messages[:most]] + more
