"""What a decomposition method declares: a class for each shape of method, what it reads, and what its values mean."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

from apportion.foundation.arrays import Null
from apportion.foundation.errors import InputError
from apportion.foundation.lazy import load_named
from apportion.foundation.settings import Settings


@dataclass(frozen=True)
class TurnScore:
    """One target turn's value in the method's own units.

    ``value`` is None where the method has nothing to say of the turn; ``sd`` is the spread over repeated samples in
    the same units, None for a single one; ``rationale`` is what the value rests on, in words; ``samples`` are the
    values that ``value`` is the mean of (K, None where a sample said nothing), empty for a single one.

    >>> TurnScore(3, -2.0, rationale="It answers another question.").value
    -2.0
    """

    turn: int
    value: float | None
    rationale: str | None = None
    sd: float | None = None
    samples: tuple[float | None, ...] = ()


class Input(Enum):
    """What a method reads of the rater's behaviour: measured features of face or voice, or descriptors in words."""

    FACE = "face"
    VOICE = "voice"
    DESCRIPTORS = "descriptors"


@dataclass(frozen=True)
class Scale:
    """What a method's values mean; ``null`` is what a turn without a value counts as: zero, or its dialogue's mean."""

    null: Null = field(default="mean", kw_only=True)


@dataclass(frozen=True)
class Projected(Scale):
    """Values on a scale of their own, ``width`` wide where it has ends, which are projected onto the score."""

    width: float | None = None


@dataclass(frozen=True)
class ScoreUnits(Scale):
    """Shares of the score: no factor has to be found."""


@dataclass(frozen=True)
class Attribution(Scale):
    """Amounts of contribution from 0 to ``highest``, blind to the score; ``how`` says how they share it out."""

    how: Literal["share", "fraction"]
    highest: float | None = None


@dataclass(frozen=True)
class Raw(Scale):
    """Rewards as they come, whose sum is no score; with ``min_max`` each dialogue's are brought to 0 to 10."""

    min_max: bool = False


@dataclass(frozen=True)
class Section:
    """The part of ``DecomposeSettings`` that a method reads.

    ``fixed`` are keys that the method decides, whatever is configured; ``settings`` names the class of a section that
    a package brings (`apportion.foundation.settings.Settings`), as ``module:Class``.
    """

    name: str
    fixed: tuple[tuple[str, Any], ...] = ()
    settings: str | None = None


@dataclass(frozen=True)
class Method:
    """One way from a score to turn rewards: a `SessionMethod` or a `CorpusMethod`.

    ``languages`` are the ISO 639-1 codes of those whose words it understands: of a session in another it says nothing,
    which a run tells. None is for all: it reads no words, learns them here, or asks a language model.

    ``load`` names its code as ``module:attribute``, imported on first use. ``version`` goes up when the code gives
    other values for the same settings: name and version, not the place of the code, decide whether work is used again.

    >>> length = SessionMethod("length", "Length of the utterance", "my_package.methods:judge")
    >>> length.asks, length.hands_out_score
    (False, False)
    """

    name: str
    title: str
    load: str
    section: Section | None = field(default=None, kw_only=True)
    scale: Scale = field(default=Projected(), kw_only=True)
    version: int = field(default=1, kw_only=True)
    languages: frozenset[str] | None = field(default=None, kw_only=True)
    requests: str | None = field(default=None, init=False)

    @property
    def inputs(self) -> frozenset[Input]:
        """What it reads of the rater's behaviour."""
        return frozenset()

    @property
    def reads_features(self) -> bool:
        """Whether it reads the rater's behaviour in numbers."""
        return not self.inputs.isdisjoint((Input.FACE, Input.VOICE))

    @property
    def reads_descriptors(self) -> bool:
        """Whether it reads the rater's behaviour in words."""
        return Input.DESCRIPTORS in self.inputs

    @property
    def asks(self) -> bool:
        """Whether it asks a language model itself."""
        return self.requests is not None

    @property
    def measures_here(self) -> bool:
        """Whether it runs a language model on this machine."""
        return False

    @property
    def judges_subset(self) -> bool:
        """Whether ``decompose.llm.max_sessions`` says how many sessions it judges."""
        return self.asks and (self.reads("llm") or self.reads("rubric"))

    @property
    def hands_out_score(self) -> bool:
        """Whether its values are meant to sum to the score itself: one session alone knows of no training mean."""
        return isinstance(self, SessionMethod) and isinstance(self.scale, ScoreUnits)

    @property
    def recurrent(self) -> bool:
        """Whether its network reads a dialogue's turns in order, so that it is no reward model of single turns."""
        return False

    @property
    def parts(self) -> Mapping[str, Method]:
        """The methods that it is made of, by their key in an artifact's identity."""
        return {}

    def reads(self, section: str) -> bool:
        """Whether ``section`` is its part of the settings."""
        return self.section is not None and self.section.name == section

    def missing(self, names: Collection[str]) -> str | None:
        """The method whose judgements it reads and that is not among ``names``; None for none."""
        return None

    def resolve(self) -> Any:
        """The object that ``load`` names.

        Raises InputError: The module or the attribute cannot be imported.
        """
        return self._named(self.load)

    def resolve_requests(self) -> Any:
        """What lists its first requests (`decompose.session_methods.llm_requests.Requests`); None where it asks none.

        Raises InputError: The module or the attribute cannot be imported.
        """
        return None if self.requests is None else self._named(self.requests)

    def settings_class(self) -> type[Settings] | None:
        """The class of a section that a package brings; None where the section is one of ours, or there is none.

        Raises InputError: It cannot be imported, or is no `apportion.foundation.settings.Settings`.
        """
        if self.section is None or self.section.settings is None:
            return None
        named = self._named(self.section.settings)
        if not (isinstance(named, type) and issubclass(named, Settings)):
            raise InputError(
                f"method {self.name!r}: {self.section.settings!r} is no class of settings "
                f"(apportion.foundation.settings.Settings), so that decompose.{self.section.name} cannot be read. The "
                "method's declaration must be corrected."
            )
        return named

    def _named(self, place: str) -> Any:
        remedy = "Install the package it comes from, or name another decompose.method."
        return load_named(place, f"method {self.name!r}", remedy)


