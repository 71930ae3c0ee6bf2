"""Splits that no person crosses: regions of the graph whose nodes are persons and whose edges are sessions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from foundation.errors import InputError


def assign_by_person(
    people: Mapping[str, frozenset[str]], ranked: Sequence[str], shares: Mapping[str, float]
) -> dict[str, str]:
    """Grow all splits side by side over the graph, always the one that lacks most, at the fewest lost sessions.

    Corpora of pairs without strangers (small components) lose nothing; a pairing graph like CANDOR's, where nearly
    everyone is linked with everyone, loses the sessions between the regions.

    Parameters
    ----------
    people : Mapping from session id to persons
        Every session's persons; sessions without any are free to go anywhere.
    ranked : Sequence of str, length S
        The session ids in the order that breaks ties.
    shares : Mapping from split to share
        What each split should get of the sessions that are kept.

    Returns
    -------
    dict from session id to split
        Without the sessions whose persons ended in two splits.

    Raises
    ------
    InputError
        No session has a person.
    """
    if not any(people.values()):
        raise InputError(
            "split by person: the speakers are known only by their role (user, assistant, ...). "
            'Set by = "session", or give each person an id of their own in speaker, rater and target.'
        )
    graph = _Regions(people, ranked, [name for name, share in shares.items() if share > 0])
    while graph.open_sessions:
        # The split that lacks most takes its turn; one that has no room left to grow is passed over.
        any(graph.grow(name) for name in sorted(graph.sizes, key=lambda split: graph.sizes[split] / shares[split]))
    return graph.split_of


class _Regions:
    """The state of the growth: who belongs to which split, and which sessions are still open."""

    def __init__(self, people: Mapping[str, frozenset[str]], ranked: Sequence[str], splits: Sequence[str]) -> None:
        self.people = people
        self.position = {session_id: i for i, session_id in enumerate(ranked)}
        self.open_sessions = set(ranked)
        self.sizes = dict.fromkeys(splits, 0)
        self.split_of: dict[str, str] = {}
        self.owner: dict[str, str] = {}
        self.sessions_of: dict[str, list[str]] = defaultdict(list)
        for session_id in ranked:
            for person in people[session_id]:
                self.sessions_of[person].append(session_id)
        self.frontier: dict[str, set[str]] = {name: set() for name in splits}
        component = self._component_sizes(ranked)
        self.seeds = sorted(ranked, key=lambda id_: (component[id_], self.position[id_]), reverse=True)

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
        touched = {session_id} | {other for person in new for other in self.sessions_of[person]}
        for other in touched & self.open_sessions:
            owners = {self.owner.get(person) for person in self.people[other]}
            if owners <= {split}:
                self.open_sessions.discard(other)
                self.split_of[other] = split
                self.sizes[split] += 1
            elif len(owners - {None}) > 1:
                self.open_sessions.discard(other)
            else:
                self.frontier[split].add(other)

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
