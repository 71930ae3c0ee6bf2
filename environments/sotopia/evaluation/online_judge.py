"""A language model as the judge of an episode in play: for whoever plays sessions on, or compares agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion.corpus.session import Background, Session, Turn
from apportion.corpus.sotopia_eval import OVERALL, RANGES
from apportion.environments.corpus_export import heard_in
from apportion.environments.environment import Environment
from apportion.environments.role_assignment import EpisodeScore
from apportion.environments.rollout_preview import Prompt
from apportion.environments.sotopia.evaluation.episodes import ReadEpisode
from apportion.environments.sotopia.evaluation.language_model import TOKENS_A_PERSON, ModelJudge
from apportion.foundation.errors import UnitError
from apportion.llm_client.session import Complete


@dataclass(frozen=True)
class JudgedByModel:
    """A `role_assignment.Judge` that asks a model, as `apportion world evaluate` does of a corpus.

    ``judge``: The model and its prompt. ``complete``: Asks it (`apportion.llm_client.session.LLMSession.complete`).
    """

    judge: ModelJudge
    complete: Complete
    paid: bool = True

    @property
    def called(self) -> str:
        """The ratings' annotator."""
        return self.judge.called

    def prompts(self, environment: Environment) -> list[Prompt]:
        """What it asks of an episode, as `apportion.environments.rollout_preview` has it; nothing where nobody acts."""
        try:
            questions = self.judge.questions(ReadEpisode.of(_session(environment)))
        except UnitError:
            return []
        return [Prompt(question.request(), len(question.people) * TOKENS_A_PERSON) for question in questions]

    def verdict(self, environment: Environment) -> EpisodeScore:
        """The seven dimensions and ``overall`` of every agent; None where the model gave none, and of who is silent.

        Raises InputError: No request can succeed until a person changes something. Raises StoppedError: The budget is
        used up.
        """
        unknown: Mapping[str, float | None] = dict.fromkeys((*RANGES, OVERALL))
        scores = dict.fromkeys(environment.agents, unknown)
        try:
            episode = ReadEpisode.of(_session(environment))
        except UnitError as error:
            return EpisodeScore(scores, str(error))
        problems = []
        for question in self.judge.questions(episode):
            for given in question.ask(self.complete):
                scores[given.target] = {**unknown, **{name: score for name, (score, _) in given.scores().items()}}
                problems += [f"{given.target!r}: {given.given[name].cause}" for name in given.missing[:1]]
        silent = [agent for agent in environment.agents if scores[agent] is unknown]
        problems += [f"{agent!r} does nothing, so nobody can judge it" for agent in silent]
        return EpisodeScore(scores, "; ".join(problems) or None)


def _session(environment: Environment) -> Session:
    """The episode as the corpus would have it."""
    heard = heard_in(environment, environment.steps)
    turns = tuple(Turn(number, agent, text) for number, (agent, text) in enumerate(heard))
    known = tuple(Background(speaker, kind, text) for speaker, kind, text in environment.backgrounds())
    return Session(str(environment.seed), turns, backgrounds=known)
