"""Which speakers of a session are persons who may come back in another session."""

from __future__ import annotations

from apportion.corpus.session import ENVIRONMENT, Session

ROLES = frozenset(
    [
        "assistant",
        "bot",
        "chatbot",
        "agent",
        "ai",
        "gpt",
        "human",
        "usr",
        "user",
        "sys",
        "system",
        "seeker",
        "supporter",
        "customer",
        "speaker",
        "listener",
        "first",
        "second",
        "mturk_agent_1",
        "mturk_agent_2",
    ]
)
"""Speaker ids (in lower case) that name a part in the conversation, the same in every session, and nobody."""


def persons(session: Session) -> frozenset[str]:
    """Everyone who speaks or rates in the session, without those known only by their role; ENVIRONMENT is nobody."""
    people = {turn.speaker for turn in session.turns} | {rating.rater for rating in session.ratings}
    people.discard(ENVIRONMENT)
    return frozenset(name for name in people if name.casefold() not in ROLES)
