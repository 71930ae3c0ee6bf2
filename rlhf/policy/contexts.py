"""Dialogue contexts s_t: what a policy reads before it speaks in the target's place, and what people said as tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from apportion.corpus.session import Episode, Turn
from apportion.corpus.targets import PLACES, speaker_called
from apportion.foundation.errors import InputError
from apportion.foundation.safe_text import control_marks, defused
from apportion.foundation.truncate import first_few
from apportion.reward_model.history_windows import OWN, known_lines
from apportion.rlhf.policy.loading import Policy
from apportion.rlhf.policy_settings import Window

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedTokenizerBase


KNOWN = "known"
"""The role of what was known before the first turn."""

HistoryText = Callable[[Episode, int], str]
"""``history(episode, position)``: the history of the turn at ``position`` as the reward model reads it."""


@dataclass(frozen=True)
class ContextTurn:
    """One side's utterances up to the other side's next; ``role`` is ``assistant`` for the target, else ``user``.

    ``speaker`` names one of several others where each has messages of their own; empty where the side is one. The role
    ``known`` is that of what the target knew before the first turn, its mark (`apportion.reward_model.history_windows`)
    is the ``speaker``.
    """

    role: str
    text: str
    speaker: str = ""


@dataclass(frozen=True)
class DialogueContext:
    """The history of one target turn.

    ``messages`` is what the policy sees, what the target knew and the window of turns; ``prompt`` its token ids (L of
    them) up to where the reply starts; ``history`` is the text that the reward model reads; ``turn`` is the turn that
    the reply stands in for, ``place`` how many of the target's turns came before it (None: those in ``history``).
    """

    session_id: str
    turn: int
    messages: tuple[ContextTurn, ...]
    prompt: tuple[int, ...]
    history: str
    place: int | None = None

    def after(self, turns: int) -> DialogueContext:
        """The context of the target's turn that comes ``turns`` later in the same response."""
        return self if self.place is None else replace(self, place=self.place + turns)


@dataclass(frozen=True)
class ContextSet:
    """Contexts, and how many target turns gave none.

    ``empty``: nobody had spoken before; ``continued``: the target spoke last, so there is nothing to answer;
    ``over_long``: even the last turn alone is longer than the prompt may be; ``surplus``: more than may come from one
    speaker in one session. ``unrated``: how many of the contexts are from sessions without a score.
    """

    contexts: tuple[DialogueContext, ...]
    empty: int = 0
    continued: int = 0
    over_long: int = 0
    surplus: int = 0
    unrated: int = 0

    def __str__(self) -> str:
        surplus = f", {self.surplus} beyond the most of a speaker in a session" if self.surplus else ""
        unrated = f" ({self.unrated} of sessions without a score)" if self.unrated else ""
        return (
            f"{len(self.contexts)} contexts{unrated}; left out: {self.empty} without history, {self.continued} that "
            f"continue the speaker's own turn, {self.over_long} over-long{surplus}"
        )


def make_contexts(
    episodes: Iterable[Episode],
    tokenizer: PreTrainedTokenizerBase,
    history: HistoryText,
    *,
    context_turns: int,
    max_context_tokens: int,
    most: int | None = None,
    last_alone: bool = False,
) -> ContextSet:
    """One context for every target turn that answers somebody.

    ``episodes``: sessions of the ``policy`` split, seen through their ratings; those without one as
    `apportion.corpus.targets` says. ``tokenizer``: the policy's, with its chat template. ``history``: how the reward
    model writes the history of a turn. ``context_turns``, ``max_context_tokens``: the window: at most that many turns,
    and tokens with the template's own; the oldest turns go first. ``most``: most contexts of an episode, spread evenly
    over it; None takes all. ``last_alone``: only the target's last turn is answered: what was said before it was never
    the policy's to say.
    """
    contexts: list[DialogueContext] = []
    counted = {"empty": 0, "continued": 0, "over_long": 0, "surplus": 0, "unrated": 0}
    for episode in episodes:
        of_episode: list[DialogueContext] = []
        for place, position in list(enumerate(episode.target_positions))[-1 if last_alone else 0 :]:
            before = spoken(episode.turns[:position])
            if not before:
                counted["empty"] += 1
            elif before[-1].speaker == episode.rating.target:
                counted["continued"] += 1
            elif window := _window(before[-context_turns:], episode, tokenizer, max_context_tokens):
                messages, prompt = window
                turn = episode.turns[position].turn
                of_episode.append(
                    DialogueContext(episode.session_id, turn, messages, prompt, history(episode, position), place)
                )
            else:
                counted["over_long"] += 1
        kept = choose_contexts(of_episode, len(of_episode) if most is None else most)
        counted["unrated"] += 0 if episode.is_rated else len(kept)
        counted["surplus"] += len(of_episode) - len(kept)
        contexts.extend(kept)
    return ContextSet(tuple(contexts), **counted)


