"""Responses of several turns, and replies before and after a training side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import isfinite

import pyarrow as pa
import torch
from peft import PeftModel

from apportion.foundation.errors import InputError
from apportion.rlhf.policy.contexts import ContextTurn, DialogueContext, render
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.sampling.partner import Partner, Stage, answers
from apportion.rlhf.sampling.policy_agent import PolicyAgent
from apportion.rlhf.sampling.rollout import Rollout, pad_prompts, sample_replies
from apportion.rlhf.settings import AlignSettings
from apportion.rlhf.training.reward import OutcomeReward, Reward, turn_scores


@dataclass
class _Dialogue:
    """One response as it grows: its tokens, which of them are the policy's, where turns end, what was said."""

    context: DialogueContext
    tokens: list[int] = field(default_factory=list)
    by_policy: list[bool] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    histories: list[str] = field(default_factory=list)
    unusable: int = 0
    open: bool = True

    def add(self, tokens: Sequence[int], by_policy: bool) -> None:
        """Append tokens of the policy's (``by_policy``) or of the other side's."""
        self.tokens.extend(tokens)
        self.by_policy.extend([by_policy] * len(tokens))


def sample_dialogues(
    policy: Policy,
    model: PeftModel,
    contexts: Sequence[DialogueContext],
    partner: Partner,
    settings: AlignSettings,
    *,
    greedy: bool = False,
) -> Rollout:
    """One response to each context, of up to ``settings.response_turns`` turns, the partner's words in between.

    A response ends where the partner has no answer, or where the next turn might not fit into
    ``max_context_tokens + max_new_tokens`` tokens. The policy's tokens are never tokenised again. Where the partner
    plays an environment, what was said is what is heard of the policy's acts. ``greedy`` takes the most likely tokens.
    """
    stage = partner if isinstance(partner, Stage) else None
    if stage is not None:
        window = settings.window
        contexts = stage.begin(contexts, PolicyAgent(policy.name, policy, model, window, greedy=greedy))
    dialogues = [_Dialogue(context) for context in contexts]
    # The same words often follow: several responses to one context hear the same partner.
    between = cache(partial(partner_turn_tokens, policy))
    for number in range(settings.response_turns):
        speaking = [dialogue for dialogue in dialogues if dialogue.open]
        if not speaking:
            break
        _say(policy, model, speaking, partner, settings, None if greedy else settings.temperature)
        if number + 1 == settings.response_turns:
            break
        heard = [(dialogue.context, tuple(dialogue.replies)) for dialogue in speaking]
        for dialogue, answer in zip(speaking, answers(partner, heard), strict=True):
            dialogue.open = answer is not None and _goes_on(dialogue, policy, answer, between, settings)
    rollout = _assembled(dialogues, policy, model.device)
    if stage is None:
        return rollout
    return replace(rollout, endings=tuple(stage.ending(one.context, one.replies, one.unusable) for one in dialogues))


def _say(
    policy: Policy,
    model: PeftModel,
    speaking: Sequence[_Dialogue],
    partner: Partner,
    settings: AlignSettings,
    temperature: float | None,
) -> None:
    rollout = sample_replies(
        policy,
        model,
        [replace(one.context, prompt=(*one.context.prompt, *one.tokens)) for one in speaking],
        max_new_tokens=settings.max_new_tokens,
        temperature=temperature,
    )
    for row, dialogue in enumerate(speaking):
        dialogue.histories.append(partner.history(dialogue.context, dialogue.replies))
        dialogue.add(rollout.replies[row][rollout.mask[row]].tolist(), by_policy=True)
        dialogue.ends.append(len(dialogue.tokens) - 1)
        text, usable = rollout.texts[row], True
        if isinstance(partner, Stage):
            text, usable = partner.worded(dialogue.context, dialogue.replies, text)
        dialogue.replies.append(text)
        dialogue.unusable += not usable


def _goes_on(
    dialogue: _Dialogue,
    policy: Policy,
    answer: str,
    interjected: Callable[[str], tuple[int, ...]],
    settings: AlignSettings,
) -> bool:
    """Add the partner's answer, if the next turn fits."""
    between = list(interjected(answer))
    if dialogue.tokens[-1] not in policy.eos_ids:
        # The reply was cut at its length limit; its end mark is not the policy's doing.
        between.insert(0, policy.eos_ids[0])
    room = settings.max_context_tokens - len(dialogue.context.prompt) - len(dialogue.tokens)
    if len(between) > room:
        return False
    dialogue.add(between, by_policy=False)
    return True


def partner_turn_tokens(policy: Policy, text: str) -> tuple[int, ...]:
    """Token ids of the other side's ``text`` between the end mark of one of the policy's turns and its next turn."""
    opening = (ContextTurn("user", "a"), ContextTurn("assistant", "b"))
    answered = render(opening, policy.tokenizer, reply_follows=False)
    marks = [place for place, token in enumerate(answered) if token in policy.eos_ids]
    whole = render((*opening, ContextTurn("user", text)), policy.tokenizer, reply_follows=True)
    end = marks[-1] + 1 if marks else 0
    before = len(render(opening[:1], policy.tokenizer, reply_follows=True))
    if end <= before or whole[:end] != answered[:end]:
        raise InputError(
            f"policy {policy.name!r}: its chat template does not end an assistant's turn with an end mark, so "
            "responses of several turns cannot be put together. Set max_turns = 1 or choose another model."
        )
    return whole[end:]


