"""The key of a method's settings: which of them its values depend on, and what they mean under those settings."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from apportion.decompose.method import Attribution, Method, PretrainedReactions, Projected, Raw, Scale, ScoreUnits
from apportion.decompose.method_settings import MeasurerSettings
from apportion.decompose.methods import METHODS
from apportion.decompose.prompt_building.prompt import RUBRIC_PROMPT, load_prompt
from apportion.decompose.reactions.pretrained import prior_identity
from apportion.decompose.settings import DecomposeSettings, ReactionSettings
from apportion.features.vocal_intensity_model.model import intensity_identity
from apportion.foundation.arrays import Null
from apportion.foundation.files import remembered_digest
from apportion.foundation.model_hub.names import files_identity
from apportion.reward_model.settings import MINILM

FETCHING_ONLY = frozenset(
    {
        "base_url", "timeout_s", "max_retries", "max_reply_bytes", "total_timeout_s", "concurrency",
        "requests_per_minute", "tokens_per_minute", "api_key_env", "allow_host", "proxy", "proxy_auth_env",
        "max_reply_attempts", "prompt", "max_sessions", "selection_seed",
    }
)  # fmt: skip
"""LLM settings that decide how a reply is come by, not which; the prompt counts by its text, not by its name, and who
is judged is an artifact of its own."""

_WHERE_GIVEN = ("reasoning_effort", "extra_body")
"""Settings that are part of the identity where they are given: work from before there were any stays finished."""


def settings_identity(method: Method, settings: DecomposeSettings) -> dict[str, Any]:
    """The settings that decide ``method``'s values, as plain JSON values, for an artifact's key.

    Another method's settings, worker counts and addresses are not among them; the text of the prompt is, and the
    settings of the methods that it mixes.
    """
    mixed = {key: settings_identity(part, settings) for key, part in method.parts.items()}
    section = settings.section_of(method)
    values: dict[str, Any] = {} if section is None else json.loads(section.model_dump_json())
    if section is settings.stacking:  # What it is made of here; what methods have judged counts where it is read.
        mixed["reaction"] = settings_identity(METHODS["reaction"], settings)
        if "prior" in settings.stacking.components and settings.reaction.pretrained is not None:
            mixed["prior"] = settings_identity(METHODS["prior"], settings)
        if "reactions-en" in settings.stacking.components:
            mixed["reactions-en"] = settings_identity(METHODS["reactions-en"], settings)
    if section is settings.savoir:  # Who plays on and scores counts where a session is opened.
        values = {name: value for name, value in values.items() if name not in settings.savoir.NOT_IN_KEY}
    if section is settings.intensity:  # A model counts by what it is, not by where it lies.
        values["model"] = intensity_identity(settings.intensity.model)
    if isinstance(section, ReactionSettings):
        # Whose turns are credited is a part of the sessions themselves.
        read_by = {} if section.backbone == MINILM else files_identity("backbone_files", section.backbone)
        values = {**section.reading(), "recency_weights": values["recency_weights"], **read_by}
        if isinstance(method, PretrainedReactions):
            values["prior"] = prior_identity(section.pretrained)
    if isinstance(section, MeasurerSettings):
        values = section.identity(served=method.asks)
    if section is settings.llm:
        values = _asking_identity(settings)
    elif section is settings.rubric:  # Its own prompt, and a file by what it holds.
        file = settings.rubric.file  # One that is not there is told where it is read.
        asking = {**_asking_identity(settings), "prompt": load_prompt(RUBRIC_PROMPT).identity()}
        values = {"llm": asking, "file": remembered_digest(file) if file is not None and file.is_file() else None}
    elif method.asks:
        values["llm"] = _asking_identity(settings)
    return {"method": method.name, "version": method.version, **values, **mixed}


def _asking_identity(settings: DecomposeSettings) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(settings.llm.model_dump_json())
    deciding = {name: value for name, value in values.items() if name not in FETCHING_ONLY}
    for name in _WHERE_GIVEN:
        if not deciding[name]:
            del deciding[name]
    return {**deciding, "prompt": load_prompt(settings.llm.prompt).identity()}


def configured(method: Method, settings: DecomposeSettings) -> Method:
    """``method`` as these settings make it: its prompt says what its values are, and what a null counts as."""
    if settings.section_of(method) is not settings.llm:
        return method
    prompt = load_prompt(settings.llm.prompt)
    null: Null = "mean" if prompt.null == "mean" else "zero"
    width = None if prompt.low is None or prompt.high is None else prompt.high - prompt.low
    scale: Scale = Projected(width, null=null)
    if isinstance(method.scale, Raw):
        scale = replace(method.scale, null=null)
    elif prompt.units == "attribution":
        scale = Attribution(settings.attribution, prompt.high, null=null)
    elif prompt.units == "score":
        scale = ScoreUnits(null=null)
    return replace(method, scale=scale)
