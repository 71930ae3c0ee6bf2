"""How a language model plays: what it is asked, and how its answer is an act with an aim."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from apportion.environments.agents.language_model import ActionFormat, action_prompts
from apportion.environments.deduction.events import aim_of
from apportion.environments.environment import Action, Observation
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, short_json

PLAYERS = "players"
"""The field in which a model writes at whom an act is aimed."""
PROMPTS = action_prompts(Path(__file__).parent / "prompts", "apportion.deduction_prompts")
STYLES = ("base", "react", "perspectives", "recon", "belief", "llm-ins", "lasi")
"""Our own prompts: `base` acts at once, `react` (Yao et al., 2023) writes a thought that nobody hears before.

`recon` is asked twice, as ReCon (Wang et al., 2024c) contemplates twice: `perspectives` infers the others' roles and
drafts an act, the revision asks how the others would take the draft, and gives the final act.

The others write private notes first, each by a request of its own. `belief` (Jin et al., 2024): which role everybody
has. `llm-ins` (the same): that, then one of their six tactics of discussion, where one may speak (their `rl-ins`
trains a policy to choose it). `lasi` (Lan et al., 2024): a summary, an analysis, and experience; then a plan and the
act. Our choices: beliefs are written before every act, at night, too; LASI's experience is of earlier games, this one
of the game so far, since an agent keeps nothing between episodes; its modules of plan and action are one request.
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


def standing(act: Action, marks: Mapping[str, str]) -> Action:
    """An act, its aim beside what says how it came about."""
    return act._replace(data={PLAYERS: act.data, **marks})


FORM = ActionFormat(PROMPTS, STYLES, fields, aim_in, record, standing)