def _assembled(dialogues: Sequence[_Dialogue], policy: Policy, device: torch.device) -> Rollout:
    length = max(len(dialogue.tokens) for dialogue in dialogues)
    gaps = [length - len(dialogue.tokens) for dialogue in dialogues]
    filled = [dialogue.tokens + [policy.pad_id] * gap for dialogue, gap in zip(dialogues, gaps, strict=True)]
    read = [[1] * len(dialogue.tokens) + [0] * gap for dialogue, gap in zip(dialogues, gaps, strict=True)]
    mask = [dialogue.by_policy + [False] * gap for dialogue, gap in zip(dialogues, gaps, strict=True)]
    prompts, attention = pad_prompts([dialogue.context for dialogue in dialogues], policy.pad_id, device)
    return Rollout(
        tokens=torch.cat([prompts, torch.tensor(filled, device=device)], dim=1),
        attention=torch.cat([attention, torch.tensor(read, device=device)], dim=1),
        mask=torch.tensor(mask, device=device),
        texts=tuple(text for dialogue in dialogues for text in dialogue.replies),
        histories=tuple(history for dialogue in dialogues for history in dialogue.histories),
        ends=torch.tensor([(row, end) for row, dialogue in enumerate(dialogues) for end in dialogue.ends]).to(device),
    )


SAMPLES = pa.schema(
    [
        ("context", pa.string()),
        ("before", pa.string()),
        ("after", pa.string()),
        ("reward_before", pa.float64()),
        ("reward_after", pa.float64()),
    ]
)


_Scored = tuple[list[str], list[float | None]]


def compare_replies(
    policy: Policy, model: PeftModel, contexts: Sequence[DialogueContext], reward: Reward, settings: AlignSettings
) -> pa.Table:
    """The most likely reply to each context with the adapters off (before) and on (after), and their rewards.

    Returns ``context`` (the dialogue that the policy read), ``before``, ``after``, ``reward_before``, ``reward_after``
    (null where nobody scores).
    """
    return _compared(model, contexts, lambda: _answers(policy, model, contexts, reward, settings))


def compare_episodes(
    policy: Policy,
    model: PeftModel,
    contexts: Sequence[DialogueContext],
    partner: Partner,
    reward: Reward,
    settings: AlignSettings,
) -> pa.Table:
    """As `compare_replies`, of whole dialogues in an environment, the most likely words each time.

    ``before`` and ``after`` hold what the policy said, a line a turn; the rewards are the means over these
    turns, or what the episode came to where the outcome is the reward.
    """

    def played() -> _Scored:
        return _spoken(sample_dialogues(policy, model, contexts, partner, settings, greedy=True), contexts, reward)

    return _compared(model, contexts, played)


def _compared(model: PeftModel, contexts: Sequence[DialogueContext], answer: Callable[[], _Scored]) -> pa.Table:
    if not contexts:
        return SAMPLES.empty_table()
    with model.disable_adapter():
        before, reward_before = answer()
    after, reward_after = answer()
    shown = ["\n".join(f"{_whose(message)}: {message.text}" for message in context.messages) for context in contexts]
    return pa.table([shown, before, after, reward_before, reward_after], schema=SAMPLES)


def _spoken(rollout: Rollout, contexts: Sequence[DialogueContext], reward: Reward) -> _Scored:
    rows = rollout.turn_ends[:, 0].tolist()
    answered = rollout.answered(contexts)
    scores = turn_scores(reward, answered, rollout.histories, rollout.texts, rollout.endings)
    said: list[list[str]] = [[] for _ in contexts]
    scored: list[list[float]] = [[] for _ in contexts]
    for row, text, score in zip(rows, rollout.texts, scores, strict=True):
        said[row].append(text)
        scored[row].append(score)
    # An outcome is one number, whatever turns it took.
    parts = [1 if isinstance(reward, OutcomeReward) else len(each) for each in scored]
    means = [sum(each) / count for each, count in zip(scored, parts, strict=True)]
    return ["\n".join(texts) for texts in said], [mean if isfinite(mean) else None for mean in means]


def _whose(message: ContextTurn) -> str:
    return f"{message.role} ({message.speaker})" if message.speaker else message.role


def _answers(
    policy: Policy, model: PeftModel, contexts: Sequence[DialogueContext], reward: Reward, settings: AlignSettings
) -> _Scored:
    replies: list[str] = []
    for start in range(0, len(contexts), settings.batch_size):
        rollout = sample_replies(
            policy,
            model,
            contexts[start : start + settings.batch_size],
            max_new_tokens=settings.max_new_tokens,
            temperature=None,
        )
        replies.extend(rollout.texts)
    scores = reward(contexts, [context.history for context in contexts], replies)
    return replies, [score if isfinite(score) else None for score in scores]
