"""The replies that are there already, in the cache or in a recording: for prices and previews, which ask nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from apportion.llm_client.cache.cache import ReplyCache
from apportion.llm_client.cache.recorded import RecordedReplies
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.settings import LLMSettings


@contextmanager
def kept_replies(
    settings: LLMSettings, cache: Path, recorded: Path | None
) -> Iterator[Callable[[ChatRequest], ChatReply | None]]:
    """Looks up the reply to a request, None where there is none; makes no file.

    Raises ``SetupError``: the file of replies cannot be read.
    """
    if settings.provider == "recorded":
        yield RecordedReplies(recorded).find if recorded is not None else lambda request: None
    elif not cache.exists():
        yield lambda request: None
    else:
        with closing(ReplyCache(cache)) as kept:
            yield lambda request: kept.get(request.key())
