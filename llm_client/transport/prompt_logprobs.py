"""How probable a model finds what is put to it: asked of a server in one of its ways, and read from its answer.

``chat``: vLLM's ``prompt_logprobs`` of a chat, whose last message is gone on with where it is the assistant's;
``user``: the same, where it is the user's.
``completions``: the older ``echo`` with ``logprobs`` of a bare prompt (vLLM, SGLang), which is the request's messages
one after the other, without anything between. OpenAI's and llama.cpp's servers have neither.

What is kept of an answer tells no word of what was asked: a token is a few digits of a hash, which it takes the
request's own messages to make again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from apportion.llm_client.errors import SetupError
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.transport.completion import usage_of

Way = Literal["chat", "user", "completions"]
_GOES_ON = {"chat": "assistant", "user": "user", "completions": "assistant"}
"""Whose last message is no question but what is gone on with."""
SERVERS = "vLLM answers both ways, SGLang the way 'completions'; OpenAI's own and llama.cpp's answer neither"


class PromptLogprobs(NamedTuple):
    """Tokens (L of them, each by a hash) and their log-probabilities in nats, the first's unknown.

    Answers to requests whose messages are the same but for a last one that is gone on with have the same hash for
    the same token at the same place.
    """

    tokens: tuple[str, ...]
    logs: tuple[float | None, ...]


def measuring_options(options: Mapping[str, Any], way: Way) -> dict[str, Any]:
    """The body that asks for probabilities, made of that of a usual request; one token is written, since none cannot
    be."""
    messages = options["messages"]
    if way != "completions":
        ends = messages[-1]["role"] == _GOES_ON[way]
        return {
            **options,
            "prompt_logprobs": 0,
            "add_generation_prompt": not ends,
            "continue_final_message": ends,
        }
    rest = {name: value for name, value in options.items() if name != "messages"}
    return {**rest, "prompt": "".join(one["content"] for one in messages), "echo": True, "logprobs": 1}


def read_probabilities(document: Any, request: ChatRequest, host: str) -> ChatReply:
    """What a server told of the tokens of ``request``, as a reply whose text `told_of` reads.

    Raises ``SetupError``: the answer is usable but for the probabilities: this server does not give them.
    ``ValueError``: it is no completion; the text says what is wrong with it.
    """
    way = request.measures
    try:
        choice = document["choices"][0]
        listed = document.get("prompt_logprobs") if way != "completions" else (choice.get("logprobs") or {})
        model = str(document.get("model") or "")
    except (AttributeError, IndexError, KeyError, TypeError):
        raise ValueError("it has no usable choice") from None
    if not listed or (way == "completions" and len(listed.get("token_logprobs") or ()) < 2):
        raise SetupError(
            f"{host} answered without the probabilities of the prompt's tokens, which the way {way!r} asks for: it "
            f"does not give them. Name another server or way ({SERVERS}), or measure with a model on this machine."
        )
    try:
        told = _of_chat(listed) if way != "completions" else _of_echo(document, listed)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"its probabilities cannot be read ({type(error).__name__}: {str(error)[:200]})") from None
    told = told._replace(tokens=_hashed(told.tokens, request))
    text = json.dumps(told._asdict(), separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    usage: dict[str, Any] = dict(usage_of(document))
    return ChatReply(text, model, **usage)


def told_of(reply: ChatReply) -> PromptLogprobs:
    """The tokens and their probabilities in a reply to a request that ``measures``.

    Raises ``ValueError``: it holds none: it was not made by such a request.
    """
    try:
        document = json.loads(reply.text)
        tokens, logs = tuple(map(str, document["tokens"])), tuple(document["logs"])
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"a reply without probabilities: {reply.text[:80]!r}") from None
    if len(tokens) != len(logs) or any(log is not None and not isinstance(log, (int, float)) for log in logs):
        raise ValueError(f"{len(tokens)} tokens with {len(logs)} probabilities, not all of them numbers")
    return PromptLogprobs(tokens, logs)


def _hashed(tokens: Iterable[str], request: ChatRequest) -> tuple[str, ...]:
    *before, last = request.messages
    asked = before if last.role == _GOES_ON.get(request.measures or "") else request.messages
    salt = json.dumps([[one.role, one.content] for one in asked]).encode()
    begun = hashlib.sha256(salt)
    hashes = []
    for place, token in enumerate(tokens):
        one = begun.copy()
        one.update(f"{place} {token}".encode("utf-8", "surrogatepass"))
        hashes.append(one.hexdigest()[:8])
    return tuple(hashes)


def _of_chat(listed: Any) -> PromptLogprobs:
    # Of each token a mapping of ids to what they have; the prompt's own comes first.
    of_tokens = [None if one is None else next(iter(one.items())) for one in listed]
    tokens = tuple("" if one is None else str(one[0]) for one in of_tokens)
    return PromptLogprobs(tokens, tuple(None if one is None else _log(one[1]["logprob"]) for one in of_tokens))


def _of_echo(document: Any, listed: Any) -> PromptLogprobs:
    # The token that was written stands behind those of the prompt.
    written = document.get("usage", {}).get("completion_tokens")
    end = len(listed["tokens"]) - (1 if written is None else int(written))
    tokens, logs = listed["tokens"][:end], listed["token_logprobs"][:end]
    if len(tokens) != len(logs):
        raise ValueError(f"{len(tokens)} tokens with {len(logs)} probabilities")
    return PromptLogprobs(tuple(map(str, tokens)), tuple(None if one is None else _log(one) for one in logs))


def _log(value: Any) -> float:
    number = float(value)
    if math.isnan(number) or number > 1e-3:
        raise ValueError(f"{number} is no log-probability")
    # Servers write minus infinity, which JSON has not, as a large number.
    return max(number, -9999.0)
