"""What a run has to do: the units of each stage, which units each of them needs, and which stages are left out.

Each stage is looked at when it is first asked for: a run of one stage asks for that and for what it needs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING

from apportion.foundation.errors import InputError
from apportion.foundation.lazy import LazyMapping
from apportion.pipeline.engine.stage import Stage, Stages, Unit

if TYPE_CHECKING:
    from apportion.corpus.session import Session
    from apportion.pipeline.config import Config

REPORT = "report"
"""The stage that `until` never leaves out: it shows what there is."""
NO_SCORE = "no session has a score"


class Plan:
    """All units of every stage, sorted: by session id, then method, then seed, then as the perturbations are listed.

    ``left_out`` names the stages that are not to be run, and why; their units are known all the same, so that what an
    earlier run finished of them can be read.
    """

    def __init__(
        self,
        stages: Stages,
        config: Config,
        sessions: Mapping[str, Session],
        left_out: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.stages = stages
        self._config = config
        self._sessions = sessions
        self.left_out = left_out
        self.units = LazyMapping(stages, lambda name: tuple(_units(stages[name], config, sessions)))
        self._needs = LazyMapping(stages, self._needs_of)
        self._by_session = LazyMapping(stages, self._units_of_sessions)

    def needed(self, stage: str, unit: Unit) -> dict[str, list[Unit]]:
        """For each stage that ``unit`` reads, its units that agree with ``unit`` on every axis both have."""
        declared = self.stages[stage]
        matching = {
            need: [other for read in declared.read_as(self._config, unit, need) for other in self._matching(read, need)]
            for need in self._needs[stage]
            if declared.wants(unit, need)
        }
        return {need: units for need, units in matching.items() if units}

    def upstream(self, stage: str) -> list[str]:
        """The stages that units of ``stage`` depend on, itself last, in the order of the declaration.

        A need that no unit wants (the descriptors, where all methods read text alone) is not among them, nor is a stage
        that is left out, and what only that one would read.
        """
        wanted = {stage} if stage not in self.left_out else set()
        for name in reversed(list(self.stages)):
            if name in wanted:
                declared = self.stages[name]
                needs = [need for need in self._needs[name] if need not in self.left_out]
                wanted.update(n for n in needs if any(declared.wants(u, n) for u in self.units[name]))
        return [name for name in self.stages if name in wanted]

    def leading_to(self, last: Iterable[str]) -> list[str]:
        """The stages ``last`` and all that they depend on, in the order of the declaration; none that is left out."""
        names = {name for stage in last for name in self.upstream(stage)}
        return [name for name in self.stages if name in names]

    def _needs_of(self, stage: str) -> list[str]:
        declared = self.stages[stage]
        without = declared.without(self._config)
        return [need for need in declared.needs if need not in without]

    def _units_of_sessions(self, stage: str) -> dict[str | None, list[Unit]]:
        index: dict[str | None, list[Unit]] = defaultdict(list)
        for unit in self.units[stage]:
            index[unit.session_id].append(unit)
        return index

    def _matching(self, unit: Unit, need: str) -> list[Unit]:
        index = self._by_session[need]
        if unit.session_id is not None and self.stages[need].per == "session":
            candidates: Sequence[Unit] = index.get(unit.session_id, ())
        else:
            candidates = self.units[need]
        return [other for other in candidates if _agree(unit, other)]


def is_scored(config: Config, sessions: Mapping[str, Session]) -> bool:
    """Whether any session has a score."""
    return any(session.episodes(config.rating) for session in sessions.values())


def _units(stage: Stage, config: Config, sessions: Mapping[str, Session]) -> list[Unit]:
    if stage.scored and not is_scored(config, sessions):
        return []
    session_ids = _worked_on(config, stage.chosen(config, sessions)) if stage.per == "session" else [None]
    methods = sorted(stage.methods(config)) if "method" in stage.over else [None]
    seeds = sorted(config.seeds) if "seed" in stage.over else [None]
    perturbations = list(stage.perturbations()) if "perturbation" in stage.over else [None]
    units = (Unit(*axes) for axes in product(session_ids, methods, seeds, perturbations))
    return [
        unit for unit in units if stage.applies(config, unit, sessions[unit.session_id] if unit.session_id else None)
    ]


def _worked_on(config: Config, session_ids: Iterable[str]) -> list[str]:
    """Those of the sessions that the run is about, where it names some."""
    named = config.run.sessions
    return sorted(session_ids if named is None else set(session_ids) & set(named))


def _agree(unit: Unit, other: Unit) -> bool:
    return all(mine is None or theirs is None or mine == theirs for mine, theirs in zip(unit, other, strict=True))


def last_stages(stages: Stages, until: str | None, skip: Sequence[str]) -> list[str]:
    """What a whole run asks for: the report, which reads all that can be shown, and the stage that it goes up to.

    So what nobody would read is not made (embeddings, where no network is trained). Without the report it is
    everything.

    Raises InputError: A name that is no stage's.
    """
    if any(REPORT in _called("run.skip_stages", name, stages) for name in skip):
        return list(stages)
    return [*(_called("run.last_stage", until, stages) if until is not None else ()), REPORT]


class LeftOut(Mapping[str, str]):
    """Each stage that is left out, in the order of the declaration, and why: somebody said so, or it has nothing to do.

    Raises InputError: ``run.last_stage`` or ``run.skip_stages`` names no stage.
    """

    def __init__(self, stages: Stages, config: Config, sessions: Mapping[str, Session]) -> None:
        names, run = list(stages), config.run
        self._stages, self._config, self._sessions = stages, config, sessions
        self._said: dict[str, str] = {}
        if run.last_stage is not None:
            last = max(names.index(name) for name in _called("run.last_stage", run.last_stage, stages))
            self._said = dict.fromkeys({*names[last + 1 :]} - {REPORT}, f"last_stage = {run.last_stage!r}")
        for name in run.skip_stages:
            self._said |= dict.fromkeys(_called("run.skip_stages", name, stages), f"skip names {name!r}")
        self._why = LazyMapping(stages, self._reason)

    def __getitem__(self, name: str) -> str:
        why = self._why[name]
        if why is None:
            raise KeyError(name)
        return why

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._stages if self._why[name] is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _reason(self, name: str) -> str | None:
        if name in self._said:
            return self._said[name]
        stage = self._stages[name]
        if stage.scored and not is_scored(self._config, self._sessions):
            return NO_SCORE
        return stage.idle(self._config, self._sessions)


def check_choice(plan: Plan, names: Sequence[str]) -> None:
    """Raise InputError where one of the stages ``names`` cannot do without one that is left out."""
    needs = {need for name in names for need in plan.stages[name].needs}
    for need in (need for need in plan.stages if need in needs and need in plan.left_out):
        readers = [name for name in names if need in plan.stages[name].needs and _reads(plan, name, need)]
        if readers:
            these = ", ".join(readers)
            raise InputError(
                f"the stage {need!r} is left out ({plan.left_out[need]}), and {these} cannot do without what it makes. "
                f"Leave out {these}, too, or let {need!r} run."
            )


def _reads(plan: Plan, name: str, need: str) -> bool:
    stage = plan.stages[name]
    return need not in stage.spares and any(need in plan.needed(name, unit) for unit in plan.units[name])


def _called(key: str, name: str, stages: Stages) -> tuple[str, ...]:
    try:
        return stages.called(name)
    except InputError as error:
        raise InputError(f"{key} = {error}") from None
