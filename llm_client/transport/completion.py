"""A server's chat completion, read with nothing taken for granted."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from apportion.foundation.safe_text import whole_text
from apportion.llm_client.request import REASONING, ChatReply
from apportion.llm_client.transport.body import Answer

_MOST_TOKENS = 10**12
"""More is no count of tokens."""
_SHOWN = 2000
"""Characters of what a server said; the message is cut further when the key is out of it."""
_STATUS_OF_A_WORD = {
    "invalid_api_key": 401,
    "authentication_error": 401,
    "permission_error": 403,
    "model_not_found": 404,
    "not_found_error": 404,
    "context_length_exceeded": 400,
    "invalid_request_error": 400,
    "insufficient_quota": 429,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
}
"""What servers say instead of a status, by `code` or else by `type`."""


class NoCompletionError(ValueError):
    """An answer is no chat completion; its text says what is wrong with it, and what the server said instead.

    ``answer`` is what came, and ``retries`` how many further tries make sense at most: a reply without an end would
    have none the next time either, and each is paid.
    """

    def __init__(self, message: str, answer: Answer) -> None:
        super().__init__(message)
        self.answer = answer
        self.retries = 100 if answer.cut_at is None else 1


class ToldError(NoCompletionError):
    """An error that came with the status of success: ``status`` is the one that it should have had."""

    def __init__(self, status: int, error: Mapping[str, Any], answer: Answer) -> None:
        words = _cut(error_words(error))
        super().__init__(f"the server says: {words}", answer)
        self.status = status
        code = error.get("code")
        self.error = {
            "message": f"{words} (told with status {answer.status})",
            "code": code if isinstance(code, str) else None,
        }


def read_answer(answer: Answer, read: Callable[[Any], ChatReply] | None = None) -> ChatReply:
    """The reply in the answer to a request for a chat completion, or what ``read`` finds in its document.

    Raises ``ToldError``: the answer is an error whose code says what status it stands for. ``NoCompletionError``: it is
    no chat completion for any other reason.
    """
    try:
        return _read(answer, read or read_completion)
    except RecursionError:
        error = NoCompletionError("it is nested too deeply", answer)
    except NoCompletionError as known:
        error = known
    except ValueError as mistake:
        error = NoCompletionError(str(mistake), answer)
    # Raised from here and without what led to it: those frames hold the document, which as values takes many times its
    # bytes, and an error lives on while its request waits to be tried again.
    error.__context__ = None
    raise error.with_traceback(None)


def _read(answer: Answer, read: Callable[[Any], ChatReply]) -> ChatReply:
    if answer.cut_at is not None:
        raise ValueError(
            f"it is larger than {answer.cut_at:,} bytes (max_reply_bytes) and was read no further. Lower max_tokens, "
            "or raise max_reply_bytes where such replies are meant"
        )
    if answer.flaw is not None:
        raise ValueError(answer.flaw)
    if not answer.body.strip():
        raise ValueError(f"it is empty (status {answer.status})")
    document = _document(answer)
    _check_error(document, answer)
    return read(document)


def read_completion(document: Any) -> ChatReply:
    """The reply in the JSON document that a server gave back.

    Raises ``ValueError``: it is no chat completion; the text says what is wrong with it, and what the server said
    instead.
    """
    try:
        choice = document["choices"][0]
        message, refusal = choice["message"], choice["message"].get("refusal")
        text = _joined(message.get("content")) or refusal or ""
        if not text and document.get("error") is not None:
            raise ValueError(f"it has no text ({_said(document)})")
        reply = ChatReply(
            text=text,
            model=_whole(document.get("model") or ""),
            finish_reason="refusal" if refusal else _whole(_ended(choice, text)),
            **usage_of(document),
        )
    except (AttributeError, IndexError, KeyError, TypeError):
        raise ValueError(f"it has no usable choice ({_said(document)})") from None
    for name in ("text", "model", "finish_reason"):
        if not isinstance(getattr(reply, name), str):
            raise ValueError(f"its {name} is no string")
    return reply


def _joined(content: Any) -> Any:
    """A content that is a list of parts as one text: those of reasoning, and pictures, are none of it."""
    if not isinstance(content, list):
        return content
    texts = [part.get("text") if isinstance(part, dict) else part for part in content if not _is_reasoning(part)]
    return "".join(text for text in texts if isinstance(text, str))


def _is_reasoning(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in ("reasoning", "thinking")


def _ended(choice: Mapping[str, Any], text: Any) -> Any:
    """Why the model stopped; ``REASONING`` where it did, and its answer stands where its reasoning should."""
    message, ended = choice["message"], choice.get("finish_reason") or "stop"
    beside = message.get("reasoning_content") or message.get("reasoning")
    if not text and ended == "stop" and isinstance(beside, str) and beside.rstrip().endswith(("}", "]", "```")):
        return REASONING
    return ended


def _document(answer: Answer) -> Any:
    try:
        return json.loads(answer.body)
    except ValueError as error:
        raise ValueError(
            f"it is no JSON ({error}); it begins with {_cut(answer.body.decode(errors='replace'))!r}"
        ) from None


def _check_error(document: Any, answer: Answer) -> None:
    """Raise ToldError where an error that says its status stands in the place of a completion, in any known form."""
    if not isinstance(document, dict) or document.get("choices"):
        return
    error = document if document.get("object") == "error" else document.get("error")
    if not isinstance(error, dict):
        return
    for word in (str(error.get("code"))[:40], str(error.get("type"))[:40]):
        status = int(word) if word.isascii() and word.isdigit() else _STATUS_OF_A_WORD.get(word, 0)
        if 400 <= status <= 599:
            raise ToldError(status, error, answer)


def _said(document: Any) -> str:
    error = document.get("error") if isinstance(document, dict) else None
    if error is None:
        return _cut(repr(document))
    return f"the server says: {_cut(error_words(error))}"


def error_words(error: Any) -> str:
    """What an error of a server says, whether it is an object or bare words."""
    return str(error.get("message") or error) if isinstance(error, dict) else str(error)


def _cut(text: str) -> str:
    # Not all of it is split: as words, a large answer takes many times its bytes.
    return " ".join(whole_text(text[: 8 * _SHOWN]).split())[:_SHOWN]


def _whole(text: Any) -> Any:
    return whole_text(text) if isinstance(text, str) else text


def usage_of(document: Any) -> dict[str, int | None]:
    """The counts of tokens that a server told, by the names that `ChatReply` has for them."""
    return {
        "prompt_tokens": _count(document, "usage", "prompt_tokens"),
        "completion_tokens": _count(document, "usage", "completion_tokens"),
        "cached_tokens": _count(document, "usage", "prompt_tokens_details", "cached_tokens"),
    }


def _count(document: Any, *path: str) -> int | None:
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    usable = isinstance(document, int) and not isinstance(document, bool) and 0 <= document <= _MOST_TOKENS
    return document if usable else None
