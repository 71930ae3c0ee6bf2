"""Which units a stage has for this corpus and configuration, and which units each of them needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from types import MappingProxyType

from apportion.corpus.session import Session
from apportion.decompose.audit.perturbations import PERTURBATIONS
from apportion.pipeline.config import Config
from apportion.pipeline.engine.stage import Stage, Unit


class Plan:
    """All units of every stage, sorted: by session id, then method, then seed, then as the perturbations are listed.

    ``left_out`` names the stages that are not to be run, and why; their units are known all the same, so that what an
    earlier run finished of them can be read.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        config: Config,
        sessions: Mapping[str, Session],
        left_out: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.stages = {stage.name: stage for stage in stages}
        self._config = config
        self.left_out = left_out
        self.units = {stage.name: tuple(_units(stage, config, sessions)) for stage in stages}
        self._without = {stage.name: frozenset(stage.without(config)) for stage in stages}
        self._by_session: dict[str, dict[str | None, list[Unit]]] = {}
        for name, units in self.units.items():
            index = self._by_session[name] = defaultdict(list)
            for unit in units:
                index[unit.session_id].append(unit)

    def needed(self, stage: str, unit: Unit) -> dict[str, list[Unit]]:
        """For each stage that ``unit`` reads, its units that agree with ``unit`` on every axis both have."""
        declared = self.stages[stage]
        matching = {
            need: [other for read in declared.read_as(self._config, unit, need) for other in self._matching(read, need)]
            for need in self._needs(stage)
            if declared.wants(unit, need)
        }
        return {need: units for need, units in matching.items() if units}

    def upstream(self, stage: str) -> list[str]:
        """The stages that units of ``stage`` depend on, itself last, in the order of the declaration.

        A need that no unit wants (the descriptors, where all methods read text alone) is not among them, nor is a stage
        that is left out, and what only that one would read.
        """
        wanted = {stage} - self.left_out.keys()
        for name in reversed(self.stages):
            declared = self.stages[name]
            if name in wanted:
                needs = [need for need in self._needs(name) if need not in {*self.left_out, *declared.shows}]
                wanted.update(n for n in needs if any(declared.wants(u, n) for u in self.units[name]))
        return [name for name in self.stages if name in wanted]

    def leading_to(self, last: Iterable[str]) -> list[str]:
        """The stages ``last`` and all that they depend on, in the order of the declaration; none that is left out."""
        names = {name for stage in last for name in self.upstream(stage)}
        return [name for name in self.stages if name in names]

    def _needs(self, stage: str) -> list[str]:
        return [need for need in self.stages[stage].needs if need not in self._without[stage]]

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
    perturbations = list(PERTURBATIONS) if "perturbation" in stage.over else [None]
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
