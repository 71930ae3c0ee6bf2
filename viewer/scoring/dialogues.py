"""What is asked for: a request's dialogues, as episodes that a reward model scores."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from apportion.corpus.session import BACKGROUND_KINDS, Background, Episode, Session, Turn
from apportion.corpus.targets import PLACES, speaker_called, unrated_episode
from apportion.foundation.errors import InputError
from apportion.foundation.truncate import listed, shortened
from apportion.reward_model.model import chat_turn
from apportion.viewer.scoring.chat_markup import messages_of
from apportion.viewer.scoring.refusals import Limits, RefusedError, unusable

ASSISTANT = "assistant"
EXAMPLE = '{"dialogues": [{"messages": [{"role": "user", "content": "…"}, {"role": "assistant", "content": "…"}]}]}'
OWN = '{"turns": [{"speaker": "ann", "text": "…"}, …], "target": "ann"}'


def read_body(body: bytes) -> dict[str, Any]:
    """A request's JSON object; raises RefusedError: it is none."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, f"the body is no JSON ({shortened(str(error), 200)}). Send an object.") from None
    if not isinstance(document, dict):
        raise unusable(f"the body is a JSON {type(document).__name__}; send an object.")
    return document


def read_dialogues(document: Mapping[str, Any], limits: Limits) -> list[Episode]:
    """The episodes of ``{"dialogues": [...]}``, each of ``messages`` or of ``turns`` with a ``target``.

    Raises RefusedError: no dialogues, more than the limits allow, or one that cannot be read.
    """
    given = _list_of(document, "dialogues", limits.dialogues, f"Send {EXAMPLE}, or dialogues of {OWN}.")
    return _within([_named(f"dialogues[{i}]", _dialogue, i, one) for i, one in enumerate(given)], limits)


def read_queries(document: Mapping[str, Any], limits: Limits) -> list[Episode]:
    """The episodes of OpenRLHF's ``{"query": [...], "prompts": [...], "labels": [...]}``; labels are not read.

    Raises RefusedError: as `read_dialogues`, or a query whose chat template is not known.
    """
    queries = _list_of(document, "query", limits.dialogues, "Send texts, as OpenRLHF's --reward.remote_url does.")
    prompts = document.get("prompts")
    given = prompts if isinstance(prompts, list) and len(prompts) == len(queries) else [None] * len(queries)
    rows = enumerate(zip(queries, given, strict=True))
    return _within([_named(f"query[{i}]", _query, i, query, prompt) for i, (query, prompt) in rows], limits)


def _list_of(document: Mapping[str, Any], key: str, most: int, advice: str) -> list[Any]:
    given = document.get(key)
    if not isinstance(given, list):
        raise unusable(f"no list {key!r} in the body (it has {listed(sorted(document)) or 'nothing'}). {advice}")
    if not given:
        raise unusable(f"{key} is empty: there is nothing to score. {advice}")
    if len(given) > most:
        raise unusable(f"{key} holds {len(given):,}; a request may hold {most:,}. Send the others in another one.")
    return given


def _named(name: str, read: Callable[..., Episode], *given: Any) -> Episode:
    try:
        return read(*given)
    except InputError as error:
        raise unusable(f"{name}: {error}") from None


def _query(number: int, query: Any, prompt: Any) -> Episode:
    if not isinstance(query, str):
        raise unusable(f"a {type(query).__name__}; it must be text, prompt and reply.")
    return _of_messages(number, messages_of(query, prompt if isinstance(prompt, str) else None), {})


def _dialogue(number: int, given: Any) -> Episode:
    if not isinstance(given, dict) or not isinstance(given.get("messages", given.get("turns")), list):
        raise unusable(f"no list of messages or turns. Send {OWN}, or messages with role and content.")
    if "messages" in given:
        return _of_messages(number, given["messages"], given)
    turns = [_turn(place, one) for place, one in enumerate(given["turns"])]
    target = given.get("target")
    speaker = (speaker_called(turns, target) or target) if isinstance(target, str) else None
    if speaker is None or all(turn.speaker != speaker for turn in turns):
        speakers = listed(list(dict.fromkeys(turn.speaker for turn in turns))) or "nobody"
        raise unusable(f"target {target!r} says nothing; there are {speakers}. Name one, or {' or '.join(PLACES)}.")
    return _episode(number, turns, speaker, given)


def _turn(place: int, given: Any) -> Turn:
    who, text = (given.get("speaker"), given.get("text")) if isinstance(given, dict) else (None, None)
    if not (isinstance(who, str) and who and isinstance(text, str)):
        raise unusable(f"turns[{place}]: it must have speaker and text, both texts.")
    return Turn(place, who, text)


def _of_messages(number: int, messages: Sequence[Any], beside: Mapping[str, Any]) -> Episode:
    """As `RewardModel.score` reads a chat; turns are numbered as messages are, from 0."""
    turns = []
    for place, message in enumerate(messages):
        said = chat_turn(place + 1, message if isinstance(message, dict) else {})
        if said is not None:
            turns.append(Turn(place, ASSISTANT if said[0] is None else f"user {said[0]}", said[1]))
    return _episode(number, turns, ASSISTANT, beside)


def _episode(number: int, turns: Sequence[Turn], target: str, beside: Mapping[str, Any]) -> Episode:
    language = beside.get("language")
    if not (language is None or isinstance(language, str)):
        raise unusable(f"language {language!r}; say a code such as 'de', or leave it out.")
    known = beside.get("backgrounds", [])
    if not isinstance(known, list):
        raise unusable("backgrounds is no list; give what was known as a list, or leave it out.")
    backgrounds = tuple(map(_background, known))
    return unrated_episode(Session(str(number), tuple(turns), backgrounds=backgrounds, language=language), target)


def _background(given: Any) -> Background:
    kind, text = (given.get("kind"), given.get("text")) if isinstance(given, dict) else (None, None)
    if kind not in BACKGROUND_KINDS or not isinstance(text, str):
        raise unusable(f"a background needs text, and a kind of {', '.join(BACKGROUND_KINDS)}; it has {kind!r}.")
    speaker = given.get("speaker")
    return Background(speaker if isinstance(speaker, str) else None, kind, text)


def _within(episodes: list[Episode], limits: Limits) -> list[Episode]:
    total = sum(len(episode.turns) for episode in episodes)
    if total > limits.turns:
        raise RefusedError(413, f"{total:,} turns; a request may hold {limits.turns:,}. Send fewer dialogues in each.")
    for episode in episodes:
        texts = {f"turn {turn.turn}": turn.text for turn in episode.turns}
        texts |= {f"background {i}": known.text for i, known in enumerate(episode.backgrounds)}
        for name, text in texts.items():
            if len(text) > limits.text:
                raise RefusedError(
                    413,
                    f"dialogue {episode.session_id}, {name}: {len(text):,} characters; {limits.text:,} are allowed.",
                )
            if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
                raise unusable(
                    f"dialogue {episode.session_id}, {name}: half a character (a lone surrogate). Remove it."
                )
    return episodes
