"""Items: a dialogue's context and responses to it, without the names of who answered."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, TypeVar

import pyarrow as pa

from apportion.foundation.errors import InputError
from apportion.foundation.truncate import counted
from apportion.rlhf.compare.blind import LETTERS
from apportion.rlhf.compare.responses import messages_of
from apportion.rlhf.policy.contexts import KNOWN, ContextTurn
from apportion.study.design.criteria import CriterionSet
from apportion.study.design.unblinding_key import KeyRow

_T = TypeVar("_T")
AGENT = "assistant"
"""The role of the agent in a context's messages."""


@dataclass(frozen=True)
class Response:
    """What some policy answered; ``id`` tells nothing of which one."""

    id: str
    text: str


@dataclass(frozen=True)
class Item:
    """One context and the responses to it.

    ``session_id`` and ``turn`` say where it stands in its corpus, for reports and not for pages. ``turns`` has for each
    message of the context the number of the corpus' turn that it is, where that is known (none for what was known
    before the first turn).
    """

    item: str
    session_id: str
    turn: int
    context: str
    responses: tuple[Response, ...]
    turns: tuple[int | None, ...] | None = None
    _by_id: Mapping[str, Response] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_id", {response.id: response for response in self.responses})

    @property
    def messages(self) -> tuple[ContextTurn, ...]:
        """The context's messages; the ``role`` of one is ``user``, ``assistant`` or ``known``."""
        return messages_of(self.context)

    @property
    def positions(self) -> tuple[int, ...]:
        """Where among `messages` the agent speaks: what a criterion of the kind ``turns`` is asked of."""
        return tuple(place for place, message in enumerate(self.messages) if message.role == AGENT)

    @property
    def alike(self) -> tuple[tuple[str, ...], ...]:
        """The ids of responses that have the same words as another one: a group for each such words."""
        groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for response in self.responses:
            groups[tuple(response.text.split())].append(response.id)
        return tuple(tuple(group) for group in groups.values() if len(group) > 1)

    @property
    def same(self) -> bool:
        """Whether all responses have the same words, so that there is nothing to choose between."""
        return any(len(group) == len(self.responses) for group in self.alike)

    def response(self, name: str) -> Response | None:
        """The response of an id; None where it is none of this item."""
        return self._by_id.get(name)

    def to_json(self) -> dict[str, Any]:
        """A line of ``items.jsonl``."""
        return {
            "item": self.item,
            "session_id": self.session_id,
            "turn": self.turn,
            "context": self.context,
            "responses": [{"id": response.id, "text": response.text} for response in self.responses],
            **({} if self.turns is None else {"turns": list(self.turns)}),
        }

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Item:
        """The item of a line.

        Raises
        ------
        KeyError, TypeError, ValueError
            Something is missing or of another type; a response is there twice.
        InputError
            The context is none.
        """
        responses = tuple(Response(_text(row["id"]), _text(row["text"])) for row in line["responses"])
        turns = line.get("turns")
        item = cls(
            _text(line["item"]),
            _text(line["session_id"]),
            _whole(line["turn"]),
            _text(line["context"]),
            responses,
            None if turns is None else tuple(None if turn is None else _whole(turn) for turn in turns),
        )
        if len(item._by_id) < len(responses):
            raise ValueError("a response is there twice")
        messages = item.messages
        if turns is not None and len(turns) != len(messages):
            raise ValueError(f"turns has {len(turns)} numbers, and the context {len(messages)} messages")
        return item


@dataclass(frozen=True)
class MadeItems:
    """Items, the key to them in the same order, and what a person should know of them, a sentence each."""

    items: tuple[Item, ...]
    key: tuple[KeyRow, ...]
    notes: tuple[str, ...] = ()


