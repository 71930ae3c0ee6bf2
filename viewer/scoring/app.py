"""The paths of a reward model's server: /score, /openrlhf, /health, /metrics."""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from apportion.corpus.session import Episode
from apportion.reward_model.model import RewardModel
from apportion.viewer.auth import TooLargeError
from apportion.viewer.scoring.batches import RETRY_S, Batches, ScoredDialogue
from apportion.viewer.scoring.dialogues import read_body, read_dialogues, read_queries
from apportion.viewer.scoring.metrics import Metrics
from apportion.viewer.scoring.refusals import Limits, RefusedError

Read = Callable[[Mapping[str, Any], Limits], list[Episode]]
Write = Callable[["Serving", list[ScoredDialogue]], dict[str, Any]]
LOOK_S = 0.5
"""How often a request that waits is asked whether its client is still there."""
GONE = 499
"""The status of a request whose client has gone, in the metrics alone."""
PATHS = "POST /score, POST /openrlhf, GET /health, GET /metrics"


@dataclass(frozen=True)
class Serving:
    """What the paths share. ``model``: its folder's name; ``mean``, ``scale``: of the rewards that it learned."""

    model: str
    mean: float
    scale: float
    batches: Batches
    metrics: Metrics
    limits: Limits

    @classmethod
    def of(cls, model: RewardModel, name: str, limits: Limits) -> Serving:
        """A server of ``model``; its batches are not begun."""
        metrics = Metrics()
        batches = Batches(model, limits.waiting, metrics)
        return cls(name, model.config.reward_mean, model.config.reward_scale, batches, metrics, limits)


def create_app(serving: Serving) -> Starlette:
    """The application, without a gate before it."""

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok", "model": serving.model, "waiting": serving.batches.waiting})

    async def metrics(request: Request) -> Response:
        return PlainTextResponse(serving.metrics.text(serving.batches.waiting), media_type="text/plain; version=0.0.4")

    routes = [
        Route("/score", _counted(serving, "/score", _asked(serving, read_dialogues, _told)), methods=["POST"]),
        Route("/openrlhf", _counted(serving, "/openrlhf", _asked(serving, read_queries, _paid)), methods=["POST"]),
        Route("/health", _counted(serving, "/health", health)),
        Route("/metrics", _counted(serving, "/metrics", metrics)),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: _no_such_path})


def _asked(serving: Serving, read: Read, write: Write) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            episodes = read(read_body(await request.body()), serving.limits)
            waiting = asyncio.wrap_future(serving.batches.submit(episodes))
            while not (await asyncio.wait([waiting], timeout=LOOK_S))[0]:
                if await request.is_disconnected():
                    waiting.cancel()  # Nobody is left to read it; what is being scored already ends.
                    return Response(status_code=GONE)
            scored = waiting.result()
        except TooLargeError:
            return _refusal(413, f"more than {serving.limits.body:,} bytes. Send fewer dialogues in each request.")
        except RefusedError as error:
            return _refusal(error.status, str(error))
        return JSONResponse(write(serving, scored))

    return answer


def _told(serving: Serving, scored: list[ScoredDialogue]) -> dict[str, Any]:
    rows = [{"turns": one.rows(), "longer_than_read_at_once": one.shortened} for one in scored]
    return {"model": serving.model, "dialogues": rows}


def _paid(serving: Serving, scored: list[ScoredDialogue]) -> dict[str, Any]:
    """OpenRLHF 0.11.2, `openrlhf/utils/agent.py`: lists, one number a query; each query ends with the scored reply.

    A policy is paid the advantage (`apportion.reward_model.trl_reward`), 0 where it says nothing. ``scores`` (0 to 1)
    are for its filter: the share of turns that taught the model and were worth less, were they normally distributed.
    """
    replies = [one.rows()[-1] for one in scored]
    rewards = [row["reward"] for row in replies]
    standard = [(reward - serving.mean) / serving.scale for reward in rewards]
    unlike = [float(bool(row["unlike_training"])) for row in replies]
    return {
        "rewards": [0.0 if one.silent else row["advantage"] for one, row in zip(scored, replies, strict=True)],
        "scores": [0.5 * (1 + math.erf(z / math.sqrt(2))) for z in standard],
        "extra_logs": {"turn_reward": rewards, "reward_sd": [row["sd"] for row in replies], "unlike_training": unlike},
    }


def _counted(
    serving: Serving, path: str, answer: Callable[[Request], Awaitable[Response]]
) -> Callable[[Request], Awaitable[Response]]:
    """``answer``, counted by its status and its seconds."""

    async def counted(request: Request) -> Response:
        began, status = time.perf_counter(), 500
        try:
            response = await answer(request)
            status = response.status_code
            return response
        finally:
            serving.metrics.answered(path, status, time.perf_counter() - began)

    return counted


def _refusal(status: int, text: str) -> Response:
    headers = {"Retry-After": str(RETRY_S)} if status == 503 else None
    # What was sent may be quoted, and half a character is no UTF-8.
    return JSONResponse({"error": text.encode("utf-8", "backslashreplace").decode()}, status, headers)


async def _no_such_path(request: Request, error: Exception) -> Response:
    """404 and 405."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _refusal(
        status, f"{request.method} {json.dumps(request.url.path[:200])} is no path of this server: {PATHS}."
    )