@dataclass(frozen=True)
class SessionMethod(Method):
    """A method to which one session is enough (`apportion.decompose.session_methods.runner.JudgeSession`)."""

    inputs: frozenset[Input] = field(default=frozenset(), kw_only=True)


@dataclass(frozen=True)
class LLMMethod(SessionMethod):
    """A method that asks a language model about a session.

    ``requests`` names what lists its first requests, so that a run can count, price, preview and batch them.
    """

    requests: str = field(kw_only=True)


@dataclass(frozen=True)
class RubricMethod(SessionMethod):
    """A method that asks a language model which signals of a rubric occur; the run has the rubric written before.

    No audit asks by it: its question is not worded by ``decompose.llm.prompt``.
    """

    requests: str = field(kw_only=True)


@dataclass(frozen=True)
class LogprobMethod(SessionMethod):
    """A method that measures how probable words are, by a model here or, with ``requests``, at a server.

    No batch answers such requests, and no audit changes them.
    """

    requests: str | None = field(default=None, kw_only=True)

    @property
    def measures_here(self) -> bool:
        """Where no server is asked."""
        return not self.asks


@dataclass(frozen=True)
class RolloutMethod(SessionMethod):
    """A method that rolls sessions out in the environment that made them.

    Its code is called as `apportion.decompose.session_methods.runner.JudgeWithRollouts`. Where the environment says
    which models its agents and judge ask (`apportion.environments.episode_restorer.SupportsAgentReplacement`), it need
    name no ``requests``. With ``plays_on`` false it only has histories scored as they stand.
    """

    requests: str | None = field(default=None, kw_only=True)
    plays_on: bool = field(default=True, kw_only=True)


@dataclass(frozen=True)
class CorpusMethod(Method):
    """A method that is learned on a corpus."""


@dataclass(frozen=True)
class ObjectiveMethod(CorpusMethod):
    """An objective for the training loop, on which a reward model can be trained directly."""


@dataclass(frozen=True)
class RecurrentObjective(ObjectiveMethod):
    """An objective whose network reads a dialogue's turns in order."""

    @property
    def recurrent(self) -> bool:
        """True."""
        return True


@dataclass(frozen=True)
class MixedObjective(ObjectiveMethod):
    """A global and a local objective in one loss (GELI): ``whole`` learns from scores, ``local`` judges each turn."""

    whole: ObjectiveMethod = field(kw_only=True)
    local: SessionMethod = field(kw_only=True)

    @property
    def inputs(self) -> frozenset[Input]:
        """Those of its local part."""
        return self.local.inputs

    @property
    def recurrent(self) -> bool:
        """Whether its global part is."""
        return self.whole.recurrent

    @property
    def parts(self) -> Mapping[str, Method]:
        """Both."""
        return {"whole": self.whole, "local": self.local}


@dataclass(frozen=True)
class ReactionMethod(CorpusMethod):
    """A closed fit to what was read of the rater's replies (called as `decompose.reactions.model.fit_reactions`)."""


@dataclass(frozen=True)
class PretrainedReactions(ReactionMethod):
    """A model of reactions that was learned elsewhere: a corpus without scores will do."""


@dataclass(frozen=True)
class PredictedReaction(ReactionMethod):
    """A network that foretells what ``judges`` say of the reply that comes, from the dialogue before it alone."""

    judges: tuple[ReactionMethod, ...] = field(kw_only=True)

    @property
    def parts(self) -> Mapping[str, Method]:
        """What judges the replies that it learns from."""
        return {judge.name: judge for judge in self.judges}


@dataclass(frozen=True)
class StudentMethod(ReactionMethod):
    """A student of ``teacher``, which is asked whether or not it is among a run's methods."""

    teacher: LLMMethod = field(kw_only=True)

    @property
    def parts(self) -> Mapping[str, Method]:
        """Its teacher."""
        return {"local": self.teacher}


@dataclass(frozen=True)
class LabelStudent(ReactionMethod):
    """A student of people, who labelled turns of some training sessions."""


@dataclass(frozen=True)
class StackedMethod(ReactionMethod):
    """The sources of ``decompose.stacking`` that a run has, those that need no score moved by what scores taught."""


@dataclass(frozen=True)
class BlendedMethod(StackedMethod):
    """A model of reactions and one judge, weighed so; the judge has to be among a run's methods."""

    reaction: ReactionMethod = field(kw_only=True)
    judge: LLMMethod = field(kw_only=True)

    @property
    def parts(self) -> Mapping[str, Method]:
        """Both."""
        return {"whole": self.reaction, "local": self.judge}

    def missing(self, names: Collection[str]) -> str | None:
        """Its judge, where it is not among ``names``."""
        return None if self.judge.name in names else self.judge.name
