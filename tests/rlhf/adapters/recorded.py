"""Two made-up rollouts of one prompt, recorded with the rewards of their turns, in words of the tiny tokenizer."""

import json
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerFast

from tests.reward_model.tiny import tokenizer as tiny

PROMPT = [{"role": "user", "content": "train ?"}]
HEARD = "hotel ?"
ROLLOUTS = {("yes good", "at nine ."): (1.0, 0.5), ("no", "yes good ."): (-1.0, 2.0)}
"""By what the policy says, before and after the other side's words, what the turns are paid."""
CREDIT = ([0.5, -1.5], [-0.5, 1.5])
"""Their advantages, computed by hand: returns 1.5, 0.5 and 1.0, 2.0, less the other's."""
TEMPLATE = (
    "{% for m in messages %}{{ 'A' if m.role == 'assistant' else 'B' }} : {{ m.content }} </s> {% endfor %}"
    "{% if add_generation_prompt %}A : {% endif %}"
)


def said(*texts: str) -> list[dict[str, Any]]:
    """Turns of the policy, with the other side's words in between."""
    heard = {"role": "user", "content": HEARD}
    return [message for text in texts for message in (heard, {"role": "assistant", "content": text})][1:]


def rows() -> list[dict[str, Any]]:
    """As an export writes them: every turn begins a row."""
    found = []
    for answers, rewards in ROLLOUTS.items():
        heard = {"answers": list(answers), "replies": [HEARD], "turn_rewards": list(rewards)}
        later = {"answers": list(answers[1:]), "replies": [], "turn_rewards": list(rewards[1:])}
        found += [{"prompt": PROMPT, **heard}, {"prompt": [*PROMPT, *said(answers[0], "")[:-1]], **later}]
    return found


def write(folder: Path) -> str:
    """The rows in a file; its path."""
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    return str(path)


def tokenizer() -> PreTrainedTokenizerFast:
    """The tiny one, with a chat template."""
    found = tiny(special=False)
    found.chat_template = TEMPLATE
    return found
