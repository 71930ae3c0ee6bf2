"""Looking up replies that are there already, before anything is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from llm_client.kept.cache import ReplyCache
from llm_client.kept.recorded import RecordedReplies
from llm_client.request import ChatReply, ChatRequest
from llm_client.settings import LLMSettings


@contextmanager
def kept_replies(
    settings: LLMSettings, cache: Path, recorded: Path | None
) -> Iterator[Callable[[ChatRequest], ChatReply | None]]:
    """The reply to a request where it is kept, else None; makes no file and sends nothing.

    Parameters
    ----------
    settings : LLMSettings
        Whether replies are recorded (``provider``).
    cache : Path
        The SQLite file that keeps replies; it need not be there.
    recorded : Path, optional
        The file of recorded replies, which alone is read where they are recorded.

    Raises
    ------
    SetupError
        A file of replies cannot be read.
    """
    if settings.provider == "recorded":
        yield RecordedReplies(recorded).find if recorded else _none
    elif not cache.exists():
        yield _none
    else:
        with closing(ReplyCache(cache)) as kept:
            yield lambda request: kept.get(request.key())


def _none(request: ChatRequest) -> ChatReply | None:
    return None
