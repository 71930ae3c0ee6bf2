"""Whether influence can be measured as it is configured, before any work."""

from __future__ import annotations

from apportion.decompose.influence.chat_text import place_of
from apportion.decompose.influence.intents import read_intents
from apportion.decompose.influence_settings import INFLUENCE, SERVED, InfluenceSettings
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import InputError


def check_influence(settings: DecomposeSettings) -> None:
    """What can be known without a model's weights and without asking anybody.

    Raises InputError: No model is named, or its folder is not there; a file of intents that cannot be read.
    """
    chosen = settings.influence
    if INFLUENCE in settings.methods:
        place_of(named_model(chosen))
    if chosen.intents is not None and {INFLUENCE, SERVED} & set(settings.methods):
        read_intents(chosen.intents)


def named_model(chosen: InfluenceSettings) -> str:
    """The model on this machine that measures.

    Raises InputError: None is named.
    """
    if chosen.model is None:
        raise InputError(
            f"decompose.influence.model: the method {INFLUENCE!r} measures with a language model on this machine, and "
            "none is named. Give its folder or its name on the Hugging Face Hub, make a small one with `apportion "
            f"models train measurer CORPUS`, or use {SERVED}, which asks a server."
        )
    return chosen.model
