"""Which key of a chat, or column of a table, holds what: as an option says, as ours are called, or as it seems."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apportion.corpus.files.jsontext import shown
from apportion.corpus.importers.chats.scales import Scale, is_blank, is_score
from apportion.corpus.importers.reading.asking import choose
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.truncate import listed, shortened

NONE = "none"
"""The value of an option which says that no key holds it."""
MOST_KEYS = 12
QUESTION = "which key holds the score that the user gave?"
SCORE_WORDS = {
    *("score", "scores", "rating", "ratings", "rate", "csat", "ces", "nps", "stars", "star", "thumbs", "thumb"),
    *("satisfaction", "feedback", "grade", "vote", "likert"),
}
ABOUT_SCORES = {
    *("user", "customer", "client", "human", "overall", "final", "value", "session", "chat", "conversation", "survey"),
    *("metadata", "meta", "annotation", "given", "up"),
}
"""Words beside them that leave it the user's own score; "model_score" or "toxicity_score" are somebody else's."""
IDS = (
    *("session_id", "conversation_id", "chat_id", "dialogue_id", "dialog_id", "thread_id", "conv_id", "ticket_id"),
    *("id", "uuid", "session", "conversation", "chat", "dialogue", "thread"),
)
LISTS = (
    *("messages", "conversations", "conversation", "chat", "dialogue", "dialog", "turns", "history", "transcript"),
    *("thread", "contents"),
)


@dataclass
class Keys:
    """The keys that hold what, by our own name of it, and what is to be told of the choice."""

    of: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    odd: str = ""
    """What is called like a score and holds none."""


@dataclass(frozen=True)
class KeyFinder:
    """Finds keys in the ``rows`` (objects, or lines of a table) of the file ``place``; ``options`` come first."""

    place: str
    rows: Sequence[Mapping[str, Any]]
    options: Mapping[str, str]

    def present(self) -> list[str]:
        """The keys that are there, in the order of the first object that has them."""
        return list(dict.fromkeys(key for row in self.rows for key in row))

    def given(self, what: str) -> str | None:
        """The key that the option ``what`` names. Raises ``InputError``: no object has it."""
        key = self.options.get(what)
        if key is None or key == NONE or any(find(row, key) is not None for row in self.rows):
            return key
        present = self.present()
        hint = did_you_mean(key, present, "choose one of them.")
        raise InputError(f"{self.place}: option {what}={key}: no such key; {hint} {self._found()}")

    def score(self, scale: Scale | None) -> Keys:
        """The key of the scores; none where no key seems to hold any. A ``scale`` says that there are some.

        Raises ``InputError``: several seem to, and nobody can be asked.
        """
        key = self.given("score") or ("score" if self._holds("score", lambda value: not is_blank(value)) else None)
        if key is not None:
            return Keys({} if key == NONE else {"score": key})
        likely, others = self._score_like()
        if len(likely) == 1:
            example = self.values(likely[0])[0]
            return Keys({"score": likely[0]}, [f"the scores were read from {likely[0]!r} (such as {shown(example)})"])
        unsure = likely or (others if scale else [])
        on_scale = self._on_scale(scale) if scale and not unsure else []
        chosen = choose(f"{self.place}: {QUESTION}", unsure or on_scale) if unsure or on_scale else None
        if chosen is not None:
            return Keys({"score": chosen}, [f"the scores were read from {chosen!r}, as you chose: -o score={chosen}"])
        if unsure:
            raise InputError(
                f"{self.place}: which key holds the score is not sure: {listed(unsure, MOST_KEYS)}. {self._found()} "
                f'Wanted: "score". Say which it is: -o score={unsure[0]}, or -o score={NONE}.'
            )
        told = f"{listed(others, MOST_KEYS)} may be scores and were not read: -o score=KEY says which is"
        return Keys(notes=[told] if others else [], odd=self._odd(on_scale))

    def named(self, what: str, names: Iterable[str], fits: Callable[[list[Any]], bool] = bool) -> str | None:
        """The key of an option, or the first of ``names`` whose values ``fits``; case and ``_`` do not count."""
        given = self.given(what)
        if given is not None:
            return None if given == NONE else given
        return next(iter(self._fitting(names, fits)), None)

    def grouping(self, names: Iterable[str], meaning: str) -> str:
        """The key whose values say which rows belong together.

        Raises ``InputError``: there is none, or there are several that say different things, and nobody can be asked.
        """
        if "id" in self.options:
            return self.need("id", meaning, self.named("id", ()))
        likely = self._fitting(names, lambda values: not all_differ(values))
        groups = {tuple(_first_seen([find(row, key) for row in self.rows])): key for key in reversed(likely)}
        if len(groups) < 2:
            return self.need("id", meaning, next(iter(likely), None))
        unsure = sorted(groups.values())
        chosen = choose(f"{self.place}: which key says {meaning}?", unsure)
        if chosen is None:
            raise InputError(
                f"{self.place}: {meaning} is not sure: {listed(unsure, MOST_KEYS)} say different things. "
                f"Say which is meant: -o id={unsure[0]}."
            )
        return chosen

    def _fitting(self, names: Iterable[str], fits: Callable[[list[Any]], bool]) -> list[str]:
        """The keys that are called like one of ``names`` and whose values ``fits``."""
        plain = {_plain(key): key for key in reversed(self.present())}
        return [plain[name] for name in map(_plain, names) if name in plain and fits(self.values(plain[name]))]

    def lists(self) -> str | None:
        """The key of the messages where no name tells it: the only one that holds lists of objects."""
        found = [key for key in self.present() if _are_objects(self.values(key))]
        return found[0] if len(found) == 1 else None

    def values(self, key: str) -> list[Any]:
        """What is there under ``key``."""
        return [value for row in self.rows if not is_blank(value := find(row, key))]

    def need(self, what: str, meaning: str, key: str | None) -> str:
        """``key``, or an error that names the keys found, the one wanted, and the option that maps one to the other."""
        key = key or choose(f"{self.place}: which key holds {what!r} ({meaning})?", self.present())
        if key is not None:
            return key
        raise InputError(f"{self.place}: no key {what!r} ({meaning}). {self._found()} Say which it is: -o {what}=KEY.")

    def _found(self) -> str:
        return f"Found the keys: {listed([shortened(key) for key in self.present()], MOST_KEYS) or 'none'}."

    def _holds(self, key: str, fits: Callable[[Any], bool]) -> bool:
        return any(fits(find(row, key)) for row in self.rows)

    def _on_scale(self, scale: Scale) -> list[str]:
        """Keys that may hold scores by what is there alone: values on the scale, of which some are the same."""
        found = {key: self.values(key) for key in dict.fromkeys(path for row in self.rows for path in _paths(row))}
        return [
            key for key, values in found.items() if values and not all_differ(values) and all(map(scale.holds, values))
        ]

    def _odd(self, on_scale: list[str]) -> str:
        if on_scale:
            return f" On the scale lies what is in {listed(on_scale, MOST_KEYS)}."
        named = [
            key for key in dict.fromkeys(path for row in self.rows for path in _paths(row)) if _words(key) & SCORE_WORDS
        ]
        found = [(key, values[0]) for key in named if (values := self.values(key))]
        return "".join(f" {key!r} holds no scores (such as {shown(value)})." for key, value in found[:1])

    def _score_like(self) -> tuple[list[str], list[str]]:
        """Keys named and filled as the user's scores are, and others that are scores of something."""
        likely: list[str] = []
        others: list[str] = []
        for key in dict.fromkeys(path for row in self.rows for path in _paths(row)):
            words = _words(key)
            if not words & SCORE_WORDS:
                continue
            values = self.values(key)
            if values and sum(map(is_score, values)) * 2 >= len(values):
                (likely if words <= SCORE_WORDS | ABOUT_SCORES else others).append(key)
        return likely, others


