"""Sharing the sessions out among training, validation, test and the policy."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from apportion.corpus.corpus import Corpus
from apportion.corpus.schema import SPLITS as SPLITS_TABLE
from apportion.corpus.session import Episode, Session
from apportion.corpus.splits.personsplit import assign_by_person, check_persons, join_by_person, persons
from apportion.corpus.splits.settings import SplitSettings
from apportion.foundation.errors import InputError

HOME = "policy"
"""The split of sessions without a rating."""


@dataclass(frozen=True)
class Splits:
    """``table`` has one row a session that is used (schema SPLITS); ``notes`` says what was left out and why."""

    table: pa.Table
    notes: tuple[str, ...] = ()


def split(corpus: Corpus, settings: SplitSettings, rating: str | None = None) -> pa.Table:
    """The splits of a whole corpus as a table; see `split_sessions`."""
    return split_sessions(list(corpus.iter_sessions()), settings, rating).table


def split_sessions(
    sessions: Sequence[Session], settings: SplitSettings, rating: str | None = None, *, few: bool = False
) -> Splits:
    """Share sessions out; the result depends on their ids, the shares and the seed, not on their order.

    Sessions are ranked by a hash of seed and id and the ranking is cut, so that a corpus that grows keeps most of
    its sessions where they were. Sessions without a rating go to ``policy``, which needs dialogue contexts only, and
    move no rated one. By person each of them goes where its persons are (``policy`` where they are nowhere yet); one
    that would join two splits is left out. Where no session has a rating, ``test`` gets its share and ``policy`` the
    rest.

    ``sessions``: What is to be shared out. ``settings``: The shares, the seed, and whether a person may occur in two
    splits. ``rating``: Only ratings of this name count; any rating does where it is None. ``few``: Whether rated
    sessions that are too few for every share that is not zero all go to ``train``. Raises InputError: Such sessions
    otherwise, or no persons to split by.

    >>> from apportion.corpus.session import Rating
    >>> liking = Rating("ann", "bob", "liking", 3.0, 1.0, 5.0)
    >>> sessions = [Session(f"s{number}", (), (liking,)) for number in range(10)]
    >>> split_sessions(sessions, SplitSettings()).table["split"].value_counts().to_pylist()[0]
    {'values': 'train', 'counts': 6}
    """
    rated = [session for session in sessions if session.episodes(rating)]
    unrated = [session for session in sessions if not session.episodes(rating)]
    if unrated and not rated:
        return _split_unrated(unrated, settings)
    ranked = _ranked(rated, settings)
    if few and 0 < len(ranked) < len(_wanted(settings.shares)):
        homes = {session.session_id: HOME for session in unrated} | dict.fromkeys(ranked, "train")
        return _splits(homes, (f"too few sessions to hold any back ({len(ranked)}): all of them train",))
    _check_enough(len(ranked), settings)
    if settings.by == "session":
        split_of = _cut(ranked, settings.shares) | {session.session_id: HOME for session in unrated}
        return _splits(split_of)
    people = {session.session_id: persons(session) for session in sessions}
    check_persons(people)
    split_of = assign_by_person({name: people[name] for name in ranked}, ranked, settings.shares)
    _check_every_split(split_of, _wanted(settings.shares))
    owner = {person: split for name, split in split_of.items() for person in people[name]}
    added = _ranked(unrated, settings)
    joined = join_by_person({name: people[name] for name in added}, added, owner, HOME)
    notes = (*_dropped_note(ranked, split_of, "rated"), *_dropped_note(added, joined, "unrated"))
    return _splits(split_of | joined, notes)


def _split_unrated(unrated: Sequence[Session], settings: SplitSettings) -> Splits:
    """Nobody scored, so that nothing learns a reward: what is not held out is the policy's."""
    ranked = _ranked(unrated, settings)
    shares = {"test": settings.test, HOME: 1 - settings.test} if len(ranked) > 1 else {HOME: 1.0}
    if settings.by == "session":
        return _splits(_cut(ranked, shares))
    people = {session.session_id: persons(session) for session in unrated}
    check_persons(people)
    split_of = assign_by_person(people, ranked, shares)
    _check_every_split(split_of, _wanted(shares))
    return _splits(split_of, _dropped_note(ranked, split_of, "unrated"))


def _ranked(sessions: Sequence[Session], settings: SplitSettings) -> list[str]:
    order = {session.session_id: rank(session.session_id, settings.seed) for session in sessions}
    return sorted(order, key=order.__getitem__)


