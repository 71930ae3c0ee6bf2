"""From a study's answers to tables of who said what of which policy: the one place where responses are unblinded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from apportion.evaluation.human_agreement.answers import Answers
from apportion.foundation.arrays import Floats
from apportion.foundation.errors import InputError
from apportion.study.design.answers import values_of
from apportion.study.design.criteria import Criterion
from apportion.study.design.folder import StudyFolder
from apportion.study.design.items import Item, response_id
from apportion.study.design.unblinding_key import Key
from apportion.study.rows import AnswerRow

AGENT = "the agent"
"""What is judged where turns are rated: who speaks in the context, and no policy that answers it."""


@dataclass(frozen=True, eq=False)
class CriterionAnswers:
    """All answers to one criterion: by policy, and by what was judged.

    ``answers`` has a column a policy (of turns one, `AGENT`); its items are contexts, so that policies answer the same
    ones. ``judged`` has the answers on single responses, or turns, as annotators agree on them.
    """

    criterion: Criterion
    answers: Answers
    judged: Answers

    @property
    def apart(self) -> bool:
        """Whether an item shows one policy alone, so that no answer judges two."""
        return self.criterion.about == "dialogue"


@dataclass(frozen=True, eq=False)
class Unblinded:
    """A study's answers that count, under the policies' names; annotators are numbers that mean the same everywhere."""

    criteria: Mapping[str, CriterionAnswers]
    annotators: tuple[str, ...]
    rows: tuple[AnswerRow, ...]

    def of_annotators(self, wanted: Iterable[str]) -> Unblinded:
        """The answers of some annotators alone; their numbers stay."""
        kept = set(wanted)
        numbers = [number for number, name in enumerate(self.annotators) if name in kept]
        criteria = {
            name: CriterionAnswers(one.criterion, one.answers.of_annotators(numbers), one.judged.of_annotators(numbers))
            for name, one in self.criteria.items()
        }
        return Unblinded(criteria, self.annotators, tuple(row for row in self.rows if row.annotator in kept))


def unblinded(study: StudyFolder, key: Key, rows: Iterable[AnswerRow]) -> Unblinded:
    """The answers to items that count; those of practice and attention checks are left out. Raises InputError: a key
    without a response that was judged, so that it belongs to another study, or with another policy than the response's
    id was made of; an answer to an item that the study has not.
    """
    counted = {item.item for item in study.counted}
    kept = []
    for row in rows:
        if row.item not in study.items:
            raise InputError(
                f"annotator {row.annotator}: an answer to item {row.item!r}, which {study.path} has not. The answers "
                "belong to another study."
            )
        if row.item in counted:
            kept.append(row)
    kept.sort(key=lambda row: (row.item, row.annotator))
    policy_of = key.policy_of
    missing = [
        (item.item, response.id)
        for item in study.counted
        for response in item.responses
        if (item.item, response.id) not in policy_of
    ]
    if missing:
        raise InputError(
            f"{study.path}: the key does not say whose the response {missing[0][1]} of item {missing[0][0]} is. It "
            "belongs to another study: bring the key.jsonl that was made with it."
        )
    _check_names(study, policy_of)
    annotators = tuple(sorted({row.annotator for row in kept}))
    criteria = {
        criterion.name: _criterion(criterion, study, key, kept, annotators) for criterion in study.criteria.criteria
    }
    return Unblinded(criteria, annotators, tuple(kept))


def _check_names(study: StudyFolder, policy_of: Mapping[tuple[str, str], str]) -> None:
    """An id is a hash of the seed, the item and the policy: a key that was changed would say the opposite."""
    seed = study.settings.seed
    for item in study.counted:
        for response in item.responses:
            policy = policy_of[item.item, response.id]
            if response.id != response_id(seed, item.item, policy):
                raise InputError(
                    f"{study.path}: the key says that the response {response.id} of item {item.item} is of {policy!r}, "
                    "and its id was not made of that name and the study's seed. Put back the key.jsonl, and the seed "
                    "in study.toml, that were made with it."
                )


def _criterion(
    criterion: Criterion, study: StudyFolder, key: Key, rows: list[AnswerRow], annotators: tuple[str, ...]
) -> CriterionAnswers:
    policy_of, number_of = key.policy_of, {name: number for number, name in enumerate(annotators)}
    contexts = _contexts(study, criterion)
    by_policy: dict[tuple[int, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    single: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for row in rows:
        given = row.answers.get(criterion.name)
        if given is None:
            continue
        item = study.items[row.item]
        number = number_of[row.annotator]
        values = values_of(criterion, item, given)
        # Of a pair one response says all: the other has the rest of its value.
        for what in sorted(values)[:1] if criterion.kind == "pair" else values:
            single[item.item, what][number] = values[what]
        for what, value in values.items():
            policy = AGENT if criterion.kind == "turns" else policy_of[item.item, what]
            by_policy[contexts[item.item], number][policy].append(value)
    policies = (AGENT,) if criterion.kind == "turns" else key.policies
    places = sorted(by_policy)
    table = np.full((len(places), len(policies)), np.nan)
    for place, (context, number) in enumerate(places):
        for column, policy in enumerate(policies):
            found = by_policy[context, number].get(policy)
            if found:
                table[place, column] = float(np.mean(found))
    of_contexts, numbers = (np.array([place[k] for place in places], np.int64) for k in (0, 1))
    return CriterionAnswers(criterion, Answers(policies, of_contexts, numbers, table), _judged(single, study))


def _contexts(study: StudyFolder, criterion: Criterion) -> dict[str, int]:
    """A number for each item's context; items of one context share it where each shows a policy alone."""
    numbers: dict[object, int] = {}

    def named(item: Item) -> object:
        return (item.session_id, item.turn, item.context) if criterion.about == "dialogue" else item.item

    return {item.item: numbers.setdefault(named(item), len(numbers)) for item in study.counted}


def _judged(single: Mapping[tuple[str, str], Mapping[int, float]], study: StudyFolder) -> Answers:
    """One column, a row an annotator's value of one response or turn; these have numbers that the study gives."""
    ids: dict[str, list[str]] = {item.item: [response.id for response in item.responses] for item in study.counted}
    places = {item.item: [str(place) for place in item.positions] for item in study.counted}
    units = [(item, what) for item in ids for what in (*ids[item], *places[item])]
    rows = [
        (unit, number, value)
        for unit, what in enumerate(units)
        for number, value in sorted(single.get(what, {}).items())
    ]
    numbers, people = (np.array([row[place] for row in rows], np.int64) for place in (0, 1))
    values: Floats = np.array([row[2] for row in rows], np.float64).reshape(len(rows), 1)
    return Answers(("judged",), numbers, people, values)
