"""One speech that has a follower: what its leader reads, what the follower reads after it, and what was said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from apportion.corpus.files.textfile import read_jsonl
from apportion.foundation.errors import InputError
from apportion.foundation.files import write_atomically
from apportion.llm_client.prompts.data import data_json
from apportion.llm_client.request import json_line

LONGEST_SPEECH = 5_000
"""Characters of a candidate that a follower is shown; what is longer is cut there, as the games cut it."""
_TEXTS = ("name", "game", "leader", "follower", "leader_sees", "follower_sees", "mark", "said", "answered")


@dataclass(frozen=True)
class Instance:
    """A speaking turn as an instance of section 3.1; texts alone, so that nothing has to be played again to learn.

    ``name``: ``GAME/SESSION#TURN``: the session of the corpus, and the turn that is led with. ``leader``, ``follower``:
    who speaks and who speaks next, each as the leader calls them. ``leader_sees``: (R, G_t, D_t, r_t): what the leader
    knows right before it speaks, in words. ``follower_sees``: (R, G_t+1, D_t and the speech, r_t+1): what the follower
    knows right after it, with ``mark`` wherever the speech stands in it. It holds the follower's true role: for the
    Measurer, in training, and nobody else. ``mark``: stands for the candidate in ``follower_sees``; in no other place.
    ``said``: u_base: what the leader said in the corpus. ``answered``: what the follower did next, as the corpus has
    it; empty where nobody heard it. ``backends``: who played the leader and the follower, as logs call them.
    ``desired``, ``undesired``: k answers each of Eq. 1; empty before anybody was asked.
    """

    name: str
    game: str
    leader: str
    follower: str
    leader_sees: str
    follower_sees: str
    mark: str
    said: str
    answered: str
    backends: tuple[str, str]
    desired: tuple[str, ...] = ()
    undesired: tuple[str, ...] = ()

    def after(self, candidate: str) -> str:
        """What the follower reads after the leader has said ``candidate`` in place of what it said."""
        return self.follower_sees.replace(self.mark, in_json(candidate))


def in_json(speech: str) -> str:
    """A speech as it stands between the quotation marks of a JSON text; too long a one is cut.

    >>> in_json('He said "no".')
    'He said \\\\"no\\\\".'
    """
    return data_json(speech[:LONGEST_SPEECH])[1:-1]


def write_instances(path: Path, instances: Iterable[Instance]) -> None:
    """Write instances, a JSON object a line; whole or not at all."""
    write_atomically(path, "".join(json_line(asdict(instance)) + "\n" for instance in instances))


def write_intents(path: Path, instances: Iterable[Instance]) -> None:
    """Write the intents alone, as the method ``influence`` reads them: a session and turn a line."""
    rows = []
    for one in instances:
        if one.desired:
            session, _, turn = one.name.removeprefix(f"{one.game}/").rpartition("#")
            answers = {"desired": one.desired, "undesired": one.undesired}
            rows.append(json_line({"session_id": session, "turn": int(turn), **answers}) + "\n")
    write_atomically(path, "".join(rows))


def read_instances(path: Path) -> tuple[Instance, ...]:
    """The instances in a file of `write_instances`."""
    found = [_instance(path, number, row) for number, row in read_jsonl(path, allow_empty=True)]
    if not found:
        raise InputError(f"{path}: no instance in it. Make some with `train refiner-data`.")
    names = [instance.name for instance in found]
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise InputError(f"{path}: {twice!r} is there twice; each turn is one instance. Take one of them out.")
    return tuple(found)


def with_intents(instances: Sequence[Instance], called: str) -> tuple[Instance, ...]:
    """Those of ``instances`` that have intents."""
    ready = tuple(instance for instance in instances if instance.desired and instance.undesired)
    if not ready:
        raise InputError(
            f"{called}: none of its {len(instances)} turns has desired and undesired answers. Let a language model "
            "name them: `train refiner-data` with a model, or with recorded replies."
        )
    return ready


def _instance(path: Path, number: int, row: Mapping[str, Any]) -> Instance:
    problem = _problem(row)
    if problem is not None:
        raise InputError(f"{path}, line {number}: {problem}. Make the file again with `train refiner-data`.")
    lists = {name: tuple(row.get(name, ())) for name in ("backends", "desired", "undesired")}
    values: dict[str, Any] = {**{name: row[name] for name in _TEXTS}, **lists}
    return Instance(**values)


def _problem(row: Mapping[str, Any]) -> str | None:
    """Why an object is no instance; None: it is one."""
    known = {field.name for field in fields(Instance)}
    for name in _TEXTS:
        if not isinstance(row.get(name), str):
            return f"{name!r} is {str(row.get(name))[:40]!r}, not a text"
    unknown = sorted(set(row) - known)
    if unknown:
        return f"unknown keys {', '.join(unknown)}"
    for name in ("backends", "desired", "undesired"):
        values = row.get(name, [])
        if not isinstance(values, list) or not all(isinstance(value, str) and value.strip() for value in values):
            return f"{name!r} is no list of texts"
    if len(row.get("backends", [])) != 2:
        return "'backends' are not two names"
    if len(row.get("desired", [])) != len(row.get("undesired", [])):
        return (
            f"{len(row['desired'])} desired and {len(row['undesired'])} undesired answers; as many of each are needed"
        )
    if not row["mark"] or row["mark"] not in row["follower_sees"] or row["mark"] in row["leader_sees"]:
        return "'mark' does not stand in 'follower_sees' alone"
    return None
