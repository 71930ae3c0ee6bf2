"""The Batch API: requests are handed in, the process may end, and their replies are fetched later for half the price.

Every step is on the disk before the next one, so that a kill between any two loses nothing and pays nothing twice:

1. the requests are claimed for a batch with a name of our own, and the budget is set aside;
2. their file is uploaded; 3. the time is noted; 4. the server is asked to work on it, our name in the batch's metadata;
5. the server's id is noted; later 6. each reply is kept and its claim ended in one transaction; 7. the files at the
   server are deleted and the batch is forgotten.

A batch that was killed between 3 and 5 is looked for at the server by our name.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from apportion.foundation.truncate import listed
from apportion.llm_client.batch.ledger import BatchBook, BookedBatch, keys_in_batches, keys_to_ask_directly
from apportion.llm_client.batch.service import (
    BatchLine,
    BatchService,
    FileLines,
    UncertainError,
    read_line,
    request_line,
)
from apportion.llm_client.cache.cache import CachedReply, ReplyCache, ServedModels
from apportion.llm_client.cache.database import Place
from apportion.llm_client.cache.server_leases import leases_of
from apportion.llm_client.cost.prices import Price, find_price
from apportion.llm_client.cost.spending_limit import Budget
from apportion.llm_client.errors import LostBatchError, RequestError, SetupError
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.llm_client.settings import LLMSettings
from apportion.llm_client.transport.connection import Connection
from apportion.llm_client.transport.server_quirks import ServerCapabilities

if TYPE_CHECKING:
    from openai.types import Batch

MOST_REQUESTS, MOST_BYTES = 50_000, 190_000_000
"""OpenAI takes 50,000 requests and 200 MB in a batch."""
_SETTLE_S = 30.0
"""A call that was on its way when its process was killed has reached the server's list by then."""
_ENDED = ("completed", "expired", "cancelled")
_BUNCH = 500


@dataclass(frozen=True)
class WaitingBatch:
    """A batch that the server is working on: requests done and in all, where it says so."""

    batch_id: str
    status: str
    done: int
    total: int


