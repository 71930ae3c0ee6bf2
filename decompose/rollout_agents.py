"""Who plays sessions on for a method, and by which language model: from the settings of a run."""

from __future__ import annotations

from dataclasses import replace

from apportion.decompose.method import RolloutMethod
from apportion.decompose.methods import PLAYING
from apportion.decompose.settings import DecomposeSettings
from apportion.environments.role_assignment import RoleAssignment
from apportion.llm_client.model_spec import ModelSpec

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
    cast = RoleAssignment(own.agents.target, own.agents.partner, own.judge, own.temperature, chosen)
    return cast if method.plays_on else cast.scoring()
