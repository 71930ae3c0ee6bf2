"""`--preview`: a run's requests to the language model, before any is sent."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from apportion.foundation.errors import InputError, UnitError
from apportion.llm_client.errors import prefixed
from apportion.llm_client.preview import Preview
from apportion.llm_client.request import ChatRequest
from apportion.pipeline.llm_requests.pricing import asking_units, is_limited, kept_of, unit_requests
from apportion.pipeline.llm_requests.rollouts import PendingRollouts, playing_units
from apportion.pipeline.stages.choose import chosen_sessions
from apportion.pipeline.stages.rubric import is_unwritten
from apportion.pipeline.stages.shared import method_of

if TYPE_CHECKING:
    from apportion.pipeline.engine.engine import Engine


def preview(engine: Engine, stages: Collection[str], count: int) -> Preview:
    """The first ``count`` requests that ``stages`` would send: those without a reply that is kept already.

    Raises InputError: A file of replies cannot be read, or no method asks a language model.
    """
    config = engine.config
    asking, playing = asking_units(engine, stages), playing_units(engine, stages)
    if not asking and not playing:
        raise InputError(
            f"--preview: nothing is asked of a language model by the methods "
            f"{', '.join(config.decompose.methods)}. Add llm or llm-multimodal, or a method that plays on sessions "
            "whose agents or judge are language models."
        )
    lacking: set[str | None] = set()
    left: dict[str, ChatRequest] = {}
    unwritten = False
    for stage, unit in asking:
        if engine.artifact(stage, unit) is not None:
            continue
        if is_unwritten(engine, method_of(unit)) and unit.session_id is not None:
            unwritten = True
            continue
        try:
            requests, lacks = unit_requests(engine, stage, unit)
        except UnitError:
            continue
        lacking |= {unit.session_id} if lacks else set()
        left.update((request.key(), request) for request, _ in requests)
    with prefixed("decompose.llm"), kept_of(config) as kept:
        waiting = [request for request in left.values() if kept(request) is None]
        waiting += PendingRollouts(engine, playing, kept).first_requests()
    llm = config.decompose.llm
    notes = [
        f"{len(lacking):,} sessions lack descriptors: words on the rater's behaviour would be sent as well. "
        "Run `apportion run --only verbalize` first to see them"
    ] * bool(lacking)
    if any(is_limited(engine, *one) for one in asking) and chosen_sessions(engine) is None:
        notes.append(
            f"of these sessions {llm.max_sessions} are asked about (decompose.llm.max_sessions); run `apportion "
            "run --only select-sessions` first to see those alone"
        )
    if unwritten:
        notes.append(
            "the rubric alone: what is asked by it about each session is known when it is written; run `apportion run "
            "--only rubric` first to see that"
        )
    if playing:
        notes.append("of sessions that are played on the next requests alone: later ones hold what is said in them")
    return Preview(
        llm,
        tuple(waiting[:count]),
        len(waiting),
        consent=f"--allow-host {llm.consent_host or llm.host} or decompose.llm.allow_host",
        asked_for="--preview",
        notes=tuple(notes),
        facts={"sessions_without_descriptors": len(lacking)},
    )
