"""A language model as the judge of an episode in play."""

import json
from pathlib import Path

from apportion.corpus.corpus import Corpus
from apportion.corpus.sotopia_eval import OVERALL, RANGES
from apportion.environments.agents.agent import RandomLegalAgent
from apportion.environments.collect_episodes import EpisodePlan, play, simulate
from apportion.environments.corpus_export import to_corpus
from apportion.environments.environment import Action, Environment
from apportion.environments.role_assignment import Judge
from apportion.environments.simulation import write_corpus
from apportion.environments.sotopia.evaluation.episodes import read_episodes
from apportion.environments.sotopia.evaluation.language_model import ModelJudge
from apportion.environments.sotopia.evaluation.online_judge import JudgedByModel
from apportion.environments.sotopia.game import Sotopia
from apportion.environments.sotopia.simulation import SimulationChoice
from apportion.environments.sotopia.simulator import SIMULATOR
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.llm_client.model_spec import ModelSpec
from apportion.llm_client.request import ChatReply, ChatRequest
from tests.environments.sotopia.evaluation.judges import OVERALL as MEAN
from tests.environments.sotopia.evaluation.judges import SCORES, scored

MODEL = ModelJudge.of("paper", ModelSpec("m"))
TASK = bundled_tasks.tasks()[0]


class Asked:
    """A model that gives what it is told to, and remembers what it was asked."""

    def __init__(self, *replies: dict[str, object]) -> None:
        self.requests: list[ChatRequest] = []
        self._replies = replies or ({"agent_1": scored(), "agent_2": scored()},)

    def __call__(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        return ChatReply(json.dumps(self._replies[min(len(self.requests), len(self._replies)) - 1]), "m")


def test_it_is_asked_what_it_would_be_asked_about_the_corpus(tmp_path: Path) -> None:
    game = Sotopia(TASK)
    plan = EpisodePlan("s", lambda: game, dict.fromkeys(game.agents, RandomLegalAgent()), 3)
    made = Corpus.of(tmp_path, to_corpus(simulate([plan])).tables)
    (question,) = MODEL.questions(read_episodes(made).read[0])
    asked = Asked()
    judge: Judge = JudgedByModel(MODEL, asked)
    verdict = judge.verdict(game)
    assert [request.key() for request in asked.requests] == [question.request().key()]
    assert judge.called == "paper@m" and verdict.problem is None
    assert [verdict.scores[name] for name in game.agents] == [{**SCORES, OVERALL: MEAN}] * 2


def test_what_is_missing_is_none_with_its_cause() -> None:
    game = Sotopia(TASK)
    unknown = dict.fromkeys((*RANGES, OVERALL))
    verdict = JudgedByModel(MODEL, Asked()).verdict(game)
    assert verdict.scores == dict.fromkeys(game.agents, unknown) and "nobody does anything" in str(verdict.problem)
    game.do(Action("leave"))
    verdict = JudgedByModel(MODEL, Asked({"agent_1": scored()})).verdict(game)
    first, second = game.agents
    assert verdict.scores[first]["GOAL"] == SCORES["GOAL"] and verdict.scores[second] == unknown
    assert verdict.problem == f"{second!r} does nothing, so nobody can judge it"
    game.reset(1)
    play(game, dict.fromkeys(game.agents, RandomLegalAgent()), most_steps=10**6)
    verdict = JudgedByModel(MODEL, Asked({"agent_1": scored(SCORES | {"SEC": 4}), "agent_2": scored()})).verdict(game)
    assert verdict.scores[first]["SEC"] is None and verdict.scores[first][OVERALL] is None
    assert f"{first!r}: SEC has the score 4" in str(verdict.problem)


def test_sessions_are_played_on_under_a_model_as_judge(tmp_path: Path) -> None:
    write_corpus(SimulationChoice(("conceding",), ("used_bicycle",), pairs=1), tmp_path / "one")
    session = next(iter(Corpus.open(tmp_path / "one").iter_sessions()))
    asked = Asked()
    restored = SIMULATOR.restore(session, tmp_path / "one", asked, judge=JudgedByModel(MODEL, asked))
    target = session.turns[0].speaker
    ending = restored.as_it_stands(target, set(restored.turns_of(target)))
    assert ending.scores["BEL"] == SCORES["BEL"] and len(asked.requests) == 1
    assert isinstance(restored.begun, Environment)
