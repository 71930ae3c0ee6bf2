"""The language models of a decomposition: who is asked, and who plays sessions on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from apportion.decompose.method import RolloutMethod
from apportion.decompose.methods import PLAYING
from apportion.decompose.settings import DecomposeSettings
from apportion.environments.role_assignment import RoleAssignment
from apportion.llm_client.cache.database import Place
from apportion.llm_client.model_spec import ModelSpec
from apportion.llm_client.session import LLMSession

TOO_LONG = "Long dialogues are asked in parts where decompose.llm.context_tokens says what the model takes."


def asker_of(
    settings: DecomposeSettings,
    *,
    cache: Place | None = None,
    recorded: Path | None = None,
    record: Path | None = None,
    prices: Path | None = None,
    budget_usd: float | None = None,
) -> LLMSession:
    """Lends the language model of ``settings.llm``; the files and the budget are `llm_client.session.LLMSession`'s."""
    return LLMSession(
        settings.llm,
        cache=cache,
        recorded=recorded,
        record=record,
        prices=prices,
        budget_usd=budget_usd,
        called="decompose.llm",
        too_long=TOO_LONG,
    )


CALLED = f"decompose.{PLAYING}"
"""The section, for errors."""


def cast_of(method: RolloutMethod, settings: DecomposeSettings) -> RoleAssignment:
    """The cast of a method that simulates: of ours as [decompose.savoir] says, of a package's who made the session.

    Agents and judges ask the server of decompose.llm: the model behind their @, or the one that is configured there.
    Their replies are as long as those of ``simulate`` and ``judge`` are, unless decompose.llm.max_tokens says.
    """
    llm = settings.llm
    chosen = ModelSpec(llm.model, reasoning_effort=llm.reasoning_effort, extra_body=llm.extra_body or None)
    if llm.max_tokens is not None:
        chosen = replace(chosen, max_tokens=llm.max_tokens)
    if not method.reads(PLAYING):
        return RoleAssignment(chosen=chosen)
    own = settings.savoir
    cast = RoleAssignment(own.agents.target, own.agents.partner, own.scorer, own.temperature, chosen)
    return cast if method.plays_on else cast.scoring()
