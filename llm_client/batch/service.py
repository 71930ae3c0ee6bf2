"""A server's files and batches, through the OpenAI SDK; calls that may be repeated are, the one that may not is not."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from apportion.llm_client.errors import RequestError, SetupError
from apportion.llm_client.transport import retry
from apportion.llm_client.transport.connection import Connection, is_refusal, is_status, may_pass

if TYPE_CHECKING:
    from openai.types import Batch

_ENDPOINT = "/v1/chat/completions"
_TOKEN = "apportion"
_NOT_READ = (AttributeError, TypeError, RecursionError)
"""What the SDK raises on JSON of another form than it expects."""
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class FileLines:
    """What a batch's ``file`` says of each request, and the numbers of ``broken`` lines, which say nothing readable."""

    file: str
    documents: tuple[dict[str, Any], ...]
    broken: tuple[int, ...]


class BatchService:
    """What is done with batches at one server.

    Every method raises SetupError where nothing can be done before a person changes something, and RequestError where
    the server fails after all retries.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sdk: Any = connection.blocking()
        self._vain_since: float | None = None

    def upload(self, token: str, content: bytes) -> str:
        """Put the file of requests of the batch ``token`` there; returns the server's name for it."""
        name = _file_name(token)
        try:
            uploaded = self._patiently(lambda: self._sdk.files.create(file=(name, content), purpose="batch"))
        except _NotFoundError:
            raise SetupError(
                f"{self._connection.settings.url} has no Batch API (it does not know /files); ask without batches."
            ) from None
        return self._text(uploaded, "id")

    def create(self, token: str, input_file: str) -> str:
        """Have the server work on an uploaded file, paid; returns the batch's id. Tried once.

        Raises
        ------
        UncertainError
            No answer came, so nobody knows whether there is a batch now; ``find`` does.
        """
        try:
            batch = self._sdk.batches.create(
                input_file_id=input_file,
                endpoint=_ENDPOINT,
                completion_window="24h",
                metadata={_TOKEN: token},
                # A server that knows this header takes the same call once, however often it comes.
                extra_headers={"Idempotency-Key": token},
            )
        except Exception as error:
            if is_status(error) and error.status_code < 500:
                raise self._connection.failure(error, 1) from None
            raise UncertainError(str(self._failure(error, 1))) from None
        try:
            return self._text(batch, "id")
        except RequestError as error:
            raise UncertainError(str(error)) from None

    def find(self, token: str, since: float) -> str | None:
        """The id of the batch ``token`` that was made after ``since`` (Unix seconds), or None."""
        for batch in self._each(lambda after: self._sdk.batches.list(limit=100, **after)):
            if (getattr(batch, "metadata", None) or {}).get(_TOKEN) == token:
                return self._text(batch, "id")
            # The newest come first; clocks differ by less than a day.
            if (getattr(batch, "created_at", None) or since) < since - 86_400:
                return None
        return None

    def retrieve(self, batch_id: str) -> Batch | None:
        """How far a batch is; None where the server does not know it."""
        try:
            batch: Batch = self._patiently(lambda: self._sdk.batches.retrieve(batch_id))
        except _NotFoundError:
            return None
        self._text(batch, "status")
        return batch

    def lines(self, file: str) -> FileLines:
        """The lines of a finished batch's file."""
        raw: bytes = self._patiently(lambda: self._sdk.files.content(file).content)
        documents, broken = [], []
        for number, line in enumerate(raw.decode("utf-8", "replace").removesuffix("\n").split("\n"), start=1):
            if not line.strip():
                continue
            try:
                document = json.loads(line)
            except (ValueError, RecursionError):
                document = None
            if isinstance(document, dict) and isinstance(document.get("custom_id"), str):
                documents.append(document)
            else:
                broken.append(number)
        return FileLines(file, tuple(documents), tuple(broken))

    def delete(self, *files: str | None) -> None:
        """Remove files from the server, so that no conversation stays there; a server that keeps them is no error."""
        for file in files:
            if file:
                try:
                    self._sdk.files.delete(file)
                except _NOT_READ:
                    continue
                except Exception as error:
                    if not _is_sdk_error(error):
                        raise

    def delete_upload(self, token: str) -> None:
        """Remove the file of requests of the batch ``token``, of which only its name is known."""
        try:
            for file in self._each(lambda after: self._sdk.files.list(purpose="batch", **after)):
                if getattr(file, "filename", None) == _file_name(token):
                    self.delete(file.id)
        except RequestError:
            return

    def close(self) -> None:
        """Close the connections."""
        self._sdk.close()

    def _each(self, page_after: Callable[[dict[str, str]], Any]) -> Iterator[Any]:
        after: dict[str, str] = {}
        while True:
            page = self._patiently(partial(page_after, after))
            items = list(getattr(page, "data", None) or [])
            yield from items
            if not items or not getattr(page, "has_more", False):
                return
            after = {"after": self._text(items[-1], "id")}

    def _patiently(self, call: Callable[[], _Result]) -> _Result:
        failures = refusals = 0
        while True:
            try:
                result = call()
            except _NOT_READ as error:
                raise RequestError(
                    f"{self._connection.settings.host} gave an answer that is none of the Batch API: "
                    f"{self._connection.clean(error)}. The same command asks again."
                ) from None
            except Exception as error:
                if is_status(error) and error.status_code == 404:
                    raise _NotFoundError(str(self._failure(error, failures + 1))) from None
                told_s = retry.told_wait_s(error.response.headers) if is_status(error) else None
                if is_refusal(error):
                    # Too many requests now: that is no failed try.
                    refusals += 1
                    wait_s = told_s or retry.own_wait_s(refusals)
                else:
                    failures += 1
                    wait_s = retry.own_wait_s(failures) if told_s is None else told_s
                most = self._connection.settings.max_retries
                if failures > most or not may_pass(error) or self._too_long(wait_s):
                    raise self._failure(error, failures + refusals) from None
                time.sleep(wait_s)
            else:
                self._vain_since = None
                return result

    def _too_long(self, wait_s: float) -> bool:
        """Whether ``wait_s`` more, after all that has been waited since the last success, is beyond total_timeout_s."""
        now = time.monotonic()
        self._vain_since = now if self._vain_since is None else self._vain_since
        return now + wait_s - self._vain_since > self._connection.settings.total_timeout_s

    def _text(self, item: object, name: str) -> str:
        value = getattr(item, name, None)
        if not isinstance(value, str) or not value:
            shown = self._connection.clean(repr(item))
            raise RequestError(f"{self._connection.settings.host} gave an answer that has no {name}: {shown}")
        return value

    def _failure(self, error: Exception, tries: int) -> Exception:
        """The error for a person; what is no fault of the server's is left as it is."""
        return self._connection.failure(error, tries) if _is_sdk_error(error) else error


class UncertainError(RequestError):
    """A call that must not be repeated got no answer."""


class _NotFoundError(RequestError):
    """The server does not know what was asked for."""


def _is_sdk_error(error: Exception) -> bool:
    import openai

    return isinstance(error, (openai.OpenAIError, ValueError))


def _file_name(token: str) -> str:
    return f"apportion-{token}.jsonl"
