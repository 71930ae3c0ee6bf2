"""Marks in SOTOPIA's published texts: who may read a part, and what is a hint.

``<p viewer="environment">…</p>`` is shown to nobody who plays, ``<p viewer="agent_0">…</p>`` to the first seat alone;
``extra_info``, ``clarification_hint`` and ``strategy_hint`` mark hints that their reader sees, without the marks. The
released code renders its texts so (sotopia 0.1.4, ``renderers/xml_renderer.py``).
"""

from __future__ import annotations

import re

EVERYBODY = ""
"""A viewer that is none of them: reads what is shown to all."""
_MARK = re.compile(
    r"<(?P<end>/?)(?P<name>p|root|extra_info|clarification_hint|strategy_hint)(?P<attributes>\s[^<>]*)?>"
)
_VIEWER = re.compile(r"""\bviewer\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_HINTS = ("extra_info", "clarification_hint", "strategy_hint")


def seat_viewer(seat: int) -> str:
    """What the marks call the agent of a seat.

    >>> seat_viewer(0)
    'agent_0'
    """
    return f"agent_{seat}"


def shown_to(text: str, viewer: str = EVERYBODY) -> str:
    """The part of a text that ``viewer`` may read, without marks; a part that never ends stays hidden to the end.

    >>> text = 'Two meet. <p viewer="environment">Both know Al.</p><p viewer="agent_1">You are late.</p>'
    >>> shown_to(text), shown_to(text, "agent_1")
    ('Two meet. ', 'Two meet. You are late.')
    """
    kept: list[str] = []
    open_parts: list[tuple[str, bool]] = []
    at = 0
    for mark in _MARK.finditer(text):
        name, viewers = mark["name"], _VIEWER.search(mark["attributes"] or "")
        if mark["end"]:
            known = name in _HINTS or any(name == other for other, _ in open_parts)
        else:
            known = name in _HINTS or viewers is not None
        if not known:
            continue
        if all(shown for _, shown in open_parts):
            kept.append(text[at : mark.start()])
        at = mark.end()
        if not mark["end"]:
            open_parts.append((name, viewers is None or viewer in viewers.groups()))
        else:
            _end(name, open_parts)
    if all(shown for _, shown in open_parts):
        kept.append(text[at:])
    return "".join(kept)


def _end(name: str, open_parts: list[tuple[str, bool]]) -> None:
    """End the innermost part of a name; but a hidden part ends by its own mark alone, whatever ends around it."""
    for depth in range(len(open_parts) - 1, -1, -1):
        other, shown = open_parts[depth]
        if other == name:
            del open_parts[depth:]
            return
        if not shown:
            return
