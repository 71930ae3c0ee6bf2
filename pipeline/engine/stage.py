"""What a stage is: a pure function with declared needs, and the values it takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError, UnitError
from apportion.foundation.lazy import LazyMapping
from apportion.foundation.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa

    from apportion.corpus.files.stored_vectors import VectorTable
    from apportion.corpus.session import Episode, Session
    from apportion.corpus.splits.splits import SplitEpisodes
    from apportion.pipeline.config import Config
    from apportion.pipeline.engine.store import Artifact


AGAINST = "against"
"""The document of a training that learned from other rewards than those of its unit's method."""


class Unit(NamedTuple):
    """One piece of work: a session, a method, a seed, a perturbation; None where its stage has no such axis."""

    session_id: str | None = None
    method: str | None = None
    seed: int | None = None
    perturbation: str | None = None

    def __str__(self) -> str:
        parts = (self.session_id, self.method, None if self.seed is None else f"seed {self.seed}", self.perturbation)
        return ", ".join(part for part in parts if part) or "corpus"


@dataclass(frozen=True)
class Work:
    """What the runner lends a unit: a folder for its files, tools that outlive it, a way to tell how far it is.

    ``checkpoints`` is a folder of this unit alone that outlives a kill and goes when the unit is finished; it is made
    by the unit, if at all. What a unit puts into ``measured`` (a training's curves: step and metric to value) is kept
    with its failure, should it fail.
    """

    out: Path
    progress: Progress
    make_tools: Callable[[], Any] = lambda: None
    checkpoints: Path | None = None
    measured: dict[tuple[int, str], float] = field(default_factory=dict)

    @property
    def tools(self) -> Any:
        """What asks a language model."""
        return self.make_tools()

    @property
    def training_state(self) -> Path | None:
        """The file in ``checkpoints`` by which an interrupted training goes on."""
        return None if self.checkpoints is None else self.checkpoints / "training.pt"


@dataclass(frozen=True)
class Inputs:
    """Everything that one unit may read.

    ``sessions`` holds the unit's one session, or all of the corpus for a corpus stage; ``upstream`` the
    artifacts of the units it needs, by stage; ``turn_labels`` is given to the stages that `Stage.turn_labels` says.
    """

    unit: Unit
    sessions: tuple[Session, ...]
    upstream: Mapping[str, Mapping[Unit, Artifact]]
    turn_labels: pa.Table | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    root: Path = Path()

    @property
    def session(self) -> Session:
        """The session of a per-session unit."""
        (session,) = self.sessions
        return session

    def episodes(self, name: str | None) -> tuple[Episode, ...]:
        """All episodes of the rating ``name``, in the order of the sessions."""
        return tuple(episode for session in self.sessions for episode in session.episodes(name))

    def split_episodes(self, name: str | None) -> SplitEpisodes:
        """The same with their splits; raises UnitError where the stage `split` has made none."""
        from apportion.corpus.splits.splits import SplitEpisodes

        return SplitEpisodes(self.episodes(name), self.required("split", "splits"))

    def table(self, stage: str, name: str, folder: Path | None = None) -> pa.Table | VectorTable | None:
        """The tables ``name`` of all needed units of ``stage``, one below the other; None where there are none.

        Columns of vectors stay in a file in ``folder``, where one is given.
        """
        from apportion.pipeline.engine.store import joined

        found = (artifact.table(name) for artifact in self.artifacts(stage) if artifact.has(f"{name}.parquet"))
        return joined(found, folder)

    def required(self, stage: str, name: str) -> pa.Table:
        """The same where the unit cannot do without; raises UnitError where there are none."""
        table = self.table(stage, name)
        if table is None:
            raise UnitError(f"{self.unit}: no {name} of the stage {stage!r} to work on; its own entry says why.")
        return table

    def artifacts(self, stage: str) -> list[Artifact]:
        """The artifacts of the needed units of ``stage``, ordered by unit."""
        units = self.upstream.get(stage, {})
        return [units[unit] for unit in sorted(units, key=_unit_order)]


@dataclass(frozen=True)
class Outputs:
    """What a stage gives back; files that it wrote into ``Work.out`` belong to its artifact too."""

    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    documents: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class BeforeRun:
    """What a stage's check may look at before any work is done.

    ``config`` is as it was given, ``rating`` the one that it chooses, ``units`` are those planned of the stage.
    ``sends`` is False where nothing will be sent, so that what requests would lack is worth a warning and no error.
    ``finished`` tells whether all of them are finished already.
    """

    config: Config
    root: Path
    sessions: Mapping[str, Session]
    units: tuple[Unit, ...]
    tools: Any = None
    sends: bool = True
    rating: str | None = None
    finished: Callable[[], bool] = lambda: False


StageFunction = Callable[[Inputs, "Config", Work], Outputs]
Axis = Literal["method", "seed", "perturbation"]


