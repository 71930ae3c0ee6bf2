"""Strategies of a bargain as words: what a planner tells a frozen policy, and how a small policy learns to follow them.

PPDPP and EPO plug a planner into a large model that does what an instruction says. SmolLM2 (135M) and `tiny` do not:
told to accept, SmolLM2 chats. So that there is something to plan for, the policy first clones a script that follows
strategies which are drawn at each act, each told at the end of what the policy reads; then it is frozen.
"""

from __future__ import annotations

from random import Random

from apportion.environments.agents.agent import ScriptedAgent
from apportion.environments.environment import Action, Observation
from apportion.environments.sotopia.goal_checks import PHYSICAL, accepted, offered
from apportion.environments.sotopia.observation import SPEAK
from apportion.environments.sotopia.scripted_agents import SMALL_TALK, standing, worded
from apportion.rlhf.policy.contexts import ContextTurn, answer_tokens
from apportion.rlhf.sampling.policy_agent import PolicyAgent
from apportion.rlhf.social.episodes import SeatStep
from apportion.rlhf.social.run import SocialRun, TurnTokens, context_of, turn_tokens

STRATEGIES = {
    "talk": "Chat, and offer nothing yet.",
    "demand": "Offer what is best for you.",
    "press": "Offer what leaves the other a little.",
    "meet": "Offer to meet in the middle.",
    "accept": "Accept what is offered.",
}
"""By name what the policy is told. PPDPP's bargains have eleven of people's; these are what exact rules can tell."""
WORTH = {"demand": 1.0, "press": 0.75, "meet": 0.5}
"""What an offer is worth to its speaker: 0 the least that it accepts, 1 the most."""


def told(strategy: str) -> str:
    """The words of a strategy as the policy reads them, at the end of its prompt."""
    return f"(Strategy: {strategy})"


def followed(strategy: str, view: Observation) -> Action:
    """What a script does by a strategy, by its name. Raises UnitError: there is nothing to agree on."""
    if strategy == "accept":
        return Action(PHYSICAL, "accept")
    if strategy in WORTH:
        return Action(PHYSICAL, f"offer: {worded(standing(view.facts).deal, WORTH[strategy])}")
    return Action(SPEAK, view.draws.choice(SMALL_TALK))


def strategy_of(step: SeatStep) -> str:
    """The name of the strategy that an act is nearest to; every act that offers and accepts nothing talks."""
    if accepted(step.act):
        return "accept"
    deal = standing(step.view.facts).deal
    offer = offered(deal, step.act)
    if offer is None:
        return "talk"
    worth = deal.worth(offer, 0, 0)
    return min(WORTH, key=lambda name: abs(WORTH[name] - worth))


def drawn(view: Observation) -> str:
    """The name of a strategy, each with the same chance; the same again for the same view."""
    return Random(f"{view.number}/strategy").choice(tuple(STRATEGIES))


FOLLOWER = ScriptedAgent("follower", lambda view: followed(drawn(view), view))
"""Does at each act what a drawn strategy says."""


def answer(agent: PolicyAgent, step: SeatStep, cue: str, said: str) -> TurnTokens:
    """What is to be said in place of an act, behind a cue, as the policy reads and says it."""
    context = context_of(step.view, agent.policy, agent.window, cue)
    tokens = answer_tokens(agent.policy, context.messages, ContextTurn("assistant", said))
    return TurnTokens(context.prompt, tokens, (1,) * len(tokens))


def clone_follower(run: SocialRun) -> None:
    """Let the run's policy learn to follow strategies, unless ``cloning`` is off; from here on it is frozen.

    Next to acts by strategies it learns what it says itself where none is told, so that this stays as it is.
    """
    if run.settings.cloning:
        agent = run.agent()
        itself = [turn_tokens(run.policy, one.steps, agent.window) for one in run.play(agent, "itself")]
        acts = [step for episode in run.play(FOLLOWER, "following") for step in episode.steps]
        rows = [answer(agent, step, told(STRATEGIES[drawn(step.view)]), step.said) for step in acts]
        rows += [row for row in itself if any(row.mask)]
        run.learn_rows([row.labelled for row in rows], f"{len(acts)} acts", "following strategies")
    freeze(run)


def freeze(run: SocialRun) -> None:
    """From here on nothing changes the policy."""
    run.model.eval()  # No dropout, and a KV cache, after a trainer.
    for weight in run.model.parameters():
        weight.requires_grad_(False)
