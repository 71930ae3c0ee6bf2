"""What a run would send to the language model, word for word, before anything is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foundation.errors import InputError, UnitError
from llm_client.errors import SetupError
from llm_client.kept.lookup import kept_replies
from llm_client.preview import Preview
from llm_client.request import ChatRequest
from pipeline.asking.pricing import asking_units, unit_requests

if TYPE_CHECKING:
    from pipeline.engine.engine import Engine


@dataclass(frozen=True)
class RunPreview:
    """The first requests of those that a run would send.

    ``lacking`` counts the sessions whose descriptors are not made yet, so that their question will hold more than is
    shown.
    """

    sent: Preview
    lacking: int

    def text(self) -> str:
        """For a person."""
        return self.sent.text()

    def to_json(self) -> dict[str, Any]:
        """The same for other programs."""
        document = self.sent.to_json()
        bodies = document.pop("bodies")
        return {**document, "sessions_without_descriptors": self.lacking, "bodies": bodies}


def preview(engine: Engine, stages: Collection[str], count: int) -> RunPreview:
    """The first ``count`` requests that ``stages`` would send: those without a reply that is kept already.

    Raises
    ------
    InputError
        A file of replies cannot be read, or no method asks a language model.
    """
    config = engine.config
    asking = asking_units(engine, stages)
    if not asking:
        raise InputError(
            f"--preview: nothing is asked of a language model by decompose.methods = "
            f"{', '.join(config.decompose.methods)}. Add llm or llm-multimodal."
        )
    lacking: set[str | None] = set()
    left: dict[str, ChatRequest] = {}
    for stage, unit in asking:
        if engine.artifact(stage, unit) is not None:
            continue
        try:
            requests, lacks = unit_requests(engine, stage, unit)
        except UnitError:
            continue
        lacking |= {unit.session_id} if lacks else set()
        left.update((request.key(), request) for request, _ in requests)
    settings = config.decompose.llm
    try:
        with kept_replies(settings, config.llm_cache, config.run.recorded) as kept:
            waiting: Sequence[ChatRequest] = [request for request in left.values() if kept(request) is None]
    except SetupError as error:
        raise InputError(f"decompose.llm: {error}") from None
    notes = [
        f"{len(lacking):,} sessions lack descriptors: words on the rater's behaviour would be sent as well. "
        "Run `apportion describe` first to see them"
    ]
    consent = f"--send-to {settings.host} or decompose.llm.send_to"
    sent = Preview(settings, tuple(waiting[:count]), len(waiting), consent, tuple(notes if lacking else ()))
    return RunPreview(sent, len(lacking))