def _splits(split_of: Mapping[str, str], notes: tuple[str, ...] = ()) -> Splits:
    rows = sorted(split_of.items())
    columns = [[row[0] for row in rows], [row[1] for row in rows]]
    return Splits(pa.table(columns, schema=SPLITS_TABLE.arrow), notes)


def sessions_in(splits: pa.Table, name: str) -> frozenset[str]:
    """The ids of the sessions that the split ``name`` of a table of splits (schema SPLITS) holds."""
    pairs = zip(splits.column("session_id").to_pylist(), splits.column("split").to_pylist(), strict=True)
    return frozenset(session_id for session_id, split in pairs if split == name)


def rank(session_id: str, seed: int) -> bytes:
    """A number of its own for every session, the same on every machine."""
    return hashlib.sha256(f"{seed}\0{session_id}".encode()).digest()


def counts(total: int, shares: Mapping[str, float]) -> dict[str, int]:
    """How many of ``total`` sessions each share gets: largest remainders, at least one where the share is not zero.

    ``total`` must be at least the number of shares that are not zero.
    """
    exact = {name: share * total for name, share in shares.items()}
    sizes = {name: int(value + 1e-9) for name, value in exact.items()}
    by_remainder = sorted(shares, key=lambda name: sizes[name] - exact[name])
    for name in by_remainder[: total - sum(sizes.values())]:
        sizes[name] += 1
    for name in (name for name, share in shares.items() if share > 0 and sizes[name] == 0):
        sizes[max(sizes, key=sizes.__getitem__)] -= 1
        sizes[name] = 1
    return sizes


def counts_if_enough(total: int, settings: SplitSettings) -> dict[str, int] | None:
    """`counts`, or None where ``total`` sessions are too few for every share that is not zero."""
    return None if total < len(_wanted(settings.shares)) else counts(total, settings.shares)


def _wanted(shares: Mapping[str, float]) -> list[str]:
    return [name for name, share in shares.items() if share > 0]


def _cut(ranked: Sequence[str], shares: Mapping[str, float]) -> dict[str, str]:
    names = [name for name, many in counts(len(ranked), shares).items() for _ in range(many)]
    return dict(zip(ranked, names, strict=True))


def _check_enough(rated: int, settings: SplitSettings) -> None:
    wanted = _wanted(settings.shares)
    if rated < len(wanted):
        raise InputError(
            f"{rated} rated session{'' if rated == 1 else 's'} cannot be shared out among {', '.join(wanted)}: "
            f"at least {len(wanted)} are needed, one each. Add sessions, or set a share to 0; train = 1 and 0 for the "
            "others gives the rewards of all of them, without an evaluation."
        )


def _check_every_split(split_of: Mapping[str, str], wanted: Sequence[str]) -> None:
    empty = [name for name in wanted if name not in split_of.values()]
    if empty:
        raise InputError(
            f"split by person leaves no session for {', '.join(empty)}: too many sessions share persons. "
            "At least one session without common persons is needed for each. "
            'Set by = "session", or set a share to 0.'
        )


def _dropped_note(sessions: Sequence[str], kept: Mapping[str, str], kind: str) -> tuple[str, ...]:
    if len(kept) == len(sessions):
        return ()
    return (
        f"split by person: {len(sessions) - len(kept)} of {len(sessions)} {kind} sessions join persons of two splits "
        f"and are left out ({len(kept) / len(sessions):.0%} are kept)",
    )


@dataclass(frozen=True, eq=False)
class SplitEpisodes:
    """All episodes of one rating in the order of their sessions, and the table of the splits (schema SPLITS).

    >>> from apportion.corpus.schema import SPLITS
    >>> from apportion.corpus.session import Rating, Turn
    >>> liking = Rating("ann", "bob", "liking", 3.0, 1.0, 5.0)
    >>> both = [Episode(name, (Turn(0, "bob", "Hello."),), liking) for name in ("s1", "s2")]
    >>> episodes = SplitEpisodes(both, pa.table([["s1", "s2"], ["train", "test"]], schema=SPLITS.arrow))
    >>> [episode.session_id for episode in episodes.of("train")]
    ['s1']
    """

    all: Sequence[Episode]
    splits: pa.Table

    def sessions(self, split: str) -> frozenset[str]:
        """The ids of the sessions in ``split``, rated or not."""
        return sessions_in(self.splits, split)

    def of(self, split: str) -> list[Episode]:
        """The episodes of the sessions in ``split``; none where there is no such split."""
        sessions = self.sessions(split)
        return [episode for episode in self.all if episode.session_id in sessions]
