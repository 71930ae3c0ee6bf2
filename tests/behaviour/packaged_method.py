"""A method that a package brings, written by what docs/guides/extend.md says: it asks a language model turn by turn."""

from pydantic import Field

from apportion.decompose import LLMMethod, RequestMeta, Section, TurnScore
from apportion.foundation.settings import Settings
from apportion.llm_client import ChatMessage, ChatRequest, ReplyMistakeError, ask_until_usable, strict_json


class KindnessSettings(Settings):
    """How kindness is asked about."""

    highest: int = Field(default=10, ge=1, description="end of the scale")


def requests_for(session, rating_name, behaviour, settings):
    """One request a target turn."""
    return [pair for episode in session.episodes(rating_name) for pair in requests_about(episode, settings)]


def requests_about(episode, settings):
    """What is asked about one episode, with the turn that each request is about."""
    for position in episode.target_positions:
        turn = episode.turns[position]
        meta = RequestMeta(*episode.key, sample=0, turns=(turn.turn,))
        highest = settings.section_of(KINDNESS).highest
        words = f"How kind is this, from 0 to {highest}? Answer as JSON. {turn.text!r}"
        subject = f"session {episode.session_id}, turn {turn.turn}"
        yield ChatRequest(settings.llm.model, (ChatMessage("user", words),), subject=subject), meta


def judge(episode, behaviour, settings, asker):
    """What the model says of each turn."""

    def read(reply):
        value = strict_json(reply.text)
        if not isinstance(value, int):
            raise ReplyMistakeError("the reply is no whole number")
        return float(value)

    return [
        TurnScore(meta.turns[0], ask_until_usable(asker.complete, request, read, settings.llm.max_reply_attempts))
        for request, meta in requests_about(episode, settings)
    ]


KINDNESS = LLMMethod(
    "kindness",
    "Kindness of the utterance",
    "tests.behaviour.packaged_method:judge",
    requests="tests.behaviour.packaged_method:requests_for",
    section=Section("kindness", settings="tests.behaviour.packaged_method:KindnessSettings"),
)
