"""Studies of made-up responses, answered by simulated annotators."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from corpus.schema import RESPONSES
from study.definition.draw import items_for, with_checks
from study.definition.folder import StudyFolder
from study.definition.key import Key, read_key
from study.definition.making import Wanted, make_study
from study.rows import AnswerRow
from study.simulated import SimulatedAnnotators, simulated_name

POLICIES = ("base", "grpo", "ppo")


def responses(policies: Sequence[str] = POLICIES, contexts: int = 12) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "session_id": f"s{number // 2}",
                "turn": 3 + 2 * (number % 2),
                "context": f"user: hello {number}\nassistant: Hi there {number}.\nuser: And now?",
                "policy": policy,
                "response": f"Reply {number} of kind {kind}.",
                "seed": 0,
            }
            for number in range(contexts)
            for kind, policy in enumerate(policies)
        ],
        schema=RESPONSES.arrow,
    )


def made_study(
    out: Path, criteria: str = "geli", policies: Sequence[str] = POLICIES, contexts: int = 12, **wanted: object
) -> tuple[StudyFolder, Key]:
    base = None if criteria == "turns" else policies[0]
    chosen = Wanted(criteria, **{"seed": 5, "base": base, "items_per_annotator": 8, **wanted})  # type: ignore[arg-type]
    study, _ = make_study(responses(policies, contexts), out, chosen)
    return study, read_key(study.path)


def answered(
    study: StudyFolder,
    key: Key,
    people: int = 6,
    effects: Mapping[str, float] | None = None,
    careless: int = 0,
    seed: int = 0,
) -> list[AnswerRow]:
    """Everybody one after the other, the careless first."""
    hasty = frozenset(map(simulated_name, range(1, careless + 1)))
    simulated = SimulatedAnnotators(study, key, effects or {}, seed=seed, careless=hasty)
    load = {item.item: 0 for item in study.counted}
    settings, rows = study.settings, []
    for annotator in map(simulated_name, range(1, people + 1)):
        own = items_for(annotator, settings.seed, load, settings.annotators_per_item, settings.items_per_annotator)
        for item in own:
            load[item] += 1
        items = [study.items[item] for item in own]
        for name in with_checks(annotator, settings.seed, items, study.check_items, settings.checks_every):
            given = simulated.answer(annotator, study.items[name])
            rows.append(AnswerRow(annotator, name, given.answers, given.reason, given.seconds, given.focus_lost))
    return rows
