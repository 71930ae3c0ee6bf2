"""What an alignment chooses by name: the reward of its replies, the other side of its dialogues, what is played."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from apportion.environments.worlds import WORLDS
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.lazy import load_named
from apportion.foundation.registry import Registry
from apportion.foundation.settings import Settings, problems


@dataclass(frozen=True)
class Plugin:
    """A reward, a partner or an environment as it is declared.

    ``load`` names the function that makes it as ``module:attribute``: a reward is made by ``make(job, settings)`` and
    is a `apportion.rlhf.training.reward.SessionReward`, a partner by ``make(job, settings, episodes, history)`` and is
    a `apportion.rlhf.sampling.partner.Partner`. What is played is lent by ``make(job, settings, history)``, a context
    manager that gives `apportion.rlhf.sampling.environment_partner.Start` objects and their `EnvironmentPartner`.
    ``settings`` is the class of what ``make`` gets as ``settings``, a `apportion.foundation.settings.Settings` as
    ``module:Class``; None where it takes none. ``asks`` says that it asks a language model, whose settings its own are
    (`apportion.llm_client.settings.LLMSettings`). ``live`` says that a partner answers what the policy says.
    ``version`` goes up when the code answers or scores otherwise for the same settings.

    >>> Plugin("kind", "How kind a reply is", "my_package.rewards:make").identity({})
    {'name': 'kind', 'version': 1}
    """

    name: str
    title: str
    load: str
    settings: str | None = None
    asks: bool = False
    live: bool = True
    version: int = 1

    def make(self, *lent: Any) -> Any:
        """Whatever ``load`` makes of what it is lent.

        Raises InputError: It cannot be imported.
        """
        return self._named(self.load)(*lent)

    def checked(self, given: Mapping[str, Any]) -> Settings | None:
        """Its settings, of the values ``given``; None where it takes none.

        Raises InputError: A value that is not allowed, an unknown key, or any at all where it takes none.
        """
        if self.settings is None:
            if given:
                raise InputError(f"{self.name!r} takes no settings, and is given {', '.join(given)}; remove them")
            return None
        kind = self._named(self.settings)
        if not (isinstance(kind, type) and issubclass(kind, Settings)):
            raise InputError(
                f"{self.name!r}: {self.settings!r} is no class of settings "
                f"(apportion.foundation.settings.Settings). Its "
                "declaration must be corrected."
            )
        try:
            return kind.model_validate(dict(given))
        except ValidationError as error:
            allowed = sorted(kind.model_fields)
            told = problems(
                error, unknown=lambda place: did_you_mean(str(place[-1]), allowed, f"allowed are {', '.join(allowed)}")
            )
            raise InputError(f"{self.name!r}: {'; '.join(told)}") from None

    def identity(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What decides what it says, as plain JSON values for a key: name, version and settings but for NOT_IN_KEY.

        Settings that have a method ``identity()`` say for themselves what of them counts.

        Raises InputError: As `checked`.
        """
        settings = self.checked(given)
        named = {"name": self.name, "version": self.version}
        if settings is None:
            return named
        own = getattr(settings, "identity", None)
        plain = own() if own else settings.model_dump(mode="json", exclude=set(settings.NOT_IN_KEY))
        return {**named, "settings": plain}

    def _named(self, place: str) -> Any:
        return load_named(place, repr(self.name), "Install the package it comes from.")


REWARD_MODEL, RECORDED = "reward_model", "recorded"
"""What is chosen where nothing is said."""
OUTCOME, CREDIT = "outcome", "credit"
"""The rewards of episodes in an environment by its rules."""

THE_REWARD_MODEL = Plugin(
    REWARD_MODEL,
    "A trained reward model of turns",
    "apportion.rlhf.training.reward:of_job",
    settings="apportion.rlhf.policy_settings:OutcomeWeight",
)
THE_OUTCOME = Plugin(
    OUTCOME, "What the rules of the environment say at the end", "apportion.rlhf.training.reward:of_episodes"
)
THE_CREDIT = Plugin(
    CREDIT,
    "What each turn has brought of the outcome, by the environment's rules",
    "apportion.rlhf.training.reward:of_turns",
    settings="apportion.rlhf.sampling.live_credit:CreditSettings",
)
THE_STACKELBERG_REWARD = Plugin(
    "stackelberg",
    "How far a speech moves its follower towards what the leader wants to hear",
    "apportion.rlhf.stackelberg.reward:of_job",
    settings="apportion.rlhf.stackelberg.settings:RewardSettings",
)
THE_LATENT_REWARD = Plugin(
    "lspo",
    "How probably a trained strategy speaks of what a reply says (LSPO)",
    "apportion.rlhf.stackelberg.latent_reward:of_job",
    settings="apportion.rlhf.stackelberg.latent_reward:LatentSettings",
)
THE_RECORDED_PARTNER = Plugin(
    RECORDED, "What the other side said in the session", "apportion.rlhf.sampling.partner:of_job", live=False
)
LANGUAGE_MODEL = Plugin(
    "language-model",
    "A language model, asked at a server",
    "apportion.rlhf.sampling.language_model_partner:of_job",
    settings="apportion.rlhf.sampling.language_model_partner:LanguageModelPartnerSettings",
    asks=True,
)
POLICY = Plugin(
    "policy",
    "Another policy, answering on this machine",
    "apportion.rlhf.sampling.policy_partner:of_job",
    settings="apportion.rlhf.sampling.policy_partner:PolicyPartnerSettings",
)


def _live(world: str, starts: str) -> Plugin:
    """A world, played live."""
    place = "apportion.rlhf.sampling.starts"
    return Plugin(world, f"{world}, played live", f"{place}:of_job", settings=f"{place}:{starts}Starts", version=2)


SOTOPIA = _live("sotopia", "Sotopia")
NEGOTIATION = _live("negotiation", "Negotiation")
BARGAINING = _live("bargaining", "Bargaining")
CASINO = _live("casino", "Casino")
WEREWOLF = _live("werewolf", "Werewolf")
AVALON = _live("avalon", "Avalon")
ONUW = _live("onuw", "OneNight")


def _registry(what: str, group: str, *ours: str) -> Registry:
    return Registry(
        what=what,
        group=group,
        must_be="an apportion.rlhf.plugins.Plugin",
        fits=lambda thing: isinstance(thing, Plugin),
        ours={name: f"{__name__}:{place}" for name, _, place in (each.partition("=") for each in ours)},
    )


REWARDS = _registry(
    "reward",
    "apportion.rewards",
    "reward_model=THE_REWARD_MODEL",
    "outcome=THE_OUTCOME",
    "credit=THE_CREDIT",
    "stackelberg=THE_STACKELBERG_REWARD",
    "lspo=THE_LATENT_REWARD",
)
PARTNERS = _registry(
    "partner", "apportion.partners", "recorded=THE_RECORDED_PARTNER", "language-model=LANGUAGE_MODEL", "policy=POLICY"
)
ENVIRONMENTS = _registry(
    "environment", "apportion.environments", *(f"{world.name}={world.name.upper()}" for world in WORLDS)
)
