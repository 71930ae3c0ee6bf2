import json
import re
import threading
from collections import Counter
from dataclasses import replace
from itertools import combinations, count

from apportion.environments.agents.agent import ScriptedAgent
from apportion.environments.agents.language_model import LanguageModelAgent
from apportion.environments.collect_episodes import play
from apportion.environments.environment import Action
from apportion.environments.restored_episode import RestoredEpisode
from apportion.environments.rollout import PAPER_WEIGHTS, Rollouts, RolloutUtility
from apportion.environments.sotopia.evaluation.language_model import ModelJudge
from apportion.environments.sotopia.evaluation.online_judge import JudgedByModel
from apportion.environments.sotopia.game import Rules, Sotopia
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.tasks import Character
from apportion.llm_client.model_spec import ModelSpec
from apportion.llm_client.request import ChatReply
from apportion.llm_client.settings import LLMSettings

CANARY = re.compile(r"canary-[\w-]+")


def task():
    """A bundled task with a word of its own in each goal and each secret."""
    found = bundled_tasks.tasks()[0]
    goals = tuple(f"{goal} canary-goal-{seat}" for seat, goal in enumerate(found.scenario.goals))
    people = tuple(
        replace(character, secret=f"canary-secret-{seat}") for seat, character in enumerate(found.characters)
    )
    assert all(isinstance(person, Character) for person in people)
    return replace(found, scenario=replace(found.scenario, goals=goals), characters=people)


class Watched:
    """Answers every request with words that nobody else says, and notes in which play it was asked."""

    def __init__(self):
        self.play, self.asked, self.said, self.numbers = threading.local(), [], {}, count()

    def complete(self, request):
        text = "\n".join(message.content for message in request.messages)
        now = self.play.now
        self.asked.append((now, request.subject, frozenset(CANARY.findall(text))))
        if "<episode>" in text:
            one = {name: {"reasoning": "-", "score": 0} for name in ("BEL", "REL", "KNO", "SEC", "SOC", "FIN", "GOAL")}
            return ChatReply(json.dumps(dict.fromkeys(text.rpartition("Evaluate: ")[2].split(", "), one)), "m")
        word = f"canary-said-{next(self.numbers)}"
        self.said[word] = now
        return ChatReply(json.dumps({"act": "speak", "text": f"I say {word}."}), "m")


class Labelled:
    """A session whose plays each know which they are."""

    waits = True

    def __init__(self, reopened, watched):
        self.reopened, self.watched = reopened, watched

    def play_on(self, target, kept, seeds):
        (seed,) = seeds
        self.watched.play.now = (target, frozenset(kept), seed)
        return self.reopened.play_on(target, kept, seeds)


def episode():
    game = Sotopia(task(), Rules("paper", most_acts=8))
    game.reset(3)
    begun = game.clone()
    spoken = ScriptedAgent("spoken", lambda view: Action("speak", f"canary-turn-{view.step}"))
    play(game, dict.fromkeys(game.agents, spoken))
    return begun, tuple(game.steps)


def test_requests_for_some_acts_hold_those_alone_and_no_agent_reads_the_other_s_goal_or_secret():
    begun, steps = episode()
    watched = Watched()
    settings = LLMSettings(model="m", temperature=1.0)
    agents = dict.fromkeys(begun.agents, LanguageModelAgent("base@m", "base", settings, watched.complete))
    judge = JudgedByModel(ModelJudge.of("paper", ModelSpec("m")), watched.complete)
    reopened = RestoredEpisode("s", begun, steps, agents, judge)
    for seat, target in enumerate(begun.agents):
        turns = reopened.turns_of(target)
        assert len(turns) == 4
        rollouts = Rollouts(Labelled(reopened, watched), target, turns, RolloutUtility(PAPER_WEIGHTS), at_once=16)
        coalitions = [frozenset(kept) for size in range(5) for kept in combinations(range(4), size)]
        assert len(rollouts.all_played_on(coalitions)) == 16
        before = {0} if seat == 1 else set()
        asked = [(now, subject, found) for now, subject, found in watched.asked if now[0] == target]
        assert len({now for now, _, _ in asked}) == 32 and len(asked) > 100
        for now, subject, found in asked:
            kept = now[1]
            allowed = {f"canary-turn-{t}" for t in kept | {t + 1 for t in kept} | before}
            heard = {word for word in found if word.startswith("canary-turn-")}
            assert heard <= allowed, (now, heard - allowed)
            assert all(watched.said[word] == now for word in found if word.startswith("canary-said-"))
            for other, name in enumerate(begun.agents):
                hidden = {f"canary-goal-{1 - other}", f"canary-secret-{1 - other}"}
                assert f"as {name!r}" not in subject or not found & hidden
        judged = [found for _, subject, found in asked if "judge" in subject]
        # The judge reads all goals and secrets, and what was said in the play to its end.
        assert len(judged) == 32 and all({"canary-goal-0", "canary-secret-1"} <= found for found in judged)
    own = Counter(f"canary-goal-{seat}" in found for _, subject, found in watched.asked
                  for seat, name in enumerate(begun.agents) if f"as {name!r}" in subject)  # fmt: skip
    assert set(own) == {True}