@dataclass(frozen=True)
class BatchReport:
    """What one call of ``Batches.advance`` found and did.

    ``collected`` replies were received and ``submitted`` requests handed in; ``refused`` requests got an error and are
    to be asked directly, ``unanswered`` were not reached (expired, cancelled) and may go into another batch;
    ``left_out`` did not fit into the budget, ``stopped`` being why; ``asked_elsewhere`` another process is asking
    directly at this moment. ``problems`` are said to a person.
    """

    host: str
    collected: int = 0
    submitted: int = 0
    refused: int = 0
    unanswered: int = 0
    left_out: int = 0
    asked_elsewhere: int = 0
    stopped: str | None = None
    waiting: tuple[WaitingBatch, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def finished(self) -> bool:
        """Whether nothing is left to wait for."""
        return not self.waiting and not self.problems


@dataclass
class _Progress:
    collected: int = 0
    submitted: int = 0
    refused: int = 0
    unanswered: int = 0
    left_out: int = 0
    asked_elsewhere: int = 0
    stopped: str | None = None
    waiting: list[WaitingBatch] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class Batches:
    """Hands requests in and collects their replies into the same cache that live requests use.

    ``settings``: which model answers, and where it is. ``cache``: where replies are kept; the account of batches is
    there. ``prices``: a price table that goes before the shipped one. ``budget_usd``: US dollars that everything ever
    paid into ``cache`` may not pass. ``settle_s``: seconds after which a call whose process was killed has arrived or
    never will. Raises ``SetupError``: no consent or key, another process at work on the same batches, a budget that
    cannot be kept, files that cannot be used.
    """

    def __init__(
        self,
        settings: LLMSettings,
        cache: Place,
        *,
        prices: Path | None = None,
        budget_usd: float | None = None,
        settle_s: float = _SETTLE_S,
        most_requests: int = MOST_REQUESTS,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._settings, self._path, self._settle_s = settings, cache, settle_s
        self._most_requests, self._most_bytes = most_requests, most_bytes
        connection = Connection(settings)
        price = find_price(settings.model, prices)
        self._price: Price | None = price.batched() if price is not None else None
        self._cache = ReplyCache(cache)
        self._budget = None
        if budget_usd is not None:
            self._budget = Budget(budget_usd, self._price, settings.max_tokens, self._cache, settings.model)
        self._served = ServedModels(self._cache)
        self._book = BatchBook(self._cache, settings.url)
        self._service = BatchService(connection)
        self._connection = connection
        self._dialect = ServerCapabilities(settings.host)

    def advance(self, requests: Sequence[ChatRequest]) -> BatchReport:
        """Collect what is ready, then hand in those of ``requests`` that have no reply and are in no batch.

        Raises ``SetupError``: the server does not take the key, does not know a batch, or has no Batch API.
        ``RequestError``: the server failed; what was collected is kept, and the same call goes on from there.
        """
        progress = _Progress()
        known = {request.key(): request for request in requests}
        with self._alone():
            for url in self._book.elsewhere():
                progress.problems.append(
                    f"batches of this reply cache are at {url}; set base_url to that and collect them first"
                )
            for batch in self._book.batches():
                self._resume(batch, known, progress)
            if not progress.problems:
                self._submit(known, progress)
        values = {name: getattr(progress, name) for name in _Progress.__dataclass_fields__}
        values |= {"waiting": tuple(progress.waiting), "problems": tuple(progress.problems)}
        return BatchReport(self._settings.host, **values)

    def forget(self, batch_id: str) -> int:
        """Give up a batch that cannot be collected any more; returns how many requests are free again.

        What was set aside for them in the budget stays so: they may have been paid.

        Raises ``SetupError``: no such batch in the cache.
        """
        with self._alone():
            batches = {batch.batch_id: batch for batch in self._book.batches() if batch.batch_id}
            if batch_id not in batches:
                raise SetupError(
                    f"{self._path} knows no batch {batch_id!r} at {self._settings.host}; it has: "
                    f"{', '.join(batches) or 'none'}."
                )
            return self._book.drop(batches[batch_id], paid=True)

    def close(self) -> None:
        """Close the connections and the file."""
        self._service.close()
        self._cache.close()

    def __enter__(self) -> Batches:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time, or two would take the same unsent batch for a dead one's; ends with its process."""
        place = self._path
        path = Path("batches") if isinstance(place, str) else place.with_name(f"{place.name}.batch-lock")
        with ExitStack() as stack:
            try:
                alone = stack.enter_context(leases_of(place, path.parent).hold(path.name))
            except OSError as error:
                raise SetupError(f"{path} cannot be written ({error.strerror}).") from None
            if not alone:
                raise SetupError(f"another process is handing in or collecting batches of {place}; wait for it.")
            yield

    def _resume(self, batch: BookedBatch, known: Mapping[str, ChatRequest], progress: _Progress) -> None:
        batch_id = batch.batch_id or self._found(batch)
        if batch_id is None:
            # Killed before the server heard of it: nothing was paid, and its requests are handed in anew.
            self._service.delete_upload(batch.token)
            self._book.drop(batch)
            return
        state = self._service.retrieve(batch_id)
        if state is None:
            raise LostBatchError(
                f"{self._settings.host} does not know the batch {batch_id} (any more). Use the key of the account that "
                f"it was made with; if it is gone for good, give up the batch {batch_id}."
            )
        if state.status == "failed":
            freed = self._book.drop(batch)
            self._service.delete(state.input_file_id)
            progress.problems.append(
                f"the batch {batch_id} of {freed:,} requests failed before it began, unpaid: {self._failure(state)}. "
                "Put that right; the same command hands them in again"
            )
        elif state.status in _ENDED:
            self._collect(batch, state, known, progress)
        else:
            progress.waiting.append(_waiting(batch_id, state))

    def _found(self, batch: BookedBatch) -> str | None:
        """The server's id for a batch of which the process that made it did not live to note it."""
        if batch.sent_at is None:
            return None
        while True:
            batch_id = self._service.find(batch.token, batch.sent_at)
            if batch_id is not None:
                self._book.note(batch, batch_id=batch_id)
                return batch_id
            left_s = batch.sent_at + self._settle_s - time.time()
            if left_s <= 0:
                return None
            time.sleep(min(left_s, 1.0))

    def _collect(self, batch: BookedBatch, state: Batch, known: Mapping[str, ChatRequest], progress: _Progress) -> None:
        if self._book.keys(batch):
            files = [self._service.lines(file) for file in (state.output_file_id, state.error_file_id) if file]
            lines = [read_line(document) for file in files for document in file.documents]
            self._settle(batch, lines, known, progress)
            left = self._book.keys(batch)
            doubts = self._doubts(state, files) if left else None
            if doubts:
                # They may have been paid, so they are not handed in again before a person says so.
                progress.problems.append(
                    f"{doubts}; {len(left):,} requests of the batch {state.id} stay open, the other replies are kept. "
                    "The same command reads the file again; where it stays so, give up the batch, and they are asked "
                    "anew"
                )
                return
            progress.unanswered += len(left)
            self._book.free(batch, sorted(left))
        self._service.delete(state.input_file_id, state.output_file_id, state.error_file_id)
        self._book.drop(batch)

    def _doubts(self, state: Batch, files: Sequence[FileLines]) -> str | None:
        """Why a request without an answer may have one at the server all the same."""
        host = self._settings.host
        broken = [
            f"{host}: line {listed(file.broken)} of the batch's file {file.file} cannot be read"
            for file in files
            if file.broken
        ]
        if broken:
            return "; ".join(broken)
        promised = _count(state, "completed")
        held = sum(len(file.documents) for file in files if file.file == state.output_file_id)
        if held < promised:
            return f"the batch has {promised:,} replies, and its file at {host} holds {held:,}"
        return None

    def _settle(
        self, batch: BookedBatch, lines: Sequence[BatchLine], known: Mapping[str, ChatRequest], progress: _Progress
    ) -> None:
        replies = [self._to_keep(line.key, line.reply, known.get(line.key)) for line in lines if line.reply is not None]
        for start in range(0, len(replies), _BUNCH):
            progress.collected += self._book.settle(batch, replies[start : start + _BUNCH])
        for reply in replies:
            self._served.note(self._settings.model, reply.reply.model)
        still_open = self._book.keys(batch)
        learner, gave_way = ServerCapabilities(self._settings.host, batch.learnt), False
        refused = []
        for line in lines:
            if line.refusal is None or line.key not in still_open:
                continue
            request = known.get(line.key)
            tried = (
                ServerCapabilities(self._settings.host, batch.learnt).options(request) if request is not None else {}
            )
            if line.bad_request and learner.give_way(tried, line.refusal):
                gave_way = True
            else:
                refused.append(line.key)
        if gave_way:
            self._dialect = learner
        self._book.ask_directly(batch, refused)
        progress.refused += len(refused)

    def _to_keep(self, key: str, reply: ChatReply, request: ChatRequest | None) -> CachedReply:
        price, model = self._price, self._settings.model
        if price is None:
            return CachedReply(key, reply, asked=model)
        usd = price.reply_usd(reply)
        if request is None:
            return CachedReply(key, reply, usd, asked=model)
        usd = price.dearest_usd(request, reply) if usd is None else usd
        return CachedReply(key, reply, usd, asked=model, overrun=price.overrun(request, reply))

    def _submit(self, known: Mapping[str, ChatRequest], progress: _Progress) -> None:
        taken = keys_in_batches(self._cache).keys() | keys_to_ask_directly(self._cache)
        missing = [key for key in known if key not in taken and self._cache.get(key) is None]
        for chunk in self._chunks([known[key] for key in missing]):
            if progress.stopped is None:
                self._submit_one(chunk, progress)
            else:
                progress.left_out += len(chunk)

    def _submit_one(self, chunk: Mapping[str, tuple[ChatRequest, bytes]], progress: _Progress) -> None:
        budget = self._budget
        most_usd = {key: budget.most_usd(request) if budget else None for key, (request, _) in chunk.items()}
        ceiling_usd = budget.ceiling_usd if budget else None
        batch, claimed, too_dear = self._book.claim(most_usd, ceiling_usd, self._dialect.to_json())
        reached = len(chunk) if too_dear is None else list(chunk).index(too_dear)
        progress.asked_elsewhere += reached - len(claimed)
        if too_dear is not None:
            assert budget is not None
            progress.left_out += len(chunk) - reached
            progress.stopped = budget.reached(most_usd[too_dear] or 0.0)
        if not claimed:
            return
        try:
            batch_id = self._hand_in(batch, b"".join(chunk[key][1] for key in claimed))
        except UncertainError as error:
            progress.problems.append(
                f"{error} Whether the batch was taken is not known; the same command finds out before it goes on"
            )
            return
        except (SetupError, RequestError):
            self._service.delete_upload(batch.token)
            self._book.drop(batch)
            raise
        progress.submitted += len(claimed)
        progress.waiting.append(WaitingBatch(batch_id, "validating", 0, len(claimed)))

    def _hand_in(self, batch: BookedBatch, content: bytes) -> str:
        input_file = self._service.upload(batch.token, content)
        self._book.note(batch, input_file=input_file, sent_at=time.time())
        batch_id = self._service.create(batch.token, input_file)
        self._book.note(batch, batch_id=batch_id)
        return batch_id

    def _chunks(self, requests: Sequence[ChatRequest]) -> Iterator[dict[str, tuple[ChatRequest, bytes]]]:
        """Requests by key with their line of the file, as many at a time as one batch may hold."""
        chunk: dict[str, tuple[ChatRequest, bytes]] = {}
        size = 0
        for request in requests:
            line = request_line(request.key(), self._dialect.options(request))
            if chunk and (len(chunk) == self._most_requests or size + len(line) > self._most_bytes):
                yield chunk
                chunk, size = {}, 0
            chunk[request.key()] = (request, line)
            size += len(line)
        if chunk:
            yield chunk

    def _failure(self, state: Batch) -> str:
        errors = (state.errors.data if state.errors else None) or []
        causes = [f"line {error.line}: {error.message}" if error.line else str(error.message) for error in errors[:3]]
        return self._connection.clean("; ".join(causes) or "it does not say why")


def _waiting(batch_id: str, state: Batch) -> WaitingBatch:
    return WaitingBatch(
        batch_id, state.status, _count(state, "completed") + _count(state, "failed"), _count(state, "total")
    )


def _count(state: Batch, name: str) -> int:
    """One of the server's counts of requests; 0 where it gives none."""
    count = getattr(state.request_counts, name, None)
    return count if isinstance(count, int) else 0