def response_id(seed: int, item: str, policy: str) -> str:
    """A response's opaque id: of ``r`` and 16 hexadecimal digits of sha256.

    >>> response_id(7, "i0001", "llama")
    'rfa5751fdd6e4ef2c'
    """
    return "r" + hashlib.sha256(f"{seed}\0{item}\0{policy}".encode()).hexdigest()[:16]


def items_of(
    table: pa.Table, criteria: CriterionSet, seed: int, base: str | None = None, most: int | None = None
) -> MadeItems:
    """The items that a table of responses (schema RESPONSES) becomes.

    One item a context; where two responses are compared, one a context and pair of policies (with ``base``, one of
    each pair is that policy); where an agent is judged by a dialogue, one a response. Where turns alone are rated there
    are no responses, and of each session the last context. A context with fewer responses than the criteria need is
    left out, and that is told. Items stand, and are numbered, in an order that is drawn.

    Parameters
    ----------
    table : pa.Table
        Responses; ``seed`` in it tells several answers of one policy to a context apart.
    criteria : CriterionSet
        What will be asked.
    seed : int
        Of the study; ids of responses, and which contexts are taken, are drawn by it.
    base : str, optional
        The policy that others are compared to.
    most : int, optional
        How many contexts are taken at most; all by default.

    Raises
    ------
    InputError
        No responses; no policy ``base``, or nothing to compare with it; two contexts for one turn; a context that
        cannot be read; more responses than letters; no context with responses enough.
    """
    policies = list(dict.fromkeys(table["policy"].to_pylist()))
    if not policies:
        raise InputError("no responses: the table has no row. Write it again with `apportion policy generate`.")
    if base is not None and criteria.asks_turns_alone:
        raise InputError(f"base {base!r}: turns alone are rated, and no policy's responses. Leave the base out.")
    if base is not None and base not in policies:
        raise InputError(f"base {base!r}: no such policy; the responses are those of {', '.join(policies)}.")
    kept, notes = _askable(_places(table), criteria)
    if not kept:
        raise InputError(
            f"no context can be asked about ({'; '.join(notes)}); the responses are those of {', '.join(policies)}. "
            "Let several policies answer the same contexts, in one run."
        )
    chosen = sorted({place[0]: place for place in sorted(kept)}.values() if criteria.asks_turns_alone else kept)
    if most is not None and most < len(chosen):
        ranked = sorted(chosen, key=lambda place: hashlib.sha256(f"{seed}\0{place}".encode()).digest())
        chosen = sorted(ranked[:most])
    asked = [(place, group) for place in chosen for group in _groups(kept[place].texts, criteria, base)]
    items: list[Item] = []
    key: list[KeyRow] = []
    for place, group in drawn_order(asked, seed, lambda one: (one[0], sorted(one[1]))):
        item, rows = _item(f"i{len(items) + 1:04d}", place, kept[place].context, group, seed)
        items.append(item)
        key += rows
    if base is not None and base not in {row.policy for row in key}:
        raise InputError(f"no context was answered by {base!r} and another policy, so nothing can be compared to it.")
    return MadeItems(tuple(items), tuple(key), (*notes, *_alike(items), *names_in(items, policies)))


def _alike(items: Sequence[Item]) -> Iterator[str]:
    """What is told of responses that have the same words."""
    same = [item.item for item in items if item.same]
    if same:
        yield f"identical responses in {counted(same, 'item')}: they can be told apart by nothing, a tie is fair"
    some = [item.item for item in items if item.alike and not item.same]
    if some:
        yield (
            f"two or more of the responses are identical in {counted(some, 'item')}: annotators are told which, and "
            "whoever marks one may mark the other"
        )


def drawn_order(what: Iterable[_T], seed: int, named: Callable[[_T], object]) -> list[_T]:
    """What becomes items, in an order drawn by the seed; ``named`` tells one from the others.

    Items are numbered in this order, and pages, batches and files for other programs have their numbers: in the order
    of a table, each number would tell which policies an item is of.
    """
    return sorted(what, key=lambda one: hashlib.sha256(f"{seed}\0order\0{named(one)}".encode()).digest())


