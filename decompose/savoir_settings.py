"""The settings of credit by playing on: who plays, who scores, and how many histories."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from apportion.environments.role_assignment import SELF
from apportion.environments.scoring import BY_RULES
from apportion.foundation.settings import Settings


class PlayersSettings(Settings):
    """Who plays on: an agent by its name (conceding, base, base@MODEL, …), or self."""

    target: str = Field(
        default=SELF,
        min_length=1,
        description="in the seat whose acts are credited; self is who made the session. base, react and refine ask the "
        "model of decompose.llm, base@MODEL another one of its server",
    )
    partner: str = Field(default=SELF, min_length=1, description="in every other seat; a fixed partner, or self")


class SavoirSettings(Settings):
    """Credit by playing on (SAVOIR): sessions of simulated dialogues, of whose acts some are left out."""

    NOT_IN_KEY: ClassVar[frozenset[str]] = frozenset({"agents", "scorer", "temperature"})
    """Who plays on and who scores; they enter the cache key with the environment that makes them."""

    agents: PlayersSettings = PlayersSettings()
    scorer: str = Field(
        default=BY_RULES.called,
        min_length=1,
        description="who scores each play: rules, or a language model by the name of its prompt: paper (SOTOPIA-EVAL), "
        "paper@MODEL",
    )
    temperature: float | None = Field(
        default=None, ge=0, le=2, description="of agents that are language models; none is that of the corpus (1)"
    )

    rollouts: int = Field(
        default=2, ge=1, le=1000, description="J: times that each history is played on to its end (SAVOIR's is 2)"
    )
    weights: dict[str, float] | None = Field(
        default=None,
        min_length=1,
        description="by dimension its weight in a play's utility; SAVOIR's are { GOAL = 0.5, REL = 0.3, KNO = 0.2 }, "
        "which takes a judge that scores them. None is the rating that is credited, alone",
    )
    scaled: bool = Field(
        default=False, description="bring each dimension from its range to 0 to 10 before it is weighted"
    )
    budget: int | None = Field(
        default=None,
        ge=4,
        description="coalitions of acts, at most; none is SAVOIR's min(12n + 2, 200) for n acts. As many as there are "
        "(2^n) make the values exact",
    )
    seed: int = Field(default=0, ge=0, description="of the coalitions drawn, and of everything drawn in play")
    common_random_numbers: bool = Field(
        default=True, description="draw the same in play j of every history, so that luck does not look like credit"
    )
