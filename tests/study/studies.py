"""Small studies for tests: a table of responses of three policies, and folders made of it."""

import pyarrow as pa

from apportion.corpus.schema import RESPONSES
from apportion.study.design.create import StudyPlan, make_study

POLICIES = ("zz-base-policy", "zz-tuned-policy", "zz-other-policy")
"""Names that no text holds by chance."""


def responses(contexts=8, policies=POLICIES, seeds=(0,), same=()):
    """``contexts`` contexts in sessions of two, each answered by all; in those numbered ``same`` with equal words."""
    rows = [
        {
            "session_id": f"s{number // 2}",
            "turn": 3 + 2 * (number % 2),
            "context": f"user: Hello number {number}\nassistant: Hi there.\nuser: How are you?",
            "policy": policy,
            "response": "Fine." if number in same else f"Answer {place} to number {number}, sample {seed}.",
            "seed": seed,
        }
        for number in range(contexts)
        for seed in seeds
        for place, policy in enumerate(policies)
    ]
    return pa.Table.from_pylist(rows, schema=RESPONSES.arrow)


def study_in(folder, criteria="geli", table=None, **wanted):
    """A study with a given seed in ``folder``."""
    made, _ = make_study(responses() if table is None else table, folder, StudyPlan(criteria, **{"seed": 7, **wanted}))
    return made


def answers_to(criteria, item, marked=0):
    """Answers that are allowed: the first ``marked`` responses marked, the first of two better, all rated low."""
    ids = [response.id for response in item.responses]
    given = {
        "select": lambda criterion: ids[:marked],
        "pair": lambda criterion: ids[0],
        "rating": lambda criterion: dict.fromkeys(ids, criterion.low),
        "turns": lambda criterion: {str(place): criterion.low for place in item.positions},
    }
    return {criterion.name: given[criterion.kind](criterion) for criterion in criteria.criteria}
