"""What outlives one session's labelling: the client to the language model, made when it is first needed."""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from foundation.errors import InputError, StoppedError, UnitError
from llm_client.errors import BudgetError, ContextLengthError, RequestError, SetupError
from llm_client.request import ChatReply, ChatRequest
from llm_client.settings import LLMSettings

if TYPE_CHECKING:
    from llm_client.client import Client


IN_PARTS = "Long dialogues are asked in parts where decompose.llm.context_tokens says what the model takes."


class Tools:
    """Lends label methods a language model; safe to use from many threads at once.

    Parameters
    ----------
    llm : LLMSettings
        Which model answers, and where it is.
    cache : Path, optional
        The SQLite file that keeps every reply; none keeps nothing.
    recorded : Path, optional
        The file of recorded replies, for ``provider = "recorded"``.
    record : Path, optional
        A file that every reply is added to, to serve as ``recorded`` later.
    prices : Path, optional
        A price table that goes before the shipped one.
    budget_usd : float, optional
        US dollars that everything ever paid into ``cache`` may not pass.
    called : str
        Where the settings come from, for errors.
    too_long : str
        What to do where a request does not fit into the model's context, for errors.
    """

    def __init__(
        self,
        llm: LLMSettings,
        *,
        cache: Path | None = None,
        recorded: Path | None = None,
        record: Path | None = None,
        prices: Path | None = None,
        budget_usd: float | None = None,
        called: str = "decompose.llm",
        too_long: str = IN_PARTS,
    ) -> None:
        self._llm = llm
        self._called, self._too_long = called, too_long
        self._files = {"cache": cache, "recorded": recorded, "record": record, "prices": prices}
        self._budget_usd = budget_usd
        self._client: Client | None = None
        self._lock = threading.Lock()

    def check(self) -> None:
        """Find out before any work whether requests can be made at all: key, consent, files. Sends nothing.

        Raises
        ------
        InputError
            What is missing, and how to give it.
        """
        self._open()

    def complete(self, request: ChatRequest) -> ChatReply:
        """The model's reply.

        Raises
        ------
        InputError
            No request can succeed until a person changes something.
        StoppedError
            The budget is used up.
        UnitError
            This request failed after all retries.
        """
        client = self._open()
        try:
            return client.complete(request)
        except SetupError as error:
            raise InputError(f"{self._called}: {error}") from None
        except BudgetError as error:
            raise StoppedError(str(error)) from None
        except ContextLengthError as error:
            raise UnitError(f"{request.label}: {error} {self._too_long}") from None
        except RequestError as error:
            raise UnitError(f"{request.label}: {error}") from None

    def close(self) -> None:
        """Let go of the client; a later request makes a new one."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def __enter__(self) -> Tools:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> Client:
        from llm_client.client import Client

        with self._lock:
            if self._client is None:
                try:
                    self._client = Client(self._llm, **self._files, budget_usd=self._budget_usd)
                except SetupError as error:
                    raise InputError(f"{self._called}: {error}") from None
            return self._client
