"""What a decomposition method declares of itself: what it needs, what it gives, where its code is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from apportion.foundation.arrays import Null
from apportion.foundation.errors import InputError
from apportion.foundation.registry import load_named
from apportion.foundation.settings import Settings


@dataclass(frozen=True)
class Method:
    """One way from a score to turn rewards.

    ``kind`` is ``judge`` (one session is enough: ``apportion.decompose.session_methods.runner.JudgeSession``) or
    ``fit`` (on a corpus). ``load`` names its code as ``module:attribute``, imported on first use. ``uses_descriptors``
    asks for the rater's behaviour in words, ``uses_features`` for it in numbers (of the voice where ``uses_voice``).
    ``uses_reactions`` asks for what was read of the replies; such a fit is called as
    `apportion.decompose.reactions.model.fit_reactions` is; one that ``uses_prior`` judges by a model of reactions that
    was learnt elsewhere, so that a corpus without a score will do. ``requests`` says that it asks a language model: it
    names what lists the first requests that judging a session makes
    (`apportion.decompose.session_methods.llm_requests.Requests`), so that a run can count, price and show them, hand
    them in as a batch, and have many sessions wait for the server at once. ``simulates`` says that it plays sessions on
    in the environment that made them: it is called with the session opened for that, as
    `apportion.decompose.session_methods.runner.JudgeWithRollouts` has it, and ``requests`` too, where what is played
    asks a model. ``plays_on`` false says that it only has histories scored as they stand. Where the simulator says
    which models its agents and its judge ask (`apportion.environments.episode_restorer.SupportsAgentReplacement`), a
    method need not name any ``requests``. ``reward_units`` says that its values are shares of the score already, so
    that no scale has to be found; ``attribution`` that they are amounts of contribution from 0 to ``highest``, blind to
    the score, and how they share it out (``apportion.decompose.projection``); ``unprojected`` that its values are
    rewards as they come, in units of their own, whose sum is no score, ``min_max`` that each dialogue's are brought to
    0 to 10 besides; ``width`` how wide the scale of its values is, where it has one; ``null`` what a turn without a
    value counts as: ``zero``, or the ``mean`` of its dialogue's values (of a method that asks by a prompt of ours, the
    prompt says that); ``section`` the part of ``DecomposeSettings`` that it reads, ``fixed`` the keys of it that its
    name decides, whatever is configured, and ``settings`` the class of a part that is not one of ours, a
    `apportion.foundation.settings.Settings`, as ``module:Class``. A mixed objective names the fit method of its
    global part (``whole``) and the judging method of its local one (``local``). ``uses_judgements`` says that it reads
    what the local method has judged in the same run, which has to be configured beside it unless it only teaches
    (``taught_by``). ``mixes`` says that it weighs sources by what they foretell of scores: its global and its local
    part, or all of ``decompose.stacking`` that the run has. ``recurrent`` says that
    its network reads a dialogue's turns one after the other, so that it is no reward model of single turns.
    ``measures`` says that it asks how probable words are, which no batch answers and no audit changes. ``version`` goes
    up when the code gives other values for the same settings: it and the name, not the place of the code, decide
    whether finished work is used again.

    >>> length = Method("length", "judge", "Length of the utterance", "my_package.methods:judge")
    >>> length.asks, length.hands_out_score
    (False, False)
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
        """Whether ``decompose.llm.max_sessions`` says how many sessions it judges."""
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
        """The object that ``requests`` names (`decompose.session_methods.llm_requests.Requests`); None where nothing is
        asked.

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
            It cannot be imported, or is no `apportion.foundation.settings.Settings`.
        """
        if self.settings is None:
            return None
        named = self._named(self.settings)
        if not (isinstance(named, type) and issubclass(named, Settings)):
            raise InputError(
                f"method {self.name!r}: {self.settings!r} is no class of settings "
                f"(apportion.foundation.settings.Settings), so "
                f"that decompose.{self.section} cannot be read. The method's declaration must be corrected."
            )
        return named

    def _named(self, place: str) -> Any:
        remedy = "Install the package it comes from, or leave the method out of decompose.methods."
        return load_named(place, f"method {self.name!r}", remedy)
