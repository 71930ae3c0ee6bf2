"""The registry of decomposition methods: what each one is called, needs and gives."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Literal

from foundation.arrays import Null
from foundation.errors import InputError
from foundation.nearest import nearest
from foundation.registry import load_brought, load_named, points_of
from foundation.settings import Settings

ENTRY_POINTS = "apportion.methods"
REACTIONS_EN = Path(__file__).parent / "reactions" / "shipped" / "reactions-en.safetensors"
"""The model of reactions that comes with this package; `demo/reactions_en` has what taught it."""
PLAYING = "savoir"
"""The section of the methods that play on as [decompose.savoir] says."""


@dataclass(frozen=True)
class Method:
    """One way from a score to turn rewards.

    ``kind`` is ``judge`` (one session is enough: ``decompose.judging.sessions.Judge``) or ``fit`` (on a corpus).
    ``load`` names its code as ``module:attribute``, imported on first use. ``uses_descriptors`` asks for the rater's
    behaviour in words, ``uses_features`` for it in numbers (of the voice where ``uses_voice``). ``uses_reactions`` asks
    for what was read of the replies; such a fit is called as `decompose.reactions.model.fit_reactions` is; one that
    ``uses_prior`` judges by a model of reactions that was learnt elsewhere, so that a corpus without a score will do.
    ``requests`` says that it asks a language model: it names what lists the first requests that judging a session
    makes (`decompose.judging.requests.Requests`), so that a run can count, price and show them, hand them
    in as a batch, and have many sessions wait for the server at once. ``simulates`` says that it plays sessions on in
    the environment that made them: it is called with the session opened for that, as
    `decompose.judging.sessions.SimulatingJudge` has it, and ``requests`` too, where what is played asks a model.
    ``plays_on`` false says that it only has histories scored as they stand. Where the simulator says which models its
    agents and its judge ask (`environments.simulator.Recastable`), a method need not name any ``requests``.
    ``reward_units`` says that its values are shares of the score already, so that no scale has to be found;
    ``attribution`` that they are amounts of contribution from 0 to ``highest``, blind to the score, and how they share
    it out (``decompose.projection``); ``unprojected`` that its values are rewards as they come, in units of their own,
    whose sum is no score, ``min_max`` that each dialogue's are brought to 0 to 10 besides; ``width`` how wide the
    scale of its values is, where it has one;
    ``null`` what a turn without a value counts as: ``zero``, or the ``mean`` of its dialogue's values (of a method
    that asks by a prompt of ours, the prompt says that); ``section``
    the part of ``DecomposeSettings`` that it reads, ``fixed`` the keys of it that its name decides, whatever is
    configured, and ``settings`` the class of a part that is not one of ours, a
    `foundation.settings.Settings`, as ``module:Class``. A mixed objective names the fit method of its
    global part (``whole``) and the judging method of its local one (``local``). ``uses_judgements`` says that it reads
    what the local method has judged in the same run, which has to be configured beside it unless it only teaches
    (``taught_by``). ``mixes`` says that it weighs sources by what they foretell of scores: its global and its local
    part, or all of ``decompose.mix`` that the run has. ``recurrent`` says that
    its network reads a dialogue's turns one after the other, so that it is no reward model of single turns.
    ``measures`` says that it asks how probable words are, which no batch answers and no audit changes. ``version`` goes
    up when the code gives other values for the same settings: it and the name, not the place of the code, decide
    whether finished work is used again.

    >>> length = Method("length", "judge", "Length of the utterance", "my_package.methods:judge")
    >>> length.asks, METHODS["llm"].asks
    (False, True)
    """

    name: str
    kind: Literal["judge", "fit"]
    title: str
    load: str
    uses_descriptors: bool = False
    uses_reactions: bool = False
    uses_prior: bool = False
    requests: str | None = None
    simulates: bool = False
    plays_on: bool = True
    reward_units: bool = False
    attribution: Literal["share", "fraction"] | None = None
    unprojected: bool = False
    min_max: bool = False
    highest: float | None = None
    width: float | None = None
    null: Null = "mean"
    section: str | None = None
    fixed: tuple[tuple[str, Any], ...] = ()
    settings: str | None = None
    uses_features: bool = False
    uses_voice: bool = False
    whole: str | None = None
    local: str | None = None
    uses_judgements: bool = False
    recurrent: bool = False
    mixes: bool = False
    measures: bool = False
    version: int = 1

    def __post_init__(self) -> None:
        if self.settings is not None and self.section is None:
            raise InputError(f"method {self.name!r}: settings without a section, decompose.SECTION; name it.")
        if self.simulates and self.kind != "judge":
            raise InputError(
                f"method {self.name!r}: simulates is for the kind 'judge', which sees one session; its kind is "
                f"{self.kind!r}. The method's declaration must be corrected."
            )

    @property
    def asks(self) -> bool:
        """Whether it asks a language model."""
        return self.requests is not None

    @property
    def taught_by(self) -> str | None:
        """The judging method that teaches it, which is asked for that whether or not it is among a run's methods."""
        return self.local if self.uses_judgements and self.whole is None else None

    @property
    def judges_some(self) -> bool:
        """Whether ``decompose.llm.judge_sessions`` says how many sessions it judges."""
        return self.asks and self.section == "llm"

    @property
    def is_audited(self) -> bool:
        """Whether it can be asked about a session that was changed in one way: what was never played cannot go on."""
        return self.asks and not (self.simulates or self.measures)

    @property
    def hands_out_score(self) -> bool:
        """Whether its values are meant to sum to the score itself, whatever rewards shall sum to.

        What judges one session alone knows of no training mean; what is learned learns what its target says.
        """
        return self.reward_units and self.kind == "judge"

    @property
    def is_objective(self) -> bool:
        """Whether it is an objective for the training loop, on which a reward model can be trained directly."""
        return self.kind == "fit" and not (self.uses_reactions or self.uses_judgements)

    def lacks(self, names: Collection[str]) -> str | None:
        """The method whose judgements it reads and that is not among ``names``; None for none."""
        if not self.uses_judgements or self.local is None or self.taught_by is not None:
            return None
        return None if self.local in names else self.local

    def resolve(self) -> Any:
        """The object that ``load`` names.

        Raises
        ------
        InputError
            The module or the attribute cannot be imported.
        """
        return self._named(self.load)

    def resolve_requests(self) -> Any:
        """The object that ``requests`` names (`decompose.judging.requests.Requests`); None where nothing is asked.

        Raises
        ------
        InputError
            The module or the attribute cannot be imported.
        """
        return None if self.requests is None else self._named(self.requests)

    def settings_class(self) -> type[Settings] | None:
        """The class that ``settings`` names; None where ``section`` is one of ours.

        Raises
        ------
        InputError
            It cannot be imported, or is no `foundation.settings.Settings`.
        """
        if self.settings is None:
            return None
        named = self._named(self.settings)
        if not (isinstance(named, type) and issubclass(named, Settings)):
            raise InputError(
                f"method {self.name!r}: {self.settings!r} is no class of settings (foundation.settings.Settings), so "
                f"that decompose.{self.section} cannot be read. The method's declaration must be corrected."
            )
        return named

    def _named(self, place: str) -> Any:
        remedy = "Install the package it comes from, or leave the method out of decompose.methods."
        return load_named(place, f"method {self.name!r}", remedy)


