"""Studies of made-up responses, answered by simulated annotators."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from apportion.study.design.folder import StudyFolder
from apportion.study.design.randomization import items_for, with_checks
from apportion.study.design.unblinding_key import Key, read_key
from apportion.study.rows import AnswerRow
from apportion.study.simulated_annotators import SimulatedAnnotators, simulated_name
from tests.study.studies import responses, study_in

POLICIES = ("base", "grpo", "ppo")


def made_study(
    out: Path, criteria: str = "geli", policies: Sequence[str] | None = None, contexts: int = 12, **wanted: object
) -> tuple[StudyFolder, Key]:
    policies = policies or (("base", "ppo") if criteria == "savoir" else POLICIES)
    base = None if criteria == "turns" else policies[0]
    chosen = {"seed": 5, "base": base, "items_per_annotator": 8, **wanted}
    study = study_in(out, criteria, responses(contexts, policies), **chosen)
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
