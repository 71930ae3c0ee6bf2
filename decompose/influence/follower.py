"""The follower of an utterance in any corpus: who replied, with what, and what they read before.

The follower is who speaks first in the reply (`Episode.reply_positions`). They read what they know themselves and all
that was said, as a chat in which they are the assistant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from apportion.corpus.session import Episode, Turn
from apportion.decompose.influence.scorer import Prompt
from apportion.llm_client.request import ChatMessage
from apportion.reward_model.history_windows import OWN, known_lines

SILENCE = "…"
"""Stands for an utterance that is left out: somebody else still spoke before, so that every chat template has a place
for it."""


@dataclass(frozen=True)
class Reply:
    """What the ``follower`` said after the utterance at ``position``, from position ``start`` on."""

    position: int
    start: int
    follower: str
    text: str


def reply_to(episode: Episode, position: int) -> Reply | None:
    """The reply to the utterance at ``position`` (of ``episode.turns``); None where nobody said anything after it."""
    positions = [i for i in episode.reply_positions(position) if episode.turns[i].text.strip()]
    if not positions:
        return None
    follower = episode.turns[positions[0]].speaker
    said = []
    for i in positions:
        if episode.turns[i].speaker != follower:
            break
        said.append(episode.turns[i].text.strip())
    return Reply(position, positions[0], follower, " ".join(said))


def prompt_of(episode: Episode, reply: Reply, said: str, context_turns: int | None = None) -> Prompt:
    """What the follower reads before ``reply``, with ``said`` in the place of the utterance.

    ``context_turns`` keeps the last ones alone, the utterance's among them.
    """
    turns = list(episode.turns[: reply.start])
    turns[reply.position] = replace(turns[reply.position], text=said)
    if context_turns is not None:
        turns = turns[min(reply.position, max(len(turns) - context_turns, 0)) :]
    return Prompt(_chat(episode, turns, reply.follower))


def prompt_after(episode: Episode, position: int, context_turns: int | None = None) -> Prompt:
    """What the user reads before they reply to the turn at ``position``: the target is the assistant, who knows what it
    knows, and everybody else is the user, whose next message the reply is.

    ``context_turns`` keeps the last ones alone, the turn itself among them.
    """
    first = 0 if context_turns is None else max(position + 1 - context_turns, 0)
    turns = episode.turns[first : position + 1]
    # Of several, each line of the user's names who says it.
    begun = f"{' '.join(episode.rating.rater.split())}: " if episode.is_multiparty and episode.has_rater else ""
    return Prompt(_chat(episode, turns, episode.rating.target), begun, "user")


def _chat(episode: Episode, turns: Sequence[Turn], assistant: str) -> tuple[ChatMessage, ...]:
    """The turns that have words as a chat that a user opens, by what the assistant knows."""
    messages = _messages([turn for turn in turns if turn.text.strip()], episode, assistant)
    known = _known(episode, assistant)
    if known or messages[0].role == "assistant":
        # Many chat templates refuse a dialogue that the assistant opens, or a system.
        opening = f"{known}\n{messages[0].content}" if messages[0].role == "user" else known or SILENCE
        messages = [ChatMessage("user", opening), *(messages[1:] if messages[0].role == "user" else messages)]
    return tuple(messages)


def _known(episode: Episode, follower: str) -> str:
    """What the follower knows before the first turn, and who they are where several take part."""
    theirs = replace(episode, rating=replace(episode.rating, target=follower))
    lines = [
        f"{mark.replace(f'{OWN} ', 'your ').capitalize()}: {' '.join(text.split())}\n"
        for mark, text in known_lines(theirs)
    ]
    if episode.is_multiparty:
        lines.insert(0, f"You are {' '.join(follower.split())}.\n")
    return "".join(lines)


def _messages(turns: Sequence[Turn], episode: Episode, assistant: str) -> list[ChatMessage]:
    """The turns as a chat; of several others than the assistant each line names who says it."""
    messages = []
    for own, side in groupby(turns, key=lambda turn: turn.speaker == assistant):
        lines = [
            turn.text.strip()
            if own or not episode.is_multiparty
            else f"{' '.join(turn.speaker.split())}: {' '.join(turn.text.split())}"
            for turn in side
        ]
        messages.append(ChatMessage("assistant" if own else "user", "\n".join(lines)))
    return messages
