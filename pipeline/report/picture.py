"""One session's turn rewards as a picture of its own: a transcript with a column of bars for every method."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from markupsafe import Markup

from apportion.corpus.session import Episode
from apportion.foundation.html.text import clean, plain, signed
from apportion.foundation.svg import largest
from apportion.pipeline.report.colours import colour_class

MAX_ROWS = 16
"""Target turns that fit into a picture; it says where it leaves out some."""
TEXT_WIDTH, COLUMN, ROW, HEAD = 520, 150, 44, 74
CHARACTERS = 60

_STYLE = """
text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif;font-size:14px;fill:#1c1f24}
.paper{fill:#fff}.soft{fill:#5b626d;font-size:12.5px}.head{font-weight:600}.title{font-size:17px;font-weight:700}
.value{font-size:12px;font-variant-numeric:tabular-nums}.zero,.rule{stroke:#c9ced6}
.m0{fill:#3b63c9}.m1{fill:#c98a00}.m2{fill:#e0563f}.m3{fill:#2a9d8a}.m4{fill:#8a4fd6}
.m5{fill:#d65a92}.m6{fill:#3f8f3d}.m7{fill:#4f9fd9}.m8{fill:#94653f}.m9{fill:#7f858f}
.m10{fill:#0f7d94}.m11{fill:#a8326f}.m12{fill:#6b7a1e}.m13{fill:#5a4a9c}.m14{fill:#b5551d}
.m15{fill:#2f6f4f}.m16{fill:#8c2d2d}.m17{fill:#3d5a73}
@media (prefers-color-scheme:dark){text{fill:#e7eaee}.paper{fill:#14171b}.soft{fill:#a2abb8}.zero,.rule{stroke:#434a55}
.m0{fill:#7c9cf5}.m1{fill:#f0b93a}.m2{fill:#ff8a75}.m3{fill:#6ed3c1}.m4{fill:#bd93f9}
.m5{fill:#ff9cc4}.m6{fill:#7fd07c}.m7{fill:#93cdfb}.m8{fill:#cfa27c}.m9{fill:#b0b7c2}
.m10{fill:#5fc8de}.m11{fill:#f27dbb}.m12{fill:#c3d061}.m13{fill:#a99cf0}.m14{fill:#f09a62}
.m15{fill:#79c9a1}.m16{fill:#e58080}.m17{fill:#9fb8cf}}
"""


def turn_rewards_svg(episode: Episode, rewards: Mapping[str, Mapping[int, float]], title: str = "") -> str:
    """A standalone SVG file: every credited turn with the rater's reply, and each method's reward as a bar.

    ``rewards``: method to turn to reward, in units of the score; columns come in this order and share one scale.
    ``title``: the heading; by default the session and its score. Raises ValueError: no method, or an episode without
    target turns.
    """
    if not rewards or not episode.target_turns:
        raise ValueError(f"session {episode.session_id!r}: a picture needs a method and a target turn")
    positions = episode.target_positions[:MAX_ROWS]
    turns = [episode.turns[position].turn for position in positions]
    scale = largest([[of_turn.get(turn) for turn in turns] for of_turn in rewards.values()])
    left_out = len(episode.target_turns) - len(turns)
    width, height = TEXT_WIDTH + COLUMN * len(rewards) + 20, HEAD + ROW * len(turns) + (44 if left_out else 22)
    rating = episode.rating
    heading = title or (
        f"{episode.session_id}: one score, {rating.name} {plain(rating.score)} ({plain(rating.low)} to "
        f"{plain(rating.high)}), as a reward for every turn of {rating.target}"
    )
    parts = [_head(clean(heading, 110), list(rewards), len(turns))]
    for row, position in enumerate(positions):
        y = HEAD + ROW * row
        parts.append(_said(episode, position, y))
        for column, (method, of_turn) in enumerate(rewards.items()):
            value = of_turn.get(episode.turns[position].turn)
            if value is not None and np.isfinite(value):
                parts.append(_bar(value, scale, TEXT_WIDTH + COLUMN * column, y, colour_class(method)))
    if left_out:
        more = f"and {left_out} more turn{'' if left_out == 1 else 's'} of {clean(episode.rating.target, 40)}"
        parts.append(Markup('<text class="soft" x="20" y="{}">{}</text>').format(HEAD + ROW * len(turns) + 24, more))
    return str(
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img" '
            'aria-label="{label}"><style>{style}</style><rect class="paper" width="{w}" height="{h}" rx="10"/>{body}'
            "</svg>\n"
        ).format(w=width, h=height, label=heading, style=Markup(_STYLE), body=Markup("").join(parts))
    )


def _head(heading: str, methods: list[str], rows: int) -> Markup:
    parts = [Markup('<text class="title" x="20" y="30">{}</text>').format(heading)]
    for column, method in enumerate(methods):
        middle = TEXT_WIDTH + COLUMN * column + COLUMN // 2
        parts.append(
            Markup(
                '<text class="head {}" x="{}" y="58" text-anchor="middle">{}</text><path class="zero" d="M{} {}V{}"/>'
            ).format(colour_class(method), middle, clean(method, 20), middle, HEAD - 8, HEAD + ROW * rows)
        )
    return Markup("").join(parts)


def _said(episode: Episode, position: int, y: int) -> Markup:
    """The target's words, and below them the reply they got."""
    reply = episode.reply_text(position)
    lines = Markup('<path class="rule" d="M20 {}H{}" opacity=".4"/><text x="20" y="{}">{}</text>').format(
        y - 4, TEXT_WIDTH - 20, y + 15, clean(episode.turns[position].text, CHARACTERS)
    )
    if not reply:
        return lines
    return lines + Markup('<text class="soft" x="34" y="{}">↳ {}</text>').format(y + 32, clean(reply, CHARACTERS))


def _bar(value: float, scale: float, x: int, y: int, colour: str) -> Markup:
    middle, reach = x + COLUMN / 2, value / scale * (COLUMN / 2 - 30)
    beside = middle + reach + (5 if value >= 0 else -5)
    return Markup(
        '<rect class="{}" x="{}" y="{}" width="{}" height="16" rx="2"/><text class="value" x="{}" y="{}" '
        'text-anchor="{}">{}</text>'
    ).format(
        colour,
        f"{middle + min(reach, 0.0):.1f}",
        y + 8,
        f"{abs(reach):.1f}",
        f"{beside:.1f}",
        y + 20,
        "start" if value >= 0 else "end",
        signed(value),
    )