_Place = tuple[str, int, int]


@dataclass
class _Context:
    context: str
    texts: dict[str, str]


def _places(table: pa.Table) -> dict[_Place, _Context]:
    places: dict[_Place, _Context] = {}
    for row in table.to_pylist():
        place = (row["session_id"], row["turn"], row["seed"])
        found = places.setdefault(place, _Context(row["context"], {}))
        if found.context != row["context"]:
            raise InputError(
                f"session {place[0]!r}, turn {place[1]}: the policies were given different contexts, so their "
                "responses cannot be compared. Generate them in one run."
            )
        found.texts[row["policy"]] = row["response"]
    for place, found in places.items():
        try:
            messages = messages_of(found.context)
        except InputError as error:
            raise InputError(f"session {place[0]!r}, turn {place[1]}: {error}") from None
        if all(message.role == KNOWN for message in messages):
            raise InputError(f"session {place[0]!r}, turn {place[1]}: nobody says anything in the context.")
        if len(found.texts) > len(LETTERS):
            raise InputError(
                f"session {place[0]!r}, turn {place[1]}: {len(found.texts)} responses; {len(LETTERS)} have a letter. "
                "Leave policies out."
            )
    return places


def _askable(places: Mapping[_Place, _Context], criteria: CriterionSet) -> tuple[dict[_Place, _Context], list[str]]:
    """The contexts that all criteria can be asked of, and what is told of those that are left out."""
    least, kept = criteria.least_responses, {}
    few, silent = [], []
    for place, found in sorted(places.items()):
        named = f"{place[0]} turn {place[1]}"
        if len(found.texts) < least:
            few.append(named)
        elif criteria.asks_turns and all(message.role != AGENT for message in messages_of(found.context)):
            silent.append(named)
        else:
            kept[place] = found
    notes = [f"left out, with fewer than {least} responses: {counted(few, 'context')}"] if few else []
    return kept, notes + ([f"left out, without a turn of the agent: {counted(silent, 'context')}"] if silent else [])


def _groups(texts: Mapping[str, str], criteria: CriterionSet, base: str | None) -> list[Mapping[str, str]]:
    """The responses of each item that a context becomes, by policy."""
    if criteria.asks_turns_alone:
        return [{}]
    if criteria.asks_pairs:
        pairs = combinations(texts, 2)
        return [{name: texts[name] for name in pair} for pair in pairs if base is None or base in pair]
    if any(criterion.about == "dialogue" for criterion in criteria.criteria):
        return [{name: text} for name, text in texts.items()]
    return [texts]


def _item(name: str, place: _Place, context: str, texts: Mapping[str, str], seed: int) -> tuple[Item, Sequence[KeyRow]]:
    session, turn, sampled = place
    ids = {policy: response_id(seed, name, policy) for policy in texts}
    # In the order of the ids, so that the file's order tells nothing of the policies either.
    responses = sorted((Response(ids[policy], text) for policy, text in texts.items()), key=lambda one: one.id)
    rows = [KeyRow(name, ids[policy], policy, sampled) for policy in sorted(texts, key=lambda policy: ids[policy])]
    return Item(name, session, turn, context, tuple(responses)), rows


def names_in(items: Sequence[Item], policies: Sequence[str]) -> list[str]:
    """What is told where a policy's name stands in what annotators read; it may be a word like any other."""
    found: dict[str, list[str]] = defaultdict(list)
    for item in items:
        text = "\n".join([item.context, *(response.text for response in item.responses)]).casefold()
        for policy in policies:
            if policy.casefold() in text:
                found[policy].append(item.item)
    return [
        f"the words {policy!r}, which name a policy, stand in {counted(names, 'item')}: annotators read them there"
        for policy, names in found.items()
    ]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is no text")
    return value


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r:.60} is no whole number")
    return value
