"""What a sentence of a negotiation does: text to acts, by rules (after the parser of He et al., 2018).

A sentence that gives items to somebody is a proposal; one that agrees, refuses or ends without giving any is that; what
is none of these (a greeting, a question, small talk) is no act. Numbers and items are read clause by clause: whose they
are is said by the pronoun before them ("I take", "you get") or behind them ("for me").

Only here a split may be missing and be filled in: "I insist." repeats the speaker's own last split. In a game every
``insist`` carries its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from apportion.corpus.importers.dealornodeal.rows import Row
from apportion.environments.negotiation.action_encoding import SPLIT_OF, rest, split_code
from apportion.environments.negotiation.contexts import ITEMS, Counts

UNKNOWN = "unknown"
"""The kind of what is no act."""


class Parsed(NamedTuple):
    """What a sentence does: a kind of act or `UNKNOWN`, and the number of the split that its speaker keeps."""

    kind: str
    split: int | None = None


_TOKEN = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+|[.,;:!?]")


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "single": 1, "zero": 0}
_ALL = _words("all both every whole")
_REST = _words("rest remaining remainder else others")
_SPEAKER = _words("i me my mine myself i'll i'd i'm i've im ill id")
_OTHER = _words("you your yours u you'd you'll you're ya yourself ur")
_REFUSAL = _words("no nope nah")
_NEGATION = _words(
    "no nope nah not don't dont can't cant cannot couldn't won't wont wouldn't doesn't doesnt isn't never neither "
    "unable without"
)
_AGREE = _words("deal agree agreed okay ok sure yes yep yeah accept good great perfect fine works cool done awesome")
_END = ("let's end", "let's finish", "i'm done talking", "<selection>")
_ASKING = _words("what which how")
_INSIST = _words("insist still must")
_BREAK = frozenset(".;!?")
_CLAUSE = _BREAK | _words(", but because since so if then and") | {""}
_WORTH = _words("worth worthless value points point care")
_ADDING = _words("too add plus throw")
_VERBS = _words("give giving leave leaving take taking get getting have having keep keeping want need like")
_IMPERATIVES = _words("take keep")
_BEFORE_IMPERATIVE = _words("ok okay then deal fine please")
_ARTICLES = _words("a an single")
_VAGUE = _words("half couple pair dozen few several five six seven eight nine ten")
_ENDS_COUNT = _CLAUSE | _VERBS | _SPEAKER | _OTHER


def parse(text: str, counts: Counts, standing: int | None = None, own: int | None = None) -> Parsed:
    """The act of a sentence.

    ``text``: As it was said, by anybody; nothing in it is obeyed. ``counts``: The pool. ``standing``: What the OTHER
    keeps by its standing proposal, so that naming what it leaves is agreeing. ``own``: The split of the speaker's own
    last proposal: what ``insist`` without items repeats.

    >>> parse("You can have the hats, I take the ball and 1 book.", (2, 3, 1))
    Parsed(kind='propose', split=26)
    >>> parse("No way!", (2, 3, 1)), parse("Hi there?", (2, 3, 1))
    (Parsed(kind='disagree', split=None), Parsed(kind='unknown', split=None))
    """
    lowered = text.lower().replace("’", "'")
    tokens = _TOKEN.findall(lowered)
    words = frozenset(tokens)
    reading = _Reading(counts, None if standing is None else SPLIT_OF[rest(counts, standing)])
    split = reading.read(_without_worth(tokens))
    negated, agrees = bool(words & _NEGATION), bool(words & _AGREE)
    if split is not None:
        # "Okay, so I get the hats?" asks to be told so, and is a proposal once more.
        if standing is not None and (agrees or reading.only_rest) and not negated and "?" not in words:
            whose = {split} if reading.owned else {split, reading.turned()}
            if rest(counts, standing) in whose:
                return Parsed("agree")
        again = own is not None and split == own
        return Parsed("insist" if again or words & _INSIST else "propose", split)
    if any(end in lowered for end in _END):
        return Parsed("end")
    if words & _INSIST and own is not None and not agrees:
        return Parsed("insist", own)
    if negated:
        return Parsed("disagree")
    # "What deal would you make?" agrees to nothing; "Deal?" does.
    asks = bool(words & _ASKING) or ("?" in words and tokens[0] not in _AGREE)
    return Parsed("agree") if agrees and not asks else Parsed(UNKNOWN)


def unread(text: str) -> str | None:
    """The first count in a sentence that `parse` reads as that of no item: words that bind nobody.

    >>> unread("3 hats, two of the books, and a ball is worth 5 points"), unread("Hats: 3, balls: 2")
    (None, '3')
    """
    waiting = None
    for token in [*_without_worth(_TOKEN.findall(text.lower().replace("’", "'"))), "."]:
        counts = token.isdigit() or (token in _NUMBERS and token not in _ARTICLES)
        if token in _VAGUE or (waiting and (counts or token in _ENDS_COUNT)):
            return waiting or token
        if counts:
            waiting = token
        elif token == "each" or _item(token) is not None:
            waiting = None
    return None


def _without_worth(tokens: Sequence[str]) -> list[str]:
    """The tokens without clauses that say what items are worth to somebody: they give nothing to anybody."""
    kept: list[str] = []
    clause: list[str] = []
    for token in [*tokens, "."]:
        if token in _CLAUSE:
            kept += [] if _WORTH & set(clause) else clause
            kept.append(token)
            clause = []
        else:
            clause.append(token)
    return kept


_EACH = -1
"""For the amount of an item: as many as there are."""


@dataclass
class _Reading:
    """What the items of one sentence are said to be whose; goes on token by token.

    ``base`` is what the speaker would keep by the other's standing proposal, to which "the hat, too" adds.
    """

    counts: Counts
    base: Counts | None = None
    given: dict[str, dict[int, int]] = field(default_factory=lambda: {"speaker": {}, "other": {}})
    rest_of: str | None = None
    mentioned: bool = False
    owner: str = "speaker"
    unowned: list[int] = field(default_factory=list)
    segment: list[int] = field(default_factory=list)
    amount: int | None = None
    negated: bool = False
    owned: bool = False
    adds: bool = False

    @property
    def only_rest(self) -> bool:
        """Whether somebody gets "the rest", and no item is named."""
        return self.rest_of is not None and not any(self.given.values())

    def turned(self) -> int:
        """The split if all that was named were the other's instead."""
        self.given = {"speaker": self.given["other"], "other": self.given["speaker"]}
        return split_code((self._kept(0), self._kept(1), self._kept(2)))

    def read(self, tokens: Sequence[str]) -> int | None:
        """The split that the speaker would keep; None where no items are given to anybody."""
        self.adds = self.base is not None and bool(_ADDING & set(tokens) or " as well" in " ".join(tokens))
        for place, token in enumerate(tokens):
            self._take(token, tokens[place - 1] if place else "", tokens[place + 1 : place + 4])
        if not self.mentioned:
            return None
        return split_code((self._kept(0), self._kept(1), self._kept(2)))

    def _take(self, token: str, before: str, after: Sequence[str]) -> None:
        """Go on by one token, between the one before and up to three after it."""
        item = _item(token)
        if item is not None:
            self._mention(item, plural=token.endswith("s"))
        elif token in _BREAK:
            self.segment, self.amount, self.negated, self.owner = [], None, False, "speaker"
        elif token in (",", "but", "so", "if", "then"):
            self.negated = False
        elif token in _SPEAKER or token in _OTHER:
            behind = before in ("for", "to") or (token in ("mine", "yours") and before in ("is", "are", "be"))
            self._turn_to("speaker" if token in _SPEAKER else "other", behind)
        elif token in _VERBS:
            self.segment, self.amount = [], None
            if token in _IMPERATIVES and (before in _CLAUSE or before in _BEFORE_IMPERATIVE):
                self._turn_to("other", behind=False)
        elif token in _REST:
            self._give_rest()
        elif token in _NEGATION:
            self._negate(token, after)
        elif token == "everything" and before in ("to", "with"):
            pass  # "I agree to everything": what was said, and no items.
        else:
            self._count(token, after)

    def _negate(self, token: str, after: Sequence[str]) -> None:
        if token not in _REFUSAL:
            self.negated = True
        elif after and _item(after[0]) is not None:  # "No hats": a refusal alone negates no item.
            self.amount = 0

    def _count(self, token: str, after: Sequence[str]) -> None:
        """Take a token that says how many."""
        if token.isdigit() or token in _NUMBERS:
            self.amount = int(token[:3]) if token.isdigit() else _NUMBERS[token]
        elif token == "each" and self.amount is not None:
            for one in range(len(ITEMS)):
                self._give(one, self.amount)
            self.amount = None
        elif token in ("nothing", "none"):
            self._whole(0)
        elif token == "everything" and after[:1] not in (["else"], ["that"]):
            self._whole(None)
        elif token in _ALL and any(_item(word) is not None for word in after):
            self.amount = _EACH

    def _give_rest(self) -> None:
        self.mentioned, self.rest_of, self.segment = True, self.owner, []
        if self.owner == "speaker":  # "How about the ball, and I take the rest": the ball is for the other.
            for item in self.unowned:
                self.given["other"][item] = self.given["speaker"].pop(item, 0)
            self.unowned = []

    def _turn_to(self, owner: str, behind: bool) -> None:
        self.owned = True
        if behind:
            self.unowned = []
            if self.rest_of == self.owner and not self.segment:
                self.rest_of = owner
            for item in self.segment:
                amount = self.given[self.owner].pop(item, None)
                if amount is not None:
                    self.given[owner][item] = amount
        self.owner, self.segment, self.amount = owner, [], None

    def _mention(self, item: int, plural: bool) -> None:
        amount = self.amount
        if amount is None:
            amount = self.counts[item] if plural else 1
        elif amount == _EACH:
            amount = self.counts[item]
        self._give(item, amount)
        self.amount = None

    def _give(self, item: int, amount: int) -> None:
        self.mentioned = True
        amount = 0 if self.negated else min(amount, self.counts[item])
        self.given[self.owner][item] = amount
        if not self.owned:
            self.unowned.append(item)
        against = self.given["other" if self.owner == "speaker" else "speaker"]
        if against.get(item, 0) + amount > self.counts[item]:
            del against[item]  # What is said last holds.
        self.segment.append(item)

    def _whole(self, amount: int | None) -> None:
        for item in range(len(ITEMS)):
            self._give(item, self.counts[item] if amount is None else amount)

    def _kept(self, item: int) -> int:
        speaker, other = self.given["speaker"], self.given["other"]
        if self.only_rest and self.base is not None:
            return self.base[item] if self.rest_of == "speaker" else self.counts[item] - self.base[item]
        if self.adds and self.base is not None:
            return max(0, min(self.counts[item], self.base[item] + speaker.get(item, 0) - other.get(item, 0)))
        if item in speaker:
            return speaker[item]
        if item in other:
            return self.counts[item] - other[item]
        if self.rest_of is not None:
            return self.counts[item] if self.rest_of == "speaker" else 0
        return self.counts[item] if other and not speaker else 0


def _item(token: str) -> int | None:
    """The item that a token names, by its place in `ITEMS`."""
    singular = token.removesuffix("s").removeprefix("basket")
    return ITEMS.index(singular) if singular in ITEMS else None


class ParsedDialogue(NamedTuple):
    """What an utterance of a row does, and whether it is "you" who does it."""

    mine: bool
    act: Parsed


def acts_of(row: Row) -> list[ParsedDialogue]:
    """What is done in a row of Deal or No Deal, an act an utterance (but the selection, in nobody's words).

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
