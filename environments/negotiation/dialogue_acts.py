"""Negotiations of people as acts: the rows of Deal or No Deal, read sentence by sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from apportion.corpus.importers.dealornodeal.rows import Row
from apportion.environments.negotiation.act_parser import Parsed, parse
from apportion.environments.negotiation.action_encoding import rest, split_code

SELECTION = "selection"
"""What ends the talk in a row, beside the kinds of acts: both select."""


class ParsedDialogue(NamedTuple):
    """What an utterance of a row does, and whether it is "you" who does it."""

    mine: bool
    act: Parsed


def acts_of(row: Row) -> list[ParsedDialogue]:
    """What is done in a row, an act an utterance; the selection, which is nobody's words, is none of them.

    What the other's last proposal leaves is known to the parser, and what the speaker has proposed last, so that an
    ``insist`` without items has those.
    """
    heard: list[ParsedDialogue] = []
    own: dict[bool, int] = {}
    standing: ParsedDialogue | None = None
    for mine, text in row.said:
        others = standing.act.split if standing is not None and standing.mine != mine else None
        heard.append(ParsedDialogue(mine, parse(text, row.counts, others, own.get(mine))))
        split = heard[-1].act.split
        if split is not None:
            own[mine], standing = split, heard[-1]
    return heard


def proposed_to_you(row: Row) -> int | None:
    """What "you" would have by the last proposal of a row, as the number of a split; None where nothing is proposed."""
    proposals = [heard for heard in acts_of(row) if heard.act.split is not None]
    if not proposals or proposals[-1].act.split is None:
        return None
    split = proposals[-1].act.split
    return split if proposals[-1].mine else rest(row.counts, split)


def shares(rows: Sequence[Row]) -> dict[str, float]:
    """By kind of act, its share of all that is done in rows; every row's `SELECTION` counts as one."""
    counts = Counter(heard.act.kind for row in rows for heard in acts_of(row))
    counts[SELECTION] = len(rows)
    return {kind: many / counts.total() for kind, many in counts.most_common()}


def as_selected(rows: Sequence[Row]) -> tuple[int, int]:
    """In how many rows with a deal the last proposal is what was selected, and how many such rows there are."""
    agreed = [(row, split_code(row.selected)) for row in rows if row.end == "agreed" and row.selected is not None]
    return sum(proposed_to_you(row) == selected for row, selected in agreed), len(agreed)
