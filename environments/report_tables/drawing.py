"""Parts of a picture as standalone SVG: words, and the whole with its title."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from apportion.environments.report_tables.table import SIMULATED
from apportion.environments.terminal.sanitize import printable

_STYLE = """
text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif;font-size:13px;fill:#1c1f24}
.paper{fill:#fff}.soft{fill:#5b626d;font-size:11.5px}.title{font-size:15px;font-weight:700}.rule{stroke:#c9ced6}
.bar{fill:#3b63c9}.light{fill:#fff}.dark{fill:#1c1f24}.none{fill:none;stroke:#c9ced6}
.range{stroke:#8fa6e6;stroke-width:9;stroke-linecap:round}.dot{fill:#e0563f}
"""
NAME = 16
"""Letters of an agent's name that a picture shows."""


def short(name: str) -> str:
    """A name that a picture has room for."""
    name = printable(name)
    return name if len(name) <= NAME else f"{name[: NAME - 1]}…"


def text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> Markup:
    """Words at a place; ``kind`` is a class of the style."""
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(
        kind, f"{x:.1f}", f"{y:.1f}", anchor, printable(words)
    )


def picture(title: str, width: float, height: float, parts: Sequence[Markup]) -> str:
    """A standalone picture of these parts, with its title, marked as simulated."""
    title = printable(title)
    # A title that is longer than the picture is wide widens it.
    width = int(max(width, 40 + 9.5 * len(title), 420))
    head = [text(20, 22, title, "title"), text(20, height - 4, f"({SIMULATED})", "soft")]
    return str(
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img" '
            'aria-label="{label}"><style>{style}</style><rect class="paper" width="{w}" height="{h}"/>{body}</svg>\n'
        ).format(w=width, h=int(height) + 6, label=title, style=Markup(_STYLE), body=Markup("").join([*head, *parts]))
    )
