"""Negotiations of people as acts: the rows of Deal or No Deal, read sentence by sentence."""

from __future__ import annotations

from typing import NamedTuple

from apportion.corpus.importers.dealornodeal.rows import Row
from apportion.environments.negotiation.act_parser import Parsed, parse


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
