"""The policy card: what an aligned policy is, how it was made and how it is loaded."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from apportion.foundation.model_hub.names import FETCHED
from apportion.rlhf.plugins import REWARD_MODEL
from apportion.rlhf.policy.contexts import ContextSet
from apportion.rlhf.settings import AlignSettings

TINY_NOTE = (
    "**This is a tiny synthetic policy.** Its base is a LLaMA of {weights:,} weights that was built and warmed up on "
    "the spot, on the corpus' own dialogues (test sessions left out). It shows that the chain works; it is no useful "
    "dialogue model, and nothing said about it carries over to a real one."
)
RAISED = (
    "trained with {name} against a\nreward model{whose} that scores single turns, as in LLM-GELI (section 5.3). The "
    "reward model learned from the scores of one\ncorpus; a higher reward means more of what pleased its raters, and "
    "nothing else."
)
RAISED_BY_NAME = (
    "trained with {name} against the\nreward `{reward}` ({title}). A higher reward means more of what it counts, and "
    "nothing else."
)
TAUGHT = (
    "fine-tuned (SFT) on what the\ntargets of one corpus said (test sessions left out). No reward had a part in it: it "
    "speaks as they did, good or bad."
)
JUDGED = (
    "trained with {name} on what the\ntargets of one corpus said, good or bad: by people's labels of the turns, and "
    "where there were none by {judge} (`judged`: the\nshare that people judged)."
)
ROWS = {
    "reward": "mean reward",
    "kl": "KL from the base, nats a reply",
    "loss": "loss, nats a token",
    "margin": "good less bad replies' log-ratio, times `beta`",
    "response_tokens": "tokens a reply",
    "entropy": "entropy, nats a token",
}
NAMED_NOTE = "The base is `{base}` ({weights:,} weights), which is not copied here."


@dataclass(frozen=True)
class PolicyFacts:
    """What the card tells of one run beside its settings.

    ``step``: after which the adapters are; ``gold``: whether they have gained, in words.
    """

    base: str
    base_weights: int
    adapter_weights: int
    seed: int
    contexts: ContextSet
    step: int
    first: dict[str, float]
    last: dict[str, float]
    gold: str = ""


def policy_card(facts: PolicyFacts, settings: AlignSettings) -> str:
    """A README.md in the Hub's form; equal runs give equal bytes."""
    tiny = settings.policy == "tiny"
    note = (TINY_NOTE if tiny else NAMED_NOTE).format(base=facts.base, weights=facts.base_weights)
    base = "base" if tiny else facts.base
    if base in FETCHED:
        note += f" Below, put the folder that `apportion models path {base}` prints for its name."
    tokenizer = "base" if tiny else "."
    rewarded = settings.trainer.needs_reward
    source = f"sessions {'of the `policy`' if rewarded else 'outside the `test`'} split"
    if settings.prompts is not None and not settings.trainer.from_record:
        source = f"prompts of `{settings.prompts.name}`"
    if settings.environment is not None:
        source = f"seats in episodes of `{settings.environment}`, played live"
    # Theirs is no loss of tokens.
    preferred = "margin" in facts.first.keys() | facts.last.keys()
    rows = "\n".join(
        f"| {title} | {facts.first[name]:.3f} | {facts.last[name]:.3f} |"
        for name, title in ROWS.items()
        if name in facts.first.keys() & facts.last.keys() and not (name == "loss" and preferred)
    )
    return f"""---
base_model: {json.dumps(base)}
library_name: peft
pipeline_tag: text-generation
tags: [apportion, lora, {settings.algorithm}{", tiny, synthetic" if tiny else ""}]
---
# A dialogue policy {"aligned with turn rewards" if rewarded else "taught by example"}

{note}

Low-rank adapters ({facts.adapter_weights:,} weights on {", ".join(settings.lora.targets)}), {_how(settings)}

| | first step | {"last" if facts.step == settings.steps else "kept"} step ({facts.step}) |
|---|---|---|
{rows}

Contexts: {facts.contexts} ({source}). Seed: {facts.seed}.
{_gold(facts)}
## Loading

```python
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

folder = "."  # the folder of this card
tokenizer = AutoTokenizer.from_pretrained({_path(tokenizer)}, trust_remote_code=False)
policy = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained({_path(base) if tiny else repr(base)}), folder)
```
Reply with temperature {settings.temperature:g} and without top-p, as in training.

## Settings

```json
{json.dumps(_plain(settings), indent=1, sort_keys=True)}
```
"""


def _plain(settings: AlignSettings) -> dict[str, Any]:
    """The settings that decided what was made; reward, partner and prompts where they were chosen by name."""
    return {**settings.model_dump(mode="json", exclude=set(settings.NOT_IN_KEY)), **settings.chosen}


def _gold(facts: PolicyFacts) -> str:
    return f"\n## By gold\n\n{facts.gold}\n" if facts.gold else ""


def _how(settings: AlignSettings) -> str:
    if not settings.trainer.needs_reward:
        return TAUGHT
    name = settings.algorithm.upper()
    if settings.trainer.takes_thumbs:
        by = "a reward model" if settings.reward == REWARD_MODEL else f"the reward `{settings.reward}`"
        return JUDGED.format(name=name, judge=by)
    if settings.reward != REWARD_MODEL:
        return RAISED_BY_NAME.format(name=name, reward=settings.reward, title=settings.reward_by.title)
    other, joined = settings.reward_model, settings.joined
    whose = f" (the {joined})" if joined else "" if other is None else f" of another run (`{other.name}`)"
    return RAISED.format(name=name, whose=whose)


def _path(folder: str) -> str:
    return "folder" if folder == "." else f'f"{{folder}}/{folder}"'
