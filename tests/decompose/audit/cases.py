"""Cases that the tests of the audit share."""

from __future__ import annotations

from apportion.corpus.session import Media, Rating, Session, Turn
from apportion.decompose.audit.case import PerturbedEpisode, cases_of
from apportion.decompose.methods import METHODS
from apportion.decompose.settings import DecomposeSettings
from tests.decompose.sessions import descriptors

TALK = Session(
    "s1",
    (
        Turn(0, "bea", "Ana, what shall we cook?"),
        Turn(1, "ana", "Soup, Bea."),
        Turn(2, "bea", "Again? Ana's soup!"),
        Turn(3, "ana", "Or a cake."),
        Turn(4, "bea", "Yes!"),
        Turn(5, "ana", "Good."),
    ),
    (Rating("bea", "ana", "mood", 4.0, 1.0, 5.0),),
    (Media("bea", "video", "bea.mp4"),),
)
SEEN = descriptors(
    (1, "bea", "during", "shakes head; looks sad; gaze down"),
    (3, "bea", "during", "nods; smiling"),
    (3, "bea", "reply", "voice louder than usual"),
)


def clean(settings: DecomposeSettings | None = None, session: Session = TALK, table=SEEN) -> PerturbedEpisode:
    (case,) = cases_of(METHODS["llm-multimodal"], session, None, table, settings or DecomposeSettings())
    return case


def prompts(case: PerturbedEpisode) -> list[str]:
    """The user's messages of all requests."""
    return [request.messages[1].content for request in case.requests()]