def _mix(name: str, title: str, whole: str, local: str) -> Method:
    return Method(
        name,
        "fit",
        title,
        "decompose.learning.geli:GELI",
        reward_units=True,
        section="geli",
        whole=whole,
        local=local,
        recurrent=whole == "rudder",
    )


def _signal(name: str, title: str, load: str, **declared: Any) -> tuple[Method, Method]:
    """A local signal projected onto the score, and alone: a reward by itself, as VA and LS in LLM-GELI's Table 4."""
    projected = Method(name, "judge", title, load, **{"section": name, **declared})
    return projected, replace(projected, name=f"{name}-raw", title=f"{title}, alone", unprojected=True)


def _played(name: str, title: str, function: str | None = None, **declared: Any) -> Method:
    """A credit by playing on (SAVOIR), in the units of its utility."""
    load = f"decompose.judging.savoir:{function or name.replace('-', '_')}"
    return Method(name, "judge", title, load, simulates=True, unprojected=True, section=PLAYING, **declared)


def _rrd(name: str, title: str, **fixed: Any) -> Method:
    load = "decompose.learning.rrd:RRD"
    return Method(name, "fit", title, load, reward_units=True, section="rrd", fixed=tuple(fixed.items()))


_OURS = (
    Method("uniform", "judge", "Uniform: every turn the same share", "decompose.judging.uniform:judge"),
    *_signal("sentiment", "Sentiment of the rater's next reply", "decompose.judging.sentiment:judge", width=2.0),
    *_signal(
        "sentiment-utterance",
        "Sentiment of the utterance itself",
        "decompose.judging.sentiment:judge_utterance",
        width=2.0,
        section="sentiment",
    ),
    *_signal("affect", "Visual affect of the rater", "decompose.judging.affect:judge", uses_features=True),
    *_signal(
        "intensity",
        "Vocal intensity of the rater's next reply",
        "decompose.judging.intensity:judge",
        uses_features=True,
        uses_voice=True,
        width=1.0,
    ),
    Method(
        "episode-score",
        "judge",
        "The episode's score on every act",
        "decompose.judging.episode_score:judge",
        unprojected=True,
    ),
    _played("savoir", "SAVOIR: Shapley values of acts, played on", version=2),
    _played("savoir-paper", "SAVOIR as published: appendix D's coalitions, from 0 to 10", "savoir_paper", min_max=True),
    _played("savoir-paper-raw", "SAVOIR as published, before it is brought to 0 to 10", "savoir_paper"),
    _played("shapley-hindsight", "Shapley values of acts, not played on", plays_on=False, version=2),
    _played("expected-utility", "Expected utility after each act less that before"),
    _played("leave-one-out", "Expected utility of all acts less that without one"),
    Method(
        "llm",
        "judge",
        "LLM-GELI, text",
        "decompose.judging.llm:judge",
        requests="decompose.judging.llm:requests_for",
        section="llm",
        version=2,
    ),
    Method(
        "sotopia-rl",
        "judge",
        "Sotopia-RL: attributions of several dimensions, weighted",
        "decompose.judging.dimensions:judge",
        requests="decompose.judging.dimensions:requests_for",
        unprojected=True,
        section="sotopia_rl",
    ),
    Method(
        "llm-multimodal",
        "judge",
        "LLM-GELI, multimodal",
        "decompose.judging.llm:judge",
        uses_descriptors=True,
        requests="decompose.judging.llm:requests_for",
        section="llm",
        version=2,
    ),
    Method(
        "influence",
        "judge",
        "Influence on the reply, by a model on this machine",
        "decompose.influence.judge:judge",
        section="influence",
    ),
    Method(
        "influence-served",
        "judge",
        "Influence on the reply, by a server",
        "decompose.influence.judge:judge_served",
        requests="decompose.influence.judge:requests_for",
        section="influence",
        measures=True,
    ),
    _rrd("rrd", "Randomized return decomposition"),
    _rrd("rrd-published", "Randomized return decomposition, published loss", corrected=False),
    _rrd("rrd-160", "Randomized return decomposition, 160 turns drawn", k=160),
    _rrd(
        "rrd-160-published", "Randomized return decomposition, 160 turns drawn, published loss", k=160, corrected=False
    ),
    Method("ircr", "fit", "Iterative relative credit refinement", "decompose.learning.ircr:IRCR", reward_units=True),
    Method(
        "rudder",
        "fit",
        "RUDDER: return decomposition",
        "decompose.learning.rudder:RUDDER",
        reward_units=True,
        section="rudder",
        recurrent=True,
    ),
    _mix("rrd-va", "GELI: RRD with visual affect", "rrd", "affect"),
    _mix("rrd-ls", "GELI: RRD with language sentiment", "rrd", "sentiment"),
    _mix("ircr-va", "GELI: IRCR with visual affect", "ircr", "affect"),
    _mix("rudder-va", "GELI: RUDDER with visual affect", "rudder", "affect"),
    Method(
        "reaction",
        "fit",
        "Reaction-aware decomposition",
        "decompose.reactions.model:fit_reactions",
        uses_reactions=True,
        section="reaction",
    ),
    Method(
        "prior",
        "fit",
        "Reactions, as other corpora taught them",
        "decompose.reactions.travel:judge_by_prior",
        uses_reactions=True,
        uses_prior=True,
        section="reaction",
    ),
    Method(
        "reactions-en",
        "fit",
        "Reactions, by a student of a language model that judged made-up English dialogues",
        "decompose.reactions.travel:judge_by_prior",
        uses_reactions=True,
        uses_prior=True,
        section="reaction",
        fixed=(("prior", REACTIONS_EN),),
    ),
    Method(
        "reaction-llm",
        "fit",
        "Reactions blended with a language model's judgements",
        "decompose.sources.mixing:mix",
        uses_reactions=True,
        section="blend",
        whole="reaction",
        local="llm",
        uses_judgements=True,
        mixes=True,
        version=3,
    ),
    Method(
        "mix",
        "fit",
        "All sources, each as far as it foretells scores",
        "decompose.sources.mixing:mix",
        uses_reactions=True,
        section="mix",
        uses_judgements=True,
        mixes=True,
    ),
    Method(
        "llm-student",
        "fit",
        "Student of a language model that judged some sessions",
        "decompose.sources.student:fit_student",
        uses_reactions=True,
        section="reaction",
        local="llm",
        uses_judgements=True,
    ),
)


