"""Splits that no person crosses: regions of the graph whose nodes are persons and whose edges are sessions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from apportion.corpus.session import ENVIRONMENT, Session
from apportion.foundation.errors import InputError

ROLES = frozenset(
    {
        "assistant", "bot", "chatbot", "agent", "ai", "gpt", "human", "usr", "user", "sys", "system", "seeker",
        "supporter", "customer", "speaker", "listener", "first", "second", "mturk_agent_1", "mturk_agent_2",
    }
)  # fmt: skip
"""Speaker ids (in lower case) that name a part in the conversation, the same in every session, and nobody."""


def persons(session: Session) -> frozenset[str]:
    """Everyone who speaks or rates in the session, without those known only by their role; ENVIRONMENT is nobody."""
    people = {turn.speaker for turn in session.turns} | {rating.rater for rating in session.ratings}
    people.discard(ENVIRONMENT)
    return frozenset(name for name in people if name.casefold() not in ROLES)


def assign_by_person(
    people: Mapping[str, frozenset[str]], ranked: Sequence[str], shares: Mapping[str, float]
) -> dict[str, str]:
    """Grow all splits side by side over the graph, always the one that lacks most, at the fewest lost sessions.

    Corpora of pairs without strangers (small components) lose nothing; a pairing graph like CANDOR's, where nearly
    everyone is linked with everyone, loses the sessions between the regions.

    ``people``: every session's persons; sessions without any are free to go anywhere. ``ranked``: the session ids in
    the order that breaks ties. ``shares``: what each split should get of the sessions that are kept. Returns without
    the sessions whose persons ended in two splits.
    """
    graph = _Regions(people, ranked, [name for name, share in shares.items() if share > 0])
    while graph.open_sessions:
        # The split that lacks most takes its turn; one that has no room left to grow is passed over.
        any(graph.grow(name) for name in sorted(graph.sizes, key=lambda split: graph.sizes[split] / shares[split]))
    return graph.split_of


def join_by_person(
    people: Mapping[str, frozenset[str]], ranked: Sequence[str], owner: Mapping[str, str], home: str
) -> dict[str, str]:
    """Add sessions to splits that are made already, whose persons stay where they are.

    ``home`` takes all that it can get: the sessions of persons who are its own or nobody's yet, at the fewest lost
    sessions. Of the others each goes where its persons are.

    ``people``, ``ranked``: the persons of the sessions to be added, and their ids in the order that breaks ties.
    ``owner``: everyone who is in a split already. ``home``: the split that wants them. Returns without the sessions
    whose persons are in two splits.
    """
    others = sorted({*owner.values()} - {home})
    graph = _Regions(people, ranked, [home, *others], owner)
    while graph.grow(home):
        pass
    while graph.open_sessions:
        any(graph.grow(name) for name in others)
    return graph.split_of


def check_persons(people: Mapping[str, frozenset[str]]) -> None:
    """Raise InputError where no session has a person."""
    if not any(people.values()):
        raise InputError(
            "split by person: the speakers are known only by their role (user, assistant, ...). "
            'Set by = "session", or give each person an id of their own in speaker, rater and target.'
        )


class _Regions:
    """The state of the growth: who belongs to which split (``owner`` from before), and which sessions are open."""

    def __init__(
        self,
        people: Mapping[str, frozenset[str]],
        ranked: Sequence[str],
        splits: Sequence[str],
        owner: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.people = people
        self.position = {session_id: i for i, session_id in enumerate(ranked)}
        self.open_sessions = set(ranked)
        self.sizes = dict.fromkeys(splits, 0)
        self.split_of: dict[str, str] = {}
        self.owner: dict[str, str] = dict(owner)
        self.sessions_of: dict[str, list[str]] = defaultdict(list)
        for session_id in ranked:
            for person in people[session_id]:
                self.sessions_of[person].append(session_id)
        self.frontier: dict[str, set[str]] = {name: set() for name in splits}
        component = self._component_sizes(ranked)
        self.seeds = sorted(ranked, key=lambda id_: (component[id_], self.position[id_]), reverse=True)
        for session_id in ranked:
            self._settle(session_id)

    def grow(self, split: str) -> bool:
        """Give ``split`` its best open session and all that follow from it; False where there is none.

        Every open session either touches the persons of one split or can start a region of its own, so that
        growing all splits in turn comes to an end.
        """
        near = [id_ for id_ in self.frontier[split] if id_ in self.open_sessions]
        self.frontier[split] = set(near)
        seed = self._seed()
        candidates = near if seed is None else [*near, seed]
        if not candidates:
            return False
        self._take(min(candidates, key=lambda id_: (self._losses(id_, split), id_ == seed, self.position[id_])), split)
        return True

    def _seed(self) -> str | None:
        """The open session of the smallest component that touches no split yet."""
        while self.seeds:
            session_id = self.seeds[-1]
            if session_id in self.open_sessions and not any(p in self.owner for p in self.people[session_id]):
                return session_id
            self.seeds.pop()
        return None

    def _losses(self, session_id: str, split: str) -> int:
        """How many open sessions would join two splits if ``split`` took this session's persons."""
        new = [person for person in self.people[session_id] if person not in self.owner]
        touched = {other for person in new for other in self.sessions_of[person] if other in self.open_sessions}
        return sum(any(self.owner.get(p, split) != split for p in self.people[other]) for other in touched)

    def _take(self, session_id: str, split: str) -> None:
        new = [person for person in self.people[session_id] if person not in self.owner]
        self.owner.update(dict.fromkeys(new, split))
        if not self.people[session_id]:
            self._give(session_id, split)
        for other in {other for person in new for other in self.sessions_of[person]} & self.open_sessions:
            self._settle(other)

    def _settle(self, session_id: str) -> None:
        """Close a session whose persons are all owned, or in two splits; else it borders on the split of one."""
        persons = self.people[session_id]
        splits = {self.owner[person] for person in persons if person in self.owner}
        if len(splits) > 1:
            self.open_sessions.discard(session_id)
        for split in splits if len(splits) == 1 else ():
            if all(person in self.owner for person in persons):
                self._give(session_id, split)
            else:
                self.frontier[split].add(session_id)

    def _give(self, session_id: str, split: str) -> None:
        self.open_sessions.discard(session_id)
        self.split_of[session_id] = split
        self.sizes[split] += 1

    def _component_sizes(self, ranked: Sequence[str]) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for start in ranked:
            if start in sizes:
                continue
            component, todo = {start}, [start]
            while todo:
                linked = {o for person in self.people[todo.pop()] for o in self.sessions_of[person]} - component
                component |= linked
                todo.extend(linked)
            sizes.update(dict.fromkeys(component, len(component)))
        return sizes
