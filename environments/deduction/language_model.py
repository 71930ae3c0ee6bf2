"""How a language model plays: what it is asked, and how its answer is an act with an aim."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from apportion.environments.agents.agent import UNREVISED
from apportion.environments.agents.language_model import ActionFormat
from apportion.environments.deduction.events import aim_of
from apportion.environments.environment import Action, Observation
from apportion.llm_client.prompts.prompt_file import PromptKind
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, short_json

PLAYERS = "players"
"""The field in which a model writes at whom an act is aimed."""
PROMPTS = PromptKind(
    folder=Path(__file__).parent / "prompts",
    entry_points="apportion.deduction_prompts",
    setting="agent",
    header=("title", "revises"),
    blanks=frozenset({"situation", "legal", "draft"}),
    needed=("situation", "legal"),
    form="A prompt is a header (title, revises), then [system] and [user]; see docs/guides/worlds.md",
)
STYLES = ("base", "react", "perspectives", "recon")
"""Our own prompts: `base` acts at once, `react` (Yao et al., 2023) writes a thought that nobody hears before.

`recon` is asked twice, as ReCon (Wang et al., 2024c) contemplates twice: `perspectives` infers the others' roles and
drafts an act, the revision asks how the others would take the draft, and gives the final act.
"""


def fields(view: Observation) -> Mapping[str, Any]:
    """`PLAYERS`: numbers of players, where some act of this phase is aimed at any."""
    if not any(view.facts.choices.values()):
        return {}
    return {PLAYERS: {"type": ["array", "null"], "items": {"type": "integer"}}}


def aim_in(kind: str, document: Mapping[str, Any], view: Observation) -> Any:
    """The data of a reply. Raises ReplyMistakeError: it is no list of numbers; which are allowed, the rules say."""
    aims = view.facts.choices.get(kind, ())
    if not aims:
        return None
    numbers = document[PLAYERS]
    numbers = [numbers] if type(numbers) is int else numbers
    if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
        raise ReplyMistakeError(f'"{PLAYERS}" is {short_json(numbers)}; "{kind}" needs a list of numbers')
    return numbers[0] if len(numbers) == 1 and type(aims[0]) is int else numbers


def record(act: Action, view: Observation) -> Mapping[str, Any]:
    """The aim of an act, as the model writes it."""
    aim = aim_of(act.data)
    players = None if aim is None else list(aim) if isinstance(aim, tuple) else [aim]
    return {PLAYERS: players} if fields(view) else {}


def standing(act: Action, mistake: str) -> Action:
    """A draft that stands, its aim beside the mistake of its revision."""
    return act._replace(data={PLAYERS: act.data, UNREVISED: mistake})


FORM = ActionFormat(PROMPTS, STYLES, fields, aim_in, record, standing)
