"""What an alignment chooses by name: what of it enters the key, what it is lent, and what is looked at before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from apportion.foundation.errors import InputError, errors_called
from apportion.foundation.files import remembered_digest
from apportion.llm_client.transport.consent import who_reads
from apportion.pipeline.config import Config
from apportion.pipeline.engine.stage import BeforeRun
from apportion.rlhf.plugins import POLICY
from apportion.rlhf.policy.opening import check_policy
from apportion.rlhf.policy.prompts import read_prompts

if TYPE_CHECKING:
    from apportion.llm_client.settings import LLMSettings
    from apportion.rlhf.sampling.language_model_partner import LanguageModelPartnerSettings
    from apportion.rlhf.training.job import Asking

PARTNER, OTHER = "partner_settings", "environment_settings.llm"
"""What the settings of the two that can be asked are called in errors."""


def asking_of(config: Config) -> Asking:
    """What a partner, or a reward, that asks a language model is lent: the files and the budget of the run."""
    from apportion.rlhf.training.job import Asking

    run = config.run
    return Asking(config.llm_cache, run.recorded, run.record, run.prices, run.budget_usd)


def asking_partner(config: Config) -> LanguageModelPartnerSettings | None:
    """The settings of the partner where it asks a language model; None where it does not, or has no turn."""
    align = config.align
    if not align.enabled or align.max_turns == 1 or not align.partner_by.asks:
        return None
    from apportion.rlhf.sampling.language_model_partner import LanguageModelPartnerSettings

    settings = align.partner_by.checked(align.partner_settings)
    return settings if isinstance(settings, LanguageModelPartnerSettings) else None


def asking_other(config: Config) -> LLMSettings | None:
    """The model that has the other seat in the environment of `align`; None where none is asked."""
    named = config.align.environment_by
    if not config.align.enabled or named is None:
        return None
    asked = getattr(named.checked(config.align.environment_settings), "asked", None)
    return None if asked is None else asked.settings


def chosen_identity(config: Config) -> Mapping[str, Any]:
    """Reward, partner and prompts for the key; nothing where they are what they always were."""
    chosen = dict(config.align.chosen)
    if config.align.prompts is not None:
        chosen["prompts"] = remembered_digest(config.align.prompts)
    partner = asking_partner(config) or asking_other(config)
    if partner is not None and partner.provider == "recorded" and config.run.recorded is not None:
        chosen["recorded"] = remembered_digest(config.run.recorded)
    return {"chosen": chosen} if chosen else {}


def check_chosen(before: BeforeRun) -> Iterator[str]:
    """Whether the prompts can be read, and whether a partner that is asked could be asked now."""
    config = before.config
    with errors_called("align"):
        if config.align.prompts is not None:
            read_prompts(config.align.prompts)
        if config.align.max_turns > 1 and config.align.partner == POLICY.name:
            _check_partner_policy(config)
        _check_environment(config)
        partner = asking_partner(config) or asking_other(config)
        if partner is None or before.finished():
            return
        from apportion.rlhf.sampling.sotopia_reset import asker_of

        called = PARTNER if asking_partner(config) is not None else OTHER
        try:
            asker_of(partner, asking_of(config), called).check(looks_only=True)
        except InputError as error:
            if before.sends:
                raise
            yield f"the run itself would stop: align: {error}"
        else:
            if partner.provider == "openai" and partner.consent_host is not None:
                yield f"while the policy trains, its dialogues go to {who_reads(partner)}"


def _check_environment(config: Config) -> None:
    """Raise InputError where there is nothing to play, or nobody to play with."""
    named = config.align.environment_by
    if named is None:
        return
    settings: Any = named.checked(config.align.environment_settings)
    check = getattr(settings, "check", None)
    if check is not None:
        check()


def _check_partner_policy(config: Config) -> None:
    settings: Any = config.align.partner_by.checked(config.align.partner_settings)
    with errors_called("partner_settings"):
        # Its window is its own, and not the policy's that it answers.
        check_policy(settings.policy, settings)