def find(row: Mapping[str, Any], key: str) -> Any:
    """The value under ``key``, or under ``outer.inner``; None where there is none.

    >>> find({"meta": {"csat": 4}}, "meta.csat")
    4
    """
    if key in row:
        return row[key]
    outer, dot, inner = key.partition(".")
    found = row.get(outer) if dot else None
    return find(found, inner) if isinstance(found, Mapping) else None


def _first_seen(values: list[Any]) -> list[int]:
    """For each value, where it stands first: the same for two keys that put the same rows together."""
    first: dict[str, int] = {}
    return [first.setdefault(str(value), position) for position, value in enumerate(values)]


def _are_objects(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(one, list) and one and isinstance(one[0], dict) for one in values)


def score_keys(row: Mapping[str, Any]) -> list[str]:
    """The keys of an object that are called like a score, and hold one."""
    return [key for key, value in row.items() if not is_blank(value) and _words(key) & SCORE_WORDS and is_score(value)]


def all_differ(values: list[Any]) -> bool:
    """Whether there are values, all of them plain, and no two are the same: an id of each row."""
    plain = bool(values) and not any(isinstance(value, list | Mapping) for value in values)
    return plain and len({str(value) for value in values}) == len(values)


def _paths(row: Mapping[str, Any]) -> Iterable[str]:
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from (f"{key}.{inner}" for inner in value)
        else:
            yield key


def _plain(key: str) -> str:
    return re.sub(r"[^a-z0-9]", "", key.lower())


def _words(key: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", key).lower()))
