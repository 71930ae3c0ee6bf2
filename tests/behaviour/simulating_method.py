"""A toy environment and a method that plays its sessions on, as two packages would bring them.

Haggling: every act of the seller names an amount, the buyer answers, and the judge is a rule: the deal is worth what
was named, but 8 at most, and 2 more where an amount was named right after a larger one. Whoever plays on adds an amount
that the seed draws.
"""

import random
import re
from functools import cached_property
from itertools import pairwise

from pydantic import Field

from apportion.decompose import RequestMeta, RolloutMethod, Section, TurnScore, shapley_values
from apportion.environments.episode_restorer import TerminalState
from apportion.foundation.settings import Settings
from apportion.llm_client import ChatMessage, ChatRequest

MADE = "haggling, simulated: scripted seller and buyer, judge rules"


def amounts(turns):
    return [int(re.search(r"\d+", turn.text)[0]) for turn in turns]


def deal(named):
    falls = sum(later < earlier for earlier, later in pairwise(named))
    return min(sum(named), 8) + 2 * falls


class Haggled:
    """One session of the environment; a buyer that is asked pays what the language model says on top."""

    def __init__(self, session, complete):
        self._session, self._complete = session, complete

    @cached_property
    def _asked(self):
        return "asks" in self._session.source

    def play_on(self, target, kept, seeds):
        return [self._ending(target, kept, random.Random(seed).randint(0, 1), 1) for seed in seeds]

    def as_it_stands(self, target, kept):
        return self._ending(target, kept, 0, 0)

    def request(self, said):
        words = f"You buy. The seller named {said}. What do you add?"
        return ChatRequest("m", (ChatMessage("user", words),), subject=f"session {self._session.session_id}")

    def _ending(self, target, kept, more, acts):
        named = amounts(t for t in self._session.turns if t.speaker == target and t.turn in kept)
        added = int(self._complete(self.request(named)).text) if self._asked and acts else 0
        return TerminalState({"goal": float(deal(named) + more + added)}, acts=acts)


class Haggling:
    """The environment as others see it."""

    version = 1

    def identity(self, session, corpus):
        ours = (session.source or "").startswith("haggling, simulated")
        return {"rules": self.version, "agents": session.source} if ours else None

    def open(self, session, corpus, complete):
        return Haggled(session, complete)


HAGGLING = Haggling()


class PlaySettings(Settings):
    """How sessions are played on."""

    rollouts: int = Field(default=2, ge=1, description="times each coalition is played on, with the same seeds in all")


def judge(episode, behaviour, settings, asker, played):
    """Each act's Shapley value of the deal (SAVOIR, Eq. 4)."""
    turns, rating = episode.target_turns, episode.rating
    seeds = range(settings.section_of(method_of(settings)).rollouts)

    def worth(coalition):
        kept = {turns[player] for player in coalition}
        return [ending.scores[rating.name] for ending in played.play_on(rating.target, kept, seeds)]

    values = shapley_values(worth, players=len(turns)).values
    return [TurnScore(turn, float(value)) for turn, value in zip(turns, values, strict=True)]


def method_of(settings):
    return ASKING if ASKING.name in settings.methods else PLAYED


def requests_for(session, rating_name, behaviour, settings, played):
    """What playing on asks first: the buyer of a session in which nobody has named anything."""
    return [
        (played.request([]), RequestMeta(*episode.key, sample=0, turns=episode.target_turns))
        for episode in session.episodes(rating_name)
    ]


SECTION = Section("played", settings="tests.behaviour.simulating_method:PlaySettings")
PLAYED = RolloutMethod(
    "played", "Shapley values of the deal", "tests.behaviour.simulating_method:judge", section=SECTION
)
ASKING = RolloutMethod(
    "played-asking",
    "The same against a buyer that is asked",
    "tests.behaviour.simulating_method:judge",
    requests="tests.behaviour.simulating_method:requests_for",
    section=SECTION,
)
