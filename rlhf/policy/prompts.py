"""Prompts that are no turns of a corpus: each becomes a dialogue whose next turn the policy says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from apportion.corpus.files.textfile import read_jsonl
from apportion.corpus.session import Episode, Session, Turn
from apportion.corpus.targets import unrated_episode
from apportion.foundation.errors import InputError
from apportion.foundation.safe_text import whole_text

USER, ASSISTANT = "user", "assistant"
FORM = 'give {"prompt": "…"}, or {"messages": [{"role": "user", "content": "…"}, …]} that "user" ends'


def prompt_episodes(prompts: Iterable[Mapping[str, Any]], called: str = "prompts") -> tuple[Episode, ...]:
    """Dialogues that nobody has scored, in which ``assistant`` speaks next; their last turn is the policy's.

    ``prompts``: ``prompt``, a text, or ``messages``, what ``user`` and ``assistant`` have said in turn; ``id`` names
    it, else its place does. ``called``: where they come from, for errors. Raises InputError: one that is neither, says
    nothing, has another role, or is not ended by ``user``; two of one id; none at all.

    >>> (episode,) = prompt_episodes([{"prompt": "Is there a train?"}])
    >>> [(turn.speaker, turn.text) for turn in episode.turns], episode.rating.target
    ([('user', 'Is there a train?'), ('assistant', '')], 'assistant')
    """
    episodes: dict[str, Episode] = {}
    for number, row in enumerate(prompts, start=1):
        where = f"{called}, prompt {number}"
        session_id = _id(row, number, where)
        if session_id in episodes:
            raise InputError(f"{where}: the id {session_id!r} is another prompt's; give each its own, or none at all.")
        said = _said(row, where)
        turns = [Turn(turn, speaker, text) for turn, (speaker, text) in enumerate([*said, (ASSISTANT, "")])]
        episodes[session_id] = unrated_episode(Session(session_id, tuple(turns)), ASSISTANT)
    if not episodes:
        raise InputError(f"{called}: no prompt in it; {FORM}.")
    return tuple(episodes.values())


def read_prompts(path: Path) -> tuple[Episode, ...]:
    """The prompts in a JSON Lines file, one a line; empty lines are passed over.

    Raises InputError: the file cannot be read, a line is no JSON object, or a prompt cannot be used
    (`prompt_episodes`).
    """
    return prompt_episodes((row for _, row in read_jsonl(path, allow_empty=True)), str(path))


def _id(row: Mapping[str, Any], number: int, where: str) -> str:
    given = row.get("id", f"prompt-{number}") if isinstance(row, Mapping) else ""
    if not isinstance(given, (str, int)) or not str(given).strip():
        raise InputError(f"{where}: its id is {given!r}; give a text or a whole number, or leave it out.")
    return whole_text(str(given))


def _said(row: Mapping[str, Any], where: str) -> list[tuple[str, str]]:
    if not isinstance(row, Mapping) or ("prompt" in row) == ("messages" in row):
        raise InputError(f"{where}: it has no or both of 'prompt' and 'messages'; {FORM}.")
    messages = [{"role": USER, "content": row["prompt"]}] if "prompt" in row else row["messages"]
    if not isinstance(messages, list) or not messages:
        raise InputError(f"{where}: its messages are {str(messages)[:80]!r}; {FORM}.")
    said = [_message(message, where, place) for place, message in enumerate(messages, start=1)]
    if said[-1][0] != USER:
        raise InputError(f"{where}: {said[-1][0]!r} has the last word, so that there is nothing to answer; {FORM}.")
    return said


def _message(message: Any, where: str, place: int) -> tuple[str, str]:
    role, text = (message.get("role"), message.get("content")) if isinstance(message, Mapping) else (None, None)
    if role not in (USER, ASSISTANT):
        raise InputError(f"{where}, message {place}: its role is {role!r}; allowed are 'user' and 'assistant'.")
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{where}, message {place}: its content is {str(text)[:80]!r}; a text is needed.")
    return str(role), whole_text(text)