class _Registry(Mapping[str, Method]):
    """Our methods, then those that installed packages bring; a package's code is imported when it is asked for."""

    _ours: Mapping[str, Method] = {method.name: method for method in _OURS}

    def __getitem__(self, name: str) -> Method:
        return self._ours[name] if name in self._ours else _brought(_entry_points()[name])

    def __contains__(self, name: object) -> bool:
        return name in self._ours or name in _entry_points()

    def __iter__(self) -> Iterator[str]:
        yield from self._ours
        yield from (name for name in _entry_points() if name not in self._ours)

    def __len__(self) -> int:
        return sum(1 for _ in self)


METHODS: Mapping[str, Method] = _Registry()


def section_classes() -> dict[str, type[Settings]]:
    """The classes of the settings that packages' methods bring, by their section.

    A method that cannot be loaded is left out: whoever uses it is told why.
    """
    classes = {}
    for name in METHODS:
        if name not in _Registry._ours:
            with suppress(InputError):
                method = METHODS[name]
                classes[str(method.section)] = method.settings_class()
    return {section: made for section, made in classes.items() if made is not None}


def find_method(name: str) -> Method:
    """The method of this name.

    Raises
    ------
    InputError
        No such method (with the nearest name and all that are allowed), or a package's method cannot be loaded.
    """
    problem = unknown_method(name)
    if problem:
        raise InputError(problem)
    return METHODS[name]


def unknown_method(name: str) -> str | None:
    """What to tell a person who named this method; None where it exists."""
    if name in METHODS:
        return None
    allowed = sorted(METHODS)
    near = nearest(name, allowed)
    hint = f"; did you mean {near!r}?" if near else "."
    return f"no decomposition method {name!r}{hint} Allowed: {', '.join(allowed)}."


def needs_voice(name: str) -> bool:
    """Whether this method listens to recordings."""
    return METHODS[name].uses_voice


def needs_face(name: str) -> bool:
    """Whether this method, or the local part of its objective, looks at faces."""
    return needs_features(name) and not needs_voice(name)


def needs_features(name: str) -> bool:
    """Whether this method, or the local part of its objective, learns from the rater's behaviour in numbers."""
    method = METHODS[name]
    return method.uses_features or (method.local is not None and METHODS[method.local].uses_features)


def _entry_points() -> Mapping[str, EntryPoint]:
    return points_of(ENTRY_POINTS)


def _brought(point: EntryPoint) -> Method:
    method: Method = load_brought(
        point,
        lambda thing: isinstance(thing, Method) and thing.name == point.name,
        "a decompose.methods.Method of the same name",
    )
    return method