def choose_contexts(contexts: Sequence[DialogueContext], count: int) -> tuple[DialogueContext, ...]:
    """Up to ``count`` contexts, spread evenly over ``contexts``."""
    count = min(count, len(contexts))
    return tuple(contexts[i * len(contexts) // count] for i in range(count))


def of_targets(episodes: Sequence[Episode], targets: Sequence[str]) -> Sequence[Episode]:
    """The episodes of these target speakers, by name or by place; all of them where none is given.

    Raises InputError: one whom no episode has for its target.
    """
    if not targets:
        return episodes
    for target in targets:
        if not any(_is_target(episode, target) for episode in episodes):
            raise InputError(_no_target(target, episodes))
    return [episode for episode in episodes if any(_is_target(episode, target) for target in targets)]


def _is_target(episode: Episode, wanted: str) -> bool:
    return episode.rating.target == (speaker_called(episode.turns, wanted) or wanted)


def _no_target(target: str, episodes: Sequence[Episode]) -> str:
    rated = sorted({episode.rating.target for episode in episodes if episode.is_rated})
    shown = first_few([repr(name) for name in rated], 5) or "no speakers"
    if target in PLACES:
        return f"targets: {target!r}: no session has such a speaker to answer for. Rated are {shown}."
    return (
        f"targets: nobody called {target!r} is rated. Rated are {shown}. A session without a score needs one who "
        f"speaks in it, or a place: {' or '.join(PLACES)}."
    )


def spoken(turns: Iterable[Turn]) -> list[Turn]:
    """The turns that have any text."""
    return [turn for turn in turns if turn.text.strip()]


def opening_window(turns: Iterable[Turn], target: str, context_turns: int) -> list[Turn]:
    """The last ``context_turns`` turns with text, from the other side's first among them on."""
    last = spoken(turns)[-context_turns:]
    start = next((i for i, turn in enumerate(last) if turn.speaker != target), len(last))
    return last[start:]


def window_of(
    episode: Episode, tokenizer: PreTrainedTokenizerBase, context_turns: int, max_context_tokens: int
) -> tuple[tuple[ContextTurn, ...], tuple[int, ...]] | None:
    """The messages and the prompt by which the target answers an episode's last turn; None where that is over-long."""
    return _window(spoken(episode.turns)[-context_turns:], episode, tokenizer, max_context_tokens)


def _window(
    turns: Sequence[Turn], episode: Episode, tokenizer: PreTrainedTokenizerBase, limit: int
) -> tuple[tuple[ContextTurn, ...], tuple[int, ...]] | None:
    for start, first in enumerate(turns):
        # Many chat templates refuse a dialogue that the assistant opens.
        if first.speaker == episode.rating.target:
            continue
        messages = (*known_messages(episode), *merge_turns(turns[start:], episode))
        prompt = render(messages, tokenizer, reply_follows=True)
        if len(prompt) <= limit:
            return messages, prompt
    return None


def known_messages(episode: Episode) -> tuple[ContextTurn, ...]:
    """What everybody knew before the first turn, and what the target alone did."""
    return tuple(ContextTurn(KNOWN, " ".join(text.split()), mark) for mark, text in known_lines(episode))


def merge_turns(turns: Iterable[Turn], episode: Episode) -> tuple[ContextTurn, ...]:
    """Some of an episode's turns as messages of two alternating roles; uninterrupted turns of one side become one.

    Where several speak beside the target, their side's message has a line for each in turn, the name before the words.
    """
    sides = groupby(speaker_messages(turns, episode), key=lambda said: said.role)
    return tuple(ContextTurn(role, "\n".join(map(_line, messages))) for role, messages in sides)


def speaker_messages(turns: Iterable[Turn], episode: Episode) -> tuple[ContextTurn, ...]:
    """Some of an episode's turns, those that one speaker says without interruption as one message.

    Messages of several others name their ``speaker`` and are on one line, so that none passes for somebody else's.
    """
    messages: list[ContextTurn] = []
    for speaker, run in groupby(spoken(turns), key=lambda turn: turn.speaker):
        text = " ".join(turn.text.strip() for turn in run)
        if speaker == episode.rating.target:
            messages.append(ContextTurn("assistant", text))
        elif episode.is_multiparty:
            messages.append(ContextTurn("user", " ".join(text.split()), " ".join(speaker.split())))
        else:
            messages.append(ContextTurn("user", text))
    return tuple(messages)


def _line(said: ContextTurn) -> str:
    return f"{said.speaker}: {said.text}" if said.speaker else said.text


def render(
    messages: Iterable[ContextTurn], tokenizer: PreTrainedTokenizerBase, *, reply_follows: bool
) -> tuple[int, ...]:
    """Token ids of ``messages`` in the tokenizer's chat template, up to the next reply's start if one follows."""
    chat = as_chat(messages, tokenizer)
    ids: Any = tokenizer.apply_chat_template(chat, add_generation_prompt=reply_follows, return_dict=False)
    return tuple(ids)


def as_chat(messages: Iterable[ContextTurn], tokenizer: PreTrainedTokenizerBase) -> list[dict[str, str]]:
    """``messages`` as chat templates take them: role and content, control tokens of the tokenizer broken up.

    What was known stands before the words of the first message, since not every template takes a system's.
    """
    marks = control_marks(tokenizer)
    messages = tuple(messages)
    said = [message for message in messages if message.role != KNOWN]
    if said:
        said[0] = replace(said[0], text=f"{known_words(messages)}{said[0].text}")
    return [{"role": message.role, "content": defused(message.text, marks)} for message in said]


def known_words(messages: Iterable[ContextTurn]) -> str:
    """What stands before the words of the first message: what was known, and an empty line; nothing where it was."""
    heads = [(one.speaker.replace(f"{OWN} ", "your ").capitalize(), one.text) for one in messages if one.role == KNOWN]
    return "".join(f"{head}: {text}\n" for head, text in heads) + ("\n" if heads else "")


def answer_tokens(policy: Policy, messages: Sequence[ContextTurn], reply: ContextTurn) -> tuple[int, ...]:
    """Token ids of ``reply`` after ``messages``, up to and with its end mark."""
    prompt = render(messages, policy.tokenizer, reply_follows=True)
    whole = render((*messages, reply), policy.tokenizer, reply_follows=False)
    if whole[: len(prompt)] != prompt:
        raise InputError(
            f"policy {policy.name!r}: its chat template writes a prompt differently once it is answered, so "
            "what was said cannot be learned from. Choose another model, or another algorithm."
        )
    tokens = whole[len(prompt) :]
    end = next((place for place, token in enumerate(tokens) if token in policy.eos_ids), None)
    # Templates go on behind the end mark (a line break, say), or have none.
    return (*tokens, policy.eos_ids[0]) if end is None else tokens[: end + 1]


def dialogue_chunks(
    dialogues: Iterable[Sequence[ContextTurn]], tokenizer: PreTrainedTokenizerBase, window: Window
) -> list[Tensor]:
    """Token ids [shape=(L,)] of stretches as long as a context and its reply, the user first as in a prompt."""
    import torch

    length = window.context_turns + 1 + (window.context_turns + 1) % 2
    chunks = []
    for dialogue in dialogues:
        opening = 1 if dialogue and dialogue[0].role == "assistant" else 0
        for start in range(opening, len(dialogue), length):
            ids = render(dialogue[start : start + length], tokenizer, reply_follows=False)
            chunks.append(torch.tensor(ids[: window.tokens]))
    return chunks
