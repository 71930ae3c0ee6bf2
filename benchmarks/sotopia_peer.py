"""The questions of `sotopia_faults.py`, put to sotopia 0.1.5 in its own environment; reads JSON, prints JSON lines."""

import asyncio
import json
import sys

import sotopia.server
from sotopia.agents import Agents, BaseAgent
from sotopia.database import AgentProfile, EnvironmentProfile, RelationshipType
from sotopia.envs.evaluators import Evaluator, RuleBasedTerminatedEvaluator
from sotopia.envs.parallel import ParallelSotopiaEnv
from sotopia.messages import AgentAction

THEIR_NAMES = {"pronouns": "gender_pronoun", "personality": "personality_and_values"}
PACKAGE = "sotopia 0.1.5"


class Leaves(BaseAgent):
    """Leaves at once."""

    def act(self, observation):
        return AgentAction(action_type="leave", argument="", to=[])

    async def aact(self, observation):
        return self.act(observation)


class Sevens(Evaluator):
    """A judge whose scores are valid: 7 of 10 for the goal of both."""

    prompt = ""

    def __call__(self, turn_number, messages, **more):
        return [(agent, (("goal", 7), "by rule")) for agent in ("agent_1", "agent_2")]

    async def __acall__(self, turn_number, messages, **more):
        return self(turn_number, messages)


def profile(fields):
    """A profile of theirs with the fields of ours."""
    first, last = fields["name"].split()
    kept = ("age", "gender", "occupation", "public_info", "big_five", "secret")
    theirs = {name: fields[name] for name in kept} | {THEIR_NAMES[name]: fields[name] for name in THEIR_NAMES}
    return AgentProfile(pk=first, first_name=first, last_name=last, moral_values=[], schwartz_personal_values=[],
                        decision_making_style=fields["decision_style"], **theirs)  # fmt: skip


def environment(kind, judges=()):
    """An environment of theirs for two who know each other so."""
    scene = EnvironmentProfile(pk="e", codename="c", scenario="A park", agent_goals=["Sell", "Buy"], relationship=kind)
    return ParallelSotopiaEnv(
        env_profile=scene,
        action_order="round-robin",
        evaluators=[RuleBasedTerminatedEvaluator(max_turn_number=20, max_stale_turn=2)],
        terminal_evaluators=list(judges),
    )


def agents(*people):
    """Both agents."""
    return [Leaves(agent_name=f"{one.first_name} {one.last_name}", agent_profile=one) for one in people]


def view(kind, ann, bob):
    """What the first agent reads first."""
    both = agents(ann, bob)
    return environment(kind).reset(agents=Agents({one.agent_name: one for one in both}))[both[0].agent_name].last_turn


def rewarded(ann, bob):
    """The rewards that the package logs for an episode that a judge has scored."""
    logged = []

    class Log:
        def __init__(self, **fields):
            logged.append(fields)
            self.__dict__.update(fields)

    sotopia.server.EpisodeLog = Log
    env = environment(RelationshipType.stranger, [Sevens()])
    asyncio.run(sotopia.server.arun_one_episode(env, agents(ann, bob)))
    return logged[0]


def main():
    """Answer both questions."""
    asked = json.load(sys.stdin)
    ann, bob, read = profile(asked["ann"]), asked["bob"], {}
    for kind in RelationshipType:
        before = view(kind, ann, profile(bob))
        changed = {field: view(kind, ann, profile({**bob, field: value})) for field, value in asked["changed"].items()}
        read[kind.name.replace("_", " ")] = [field for field, text in changed.items() if text != before]
    print(json.dumps({"package": PACKAGE, "the other's fields read": read}))
    log = rewarded(ann, profile(bob))
    told = {"the judge": "7 of 10 for both", "rewards in the log": log["rewards"], "reasoning": log["reasoning"]}
    print(json.dumps({"package": PACKAGE, **told}))


if __name__ == "__main__":
    main()
