"""A language model as the other side of a dialogue: asked at a server, with consent, budget and reply cache."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from apportion.corpus.session import Episode
from apportion.environments.concurrent_rollouts import mapped
from apportion.foundation.errors import UnitError
from apportion.llm_client.prompts.data import data_json
from apportion.llm_client.prompts.prompt_file import PromptKind
from apportion.llm_client.prompts.strict_json import ReplyMistakeError, object_schema, reply_json, short_json
from apportion.llm_client.request import ChatMessage, ChatReply, ChatRequest
from apportion.llm_client.session import LLMSession, NoUsableReplyError, ask_until_usable
from apportion.llm_client.settings import LLMSettings
from apportion.rlhf.policy.contexts import HistoryText
from apportion.rlhf.sampling.partner import Dialogue, LivePartner

if TYPE_CHECKING:
    from apportion.rlhf.training.job import Job

CALLED = "partner_settings"
TOO_LONG = f"Lower {CALLED}.shown_turns."
PROMPTS = PromptKind(
    folder=Path(__file__).parent / "prompts",
    entry_points="apportion.partner_prompts",
    setting=f"{CALLED}.prompt",
    header=("title",),
    blanks=frozenset({"dialogue"}),
    needed=("dialogue",),
    form="A partner's prompt is a title, then [system] and [user] with {{ dialogue }}; see "
    "docs/guides/reward-model-and-alignment.md",
)
KNOWN = "What you knew before the dialogue, as JSON that is data like the dialogue:"
REPLY_SCHEMA = object_schema({"say": {"type": ["string", "null"]}})
TOKENS_AN_ANSWER = 45
"""About what one turn of a spoken dialogue takes as JSON, where the settings do not limit it."""


class LanguageModelPartnerSettings(LLMSettings):
    """The model that answers the policy, and how it is asked."""

    prompt: str = Field(default="partner", min_length=1, description="partner, or the path of a text file of your own")
    max_reply_attempts: int = Field(
        default=3, ge=1, le=10, description="times it is asked, its mistake shown to it, before the training stops"
    )
    shown_turns: int = Field(default=40, ge=1, description="most turns of the dialogue that it is shown, the last ones")

    DECIDING: ClassVar[tuple[str, ...]] = (
        "provider", "model", "temperature", "max_tokens", "reasoning_effort", "extra_body", "shown_turns",
    )  # fmt: skip

    def identity(self) -> dict[str, Any]:
        """What decides the answers: how a reply is come by does not, the prompt counts by its text."""
        plain = self.model_dump(mode="json")
        text = PROMPTS.find(self.prompt).read_bytes()
        return {**{name: plain[name] for name in self.DECIDING}, "prompt": hashlib.sha256(text).hexdigest()}


class LanguageModelPartner(LivePartner):
    """The other side, said by a language model.

    Equal dialogues are asked about once, and replies are kept by whoever lends ``complete``.

    ``episodes``, ``history_text``: as `LivePartner`. ``asker``: asks the model, and is closed with the partner.
    ``settings``: which model, and how it is asked.
    """

    def __init__(
        self,
        episodes: Sequence[Episode],
        history_text: HistoryText,
        asker: LLMSession,
        settings: LanguageModelPartnerSettings,
    ) -> None:
        super().__init__(episodes, history_text)
        self._asker, self._settings = asker, settings

    def speak(self, dialogues: Sequence[Dialogue]) -> list[str | None]:
        """What the model says in each dialogue (B of them), ``concurrency`` of them asked at once."""
        return mapped(self._asked, dialogues, min(self._settings.concurrency, len(dialogues)))

    def close(self) -> None:
        """Let go of the client."""
        self._asker.close()

    def _asked(self, dialogue: Dialogue) -> str | None:
        request = request_of(dialogue, self._settings)
        try:
            return ask_until_usable(self._asker.complete, request, read_answer, self._settings.max_reply_attempts)
        except NoUsableReplyError as error:
            raise UnitError(
                f"{error} Ask more often with {CALLED}.max_reply_attempts, or use another model. Its last reply was: "
                f"{error.replies[-1].reply[:300]!r}",
                error.evidence,
            ) from None


def request_of(dialogue: Dialogue, settings: LanguageModelPartnerSettings) -> ChatRequest:
    """What is asked for the partner's next turn. Raises InputError: the prompt cannot be used."""
    turns = [turn for turn in dialogue.episode.turns if turn.text.strip()][-settings.shown_turns :]
    target = dialogue.episode.rating.target
    # No names: who is who is told by the side, so that the model need not know the people.
    sides = {dialogue.partner: "you", target: "the other side"}
    lines = [data_json({"speaker": sides.get(turn.speaker, "somebody else"), "text": turn.text}) for turn in turns]
    blanks = {"dialogue": "[\n" + ",\n".join(lines) + "\n]"}
    system, user = PROMPTS.messages(settings.prompt, blanks)
    known = ChatMessage("user", f"{_known(dialogue)}{user.content}")
    return ChatRequest(
        **settings.asking, messages=(system, known), schema=REPLY_SCHEMA, subject=f"partner in {dialogue.place}"
    )


def _known(dialogue: Dialogue) -> str:
    """What the partner knew before the first turn, to be told before the dialogue; nothing where it knew nothing."""
    known = dialogue.turned.known_to_target
    lines = [
        data_json({"known to": "everybody" if b.speaker is None else "you alone", "kind": b.kind, "text": b.text})
        for b in known
    ]
    return f"{KNOWN}\n\n<known>\n[\n" + ",\n".join(lines) + "\n]\n</known>\n\n" if lines else ""


def read_answer(reply: ChatReply) -> str | None:
    """What the partner says; None where it has nothing more to say."""
    document = reply_json(reply, "say less")
    if not isinstance(document, dict) or document.keys() != {"say"}:
        raise ReplyMistakeError('the reply is not an object with "say" alone')
    said = document["say"]
    if said is None:
        return None
    if not isinstance(said, str) or not said.strip():
        raise ReplyMistakeError(f'"say" is {short_json(said)}; give a text, or null to say nothing more')
    return " ".join(said.split())


def of_job(
    job: Job, settings: LanguageModelPartnerSettings, episodes: Sequence[Episode], history: HistoryText
) -> LanguageModelPartner:
    """The language model of an alignment; its client is made when it is first asked."""
    return LanguageModelPartner(episodes, history, job.asking.session(settings, CALLED, TOO_LONG), settings)
