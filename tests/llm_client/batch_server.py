"""The files and batches of a server that speaks the OpenAI protocol, in memory, with faults as parameters."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.llm_client.openai_server import Body, Fault, OpenAIServer

ENDED = ("completed", "failed", "expired", "cancelled")


@dataclass
class BatchServer(OpenAIServer):
    """Works on a batch when it is asked about for the ``rounds``-th time after it was made.

    ``line_fault`` may make a line's answer a fault, or ``"expired"``; ``before`` is called with the name of each call
    and may return a fault in its place; ``after`` the same once the call has been carried out, so that the client
    never learns of it.
    """

    rounds: int = 1
    final: str = "completed"
    errors: list[Body] = field(default_factory=list)
    line_fault: Callable[[Body], Fault | str | None] = lambda body: None
    before: Callable[[str], Fault | None] = lambda call: None
    after: Callable[[str], Fault | None] = lambda call: None
    files: dict[str, Body] = field(default_factory=dict)
    batches: dict[str, Body] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    worked: list[Body] = field(default_factory=list)
    """The body of every request that a batch was paid for."""
    page: int = 100

    def other(self, method: str, path: str, query: dict[str, str], raw: bytes, headers: dict[str, str]) -> Any:
        call = f"{method} {'/'.join(part for part in path.split('/') if part in ('files', 'batches', 'content'))}"
        with self._lock:
            self.calls.append(call)
            self.headers.append(headers)
        time.sleep(self.latency_s)
        fault = self.before(call)
        if fault is not None:
            return fault
        with self._lock:
            result = self._call(method, path.strip("/").split("/")[1:], query, raw)
        return self.after(call) or result

    def _call(self, method: str, parts: list[str], query: dict[str, str], raw: bytes) -> Any:
        if parts == ["files"]:
            return self._upload(raw) if method == "POST" else self._listed(self.files, query)
        if parts == ["batches"]:
            return self._create(json.loads(raw)) if method == "POST" else self._listed(self.batches, query)
        kind, name, *content = parts
        store = self.files if kind == "files" else self.batches
        if name not in store:
            return Fault(404, f"no such object {name}")
        if content:
            return Fault(200, raw=store[name]["raw"])
        if method == "DELETE":
            del store[name]
            return {"id": name, "object": "file", "deleted": True}
        return self._asked(store[name]) if kind == "batches" else _shown(store[name])

    def _upload(self, raw: bytes) -> Body:
        head, _, rest = raw.partition(b"\r\n")
        name = f"file-{len(self.calls)}"
        for part in (head + b"\r\n" + rest).split(head)[1:-1]:
            described, _, content = part.partition(b"\r\n\r\n")
            if b'name="file"' in described:
                file_name = described.split(b'filename="')[1].split(b'"')[0].decode()
                self._store(name, content.removesuffix(b"\r\n"), file_name)
        return _shown(self.files[name])

    def _store(self, name: str, raw: bytes, file_name: str) -> None:
        self.files[name] = {
            "id": name,
            "object": "file",
            "bytes": len(raw),
            "created_at": int(time.time()),
            "filename": file_name,
            "purpose": "batch",
            "raw": raw,
        }

    def _create(self, asked: Body) -> Body | Fault:
        assert asked["endpoint"] == "/v1/chat/completions" and asked["completion_window"] == "24h"
        if asked["input_file_id"] not in self.files:
            return Fault(400, "no such file")
        name = f"batch_{len(self.batches)}"
        self.batches[name] = {
            "id": name,
            "object": "batch",
            "endpoint": asked["endpoint"],
            "completion_window": "24h",
            "created_at": int(time.time()),
            "input_file_id": asked["input_file_id"],
            "metadata": asked.get("metadata"),
            "status": "validating",
            "request_counts": {"total": 0, "completed": 0, "failed": 0},
            "asked": 0,
        }
        return _shown(self.batches[name])

    def _asked(self, batch: Body) -> Body:
        batch["asked"] += 1
        if batch["status"] not in ENDED:
            batch["status"] = "in_progress"
            if batch["asked"] >= self.rounds:
                self._work(batch)
        return _shown(batch)

    def _work(self, batch: Body) -> None:
        batch["status"] = self.final
        if self.final == "failed":
            batch["errors"] = {"object": "list", "data": self.errors}
            return
        output, wrong = [], []
        for line in self.files[batch["input_file_id"]]["raw"].decode().splitlines():
            asked = json.loads(line)
            fault = self.line_fault(asked["body"])
            answer: Body = {"id": "r", "custom_id": asked["custom_id"], "response": None, "error": None}
            if fault == "expired":
                wrong.append({**answer, "error": {"code": "batch_expired", "message": "too late"}})
            elif isinstance(fault, Fault):
                error = {"error": {"message": fault.message, "code": fault.code}}
                wrong.append({**answer, "response": {"status_code": fault.status, "request_id": "q", "body": error}})
            else:
                self.worked.append(asked["body"])
                reply = self.answer(asked["body"])
                output.append({**answer, "response": {"status_code": 200, "request_id": "q", "body": reply}})
        for kind, lines in (("output", output), ("error", wrong)):
            if lines:
                name = f"file-{kind}-{batch['id']}"
                # The order of the answers is not that of the requests.
                self._store(name, "".join(json.dumps(line) + "\n" for line in reversed(lines)).encode(), name)
                batch[f"{kind}_file_id"] = name
        batch["request_counts"] = {"total": len(output) + len(wrong), "completed": len(output), "failed": len(wrong)}

    def _listed(self, store: dict[str, Body], query: dict[str, str]) -> Body:
        newest_first = list(reversed(list(store)))
        start = newest_first.index(query["after"]) + 1 if "after" in query else 0
        chosen = newest_first[start : start + self.page]
        return {
            "object": "list",
            "data": [_shown(store[name]) for name in chosen],
            "has_more": start + self.page < len(newest_first),
        }


def _shown(stored: Body) -> Body:
    return {name: value for name, value in stored.items() if name not in ("raw", "asked")}
