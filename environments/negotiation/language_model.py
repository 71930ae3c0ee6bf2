"""How a language model negotiates: what it is asked, and how its answer is an act with a split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from apportion.environments.agents.language_model import ActionFormat, action_prompts
from apportion.environments.agents.registry import agents_by_name
from apportion.environments.environment import Action, Observation
from apportion.environments.negotiation.action_encoding import WITH_SPLIT
from apportion.environments.negotiation.contexts import ITEMS, MOST
from apportion.environments.negotiation.observation import SELECT
from apportion.foundation.registry import Registry
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, object_schema, short_json

KEEP = "keep"
"""The field in which a model writes a split."""


PROMPTS = action_prompts(Path(__file__).parent / "prompts", "apportion.negotiation_prompts")


def script_registry(entry_points: str, module: str, scripts: Mapping[str, str], **others: str) -> Registry:
    """Agents by name: the scripts of a module by their classes, ``others``, those everywhere and of packages."""
    return agents_by_name(entry_points, {**{name: f"{module}:{script}" for name, script in scripts.items()}, **others})


def fields(view: Observation, items: Sequence[str] = ITEMS) -> Mapping[str, Any]:
    """`KEEP`: how many of each of ``items`` the model keeps, null for acts that keep nothing."""
    counts = object_schema({item: {"type": "integer", "minimum": 0, "maximum": MOST} for item in items})
    return {KEEP: {**counts, "type": ["object", "null"]}}


def split_in(
    kind: str, document: Mapping[str, Any], view: Observation, items: Sequence[str] = ITEMS
) -> list[int] | None:
    """The split of a reply.

    Raises ReplyMistakeError: It is missing, no split, or more than there is.
    """
    keep = document[KEEP]
    if kind not in (*WITH_SPLIT, SELECT):
        return None
    if not isinstance(keep, dict) or set(keep) != set(items) or not all(type(n) is int for n in keep.values()):
        raise ReplyMistakeError(
            f'"{KEEP}" is {short_json(keep)}; "{kind}" needs how many you keep of each: {", ".join(items)}'
        )
    return [keep[item] for item in items]


def record(act: Action, view: Observation, items: Sequence[str] = ITEMS) -> Mapping[str, Any]:
    """The split of an act, as the model writes it."""
    return {KEEP: None if act.data is None else dict(zip(items, act.data, strict=True))}


FORM = ActionFormat(PROMPTS, ("base", "react"), fields, split_in, record)