@dataclass(frozen=True)
class Stage:
    """One declared step of the chain; commands, runners, DAGs and the diagram are derived from it.

    ``needs`` names the stages it reads, ``per`` and ``over`` what it repeats for, ``reads`` the parts of a
    session it sees ("turns", "ratings", "media", "backgrounds", "events", "language") and ``settings`` the
    configuration that enters its key.
    ``applies`` leaves out combinations that there is nothing to do for (a recording's features where there is no
    recording), ``chosen`` all but some sessions, ``wants`` the needs that one unit can do without (the descriptors, for
    a method that reads text alone).
    """

    name: str
    fn: StageFunction
    needs: tuple[str, ...]
    per: Literal["session", "corpus"]
    over: tuple[Axis, ...] = ()
    version: int = 1
    help: str = ""
    reads: tuple[str, ...] = ("turns", "ratings", "backgrounds", "language")
    settings: Callable[[Config, Unit], Mapping[str, Any]] = lambda config, unit: {}
    """What of the configuration enters a unit's key; whichever session it is."""
    session_settings: Callable[[Config, Unit, Session, Path], Mapping[str, Any]] = lambda *given: {}
    """What of a unit's own session enters its key beside the parts that it reads; ``root`` is the corpus' folder."""
    methods: Callable[[Config], Collection[str]] = lambda config: config.decompose.methods
    """What a stage over methods has units of: the methods themselves, or the reward models that learn from them."""
    applies: Callable[[Config, Unit, Session | None], bool] = lambda config, unit, session: True
    chosen: Callable[[Config, Mapping[str, Session]], Collection[str]] = lambda config, sessions: sessions
    wants: Callable[[Unit, str], bool] = lambda unit, need: True
    without: Callable[[Config], Collection[str]] = lambda config: ()
    """The needs that a configuration does without, so that they are not made for this stage."""
    perturbations: Callable[[], Iterable[str]] = tuple
    """What a stage over perturbations has units of."""
    scored: bool = False
    """Whether it works on scores: where no session has one, it has no units."""
    spares: tuple[str, ...] = ()
    """The needs that all its units can do without: left out, or failed altogether, they hold nothing up."""
    idle: Callable[[Config, Mapping[str, Session]], str | None] = lambda config, sessions: None
    """Why a run has nothing for this stage to do although it could be called; None where it has."""
    gates: tuple[str, ...] = ()
    """The needs that decide whether a unit may go on and not what it makes: they do not enter its key."""
    read_as: Callable[[Config, Unit, str], Iterable[Unit]] = lambda config, unit, need: (unit,)
    """The units that stand for one of this stage where ``need``'s units are looked for: other methods', say."""
    facts: tuple[str, ...] = ()
    """Which facts of the run the stage reads: "versions", "quarantine", "warnings", "recordings" (what was chosen in
    them), "left_out", "unfinished", "lineage" (what each thing that is shown rests on)."""
    turn_labels: Callable[[Config], bool] = lambda config: False
    """Whether people's turn labels are shown to the stage; true for the evaluation, so that none can leak, for
    `hand-labels`, which lets those of training sessions alone pass, and for `align` by KTO, which takes those of the
    policy split alone."""
    tells_others_apart: bool = False
    """Whether its work tells several others beside the target apart; enters the key of such sessions alone."""
    concurrent: Callable[[Config, Unit, Session, Path], int] = lambda *given: 0
    """How many units like one of a session may wait for a server at once; 0 for work that computes. ``root`` as above.
    """
    asks: bool = False
    """Whether its units may ask a language model."""
    check: Callable[[BeforeRun], Iterable[str]] = lambda before: ()
    """Looks before any work at what the stage would stop at: gives warnings, raises InputError."""

    @property
    def fails_alone(self) -> bool:
        """Whether an input that it cannot use is a failure of this stage and no reason to end the run.

        So it is where the whole corpus is worked on and nobody is asked: a key that is not set stops every session.
        """
        return self.per == "corpus" and bool(self.needs) and not self.asks


class Stages(LazyMapping[Stage]):
    """The declared stages by name, in the order of the chain; each is loaded when it is first asked for.

    ``groups`` names those that are run together by another name than their own.
    """

    def __init__(
        self, names: Iterable[str], load: Callable[[str], Stage], groups: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        super().__init__(names, load)
        self._groups = groups

    @classmethod
    def of(cls, *stages: Stage) -> Stages:
        """Stages that are there already."""
        return cls([stage.name for stage in stages], {stage.name: stage for stage in stages}.__getitem__)

    def replaced(self, load: Callable[[str], Stage]) -> Stages:
        """Others in their place, by the same names and in the same groups."""
        return Stages(self, load, self._groups)

    def group(self, name: str) -> str:
        """What a person calls the stage by: the name of its group, or its own."""
        return self._groups.get(name, name)

    def called(self, name: str) -> tuple[str, ...]:
        """The stages that ``name`` means: the one of that name, or those of a group.

        Raises InputError: Nothing is called so; the message begins with the name.
        """
        if name in self:
            return (name,)
        together = tuple(each for each in self if self.group(each) == name)
        if not together:
            hint = did_you_mean(name, [*self, *set(self._groups.values())], "check the name.")
            raise InputError(f"{name!r}: no stage; {hint} The stages are: {', '.join(self)}.")
        return together


def _unit_order(unit: Unit) -> tuple[str, str, int, str]:
    return (unit.session_id or "", unit.method or "", -1 if unit.seed is None else unit.seed, unit.perturbation or "")
