"""Dynamic strategy injection (SOTOPIA-Ω: Zhang et al., 2025, Dynamic strategy injection learning and social instruction
following evaluation for social agents).

While episodes are made, a strategy is injected into who makes them at the turns at which a rule says so; the policy
then learns by supervised fine-tuning what was said, from what it itself would have read: the injected words are in no
row.

Choices where the paper uses GPT-4, or leaves one:

- Who makes the episodes is ``expert``: a script, which follows a strategy to the letter, since it reads no words; or
  `self`, the policy, which reads it at the end of its context and says what it will.
- The strategies are three of negotiation, by what is on the table (`injected`): to *take* an offer that is good
  enough, to *hold* while the other side still moves, and to *bridge* the gap where both are stuck. At other turns
  nothing is injected.
- Episodes are filtered as those of `sotopia_pi`.
"""

from __future__ import annotations

from typing import NamedTuple

from apportion.environments.agents.agent import Agent, ScriptedAgent
from apportion.environments.environment import Action, Observation
from apportion.environments.sotopia.game import Facts
from apportion.environments.sotopia.goal_checks import PHYSICAL, Deal, offered
from apportion.environments.sotopia.scripted_agents import standing, worded
from apportion.rlhf.sampling.starts import ITSELF
from apportion.rlhf.social.run import SocialRun
from apportion.rlhf.social.sotopia_pi import learn_best

ENOUGH = 0.75
"""What an offer is worth, as a share of all that there is to win, that is good enough."""
MOVED = 1e-6
_WORDS = {
    "take": "What you are offered is good. Take it",
    "hold": "The other side still moves. Ask for the same again",
    "bridge": "You are both stuck. Meet the other side halfway",
}


class Strategy(NamedTuple):
    """One strategy at one turn: its name, and the act that it comes to."""

    name: str
    act: Action


def injected(view: Observation) -> Strategy | None:
    """The strategy that the rule injects at this turn, from what the seat knows alone; None: none.

    An offer of the other side that is worth `ENOUGH` is taken. Else, where its last offer was better for the seat than
    the one before it, or is its first, the seat's own last offer is held. Else, where the seat's own last two offers
    were equal too, both are stuck, and the seat asks for the middle of its own and the other's last offer.
    """
    facts: Facts = view.facts
    terms = facts.part.terms
    if terms is None or terms.deal is None:
        return None
    offers, deal, seat = standing(facts), terms.deal, facts.part.seat
    made = [(by, offer) for by, act in facts.acts if (offer := offered(deal, act)) is not None]
    mine = [deal.worth(offer, 0, 0) for by, offer in made if by == seat]
    theirs = [deal.worth(offer, 0, 1) for by, offer in made if by != seat]
    if offers.agreed or not theirs:
        return None
    if offers.standing is not None and offers.standing.by != seat and theirs[-1] >= ENOUGH:
        return Strategy("take", Action(PHYSICAL, "accept"))
    if mine and (len(theirs) < 2 or theirs[-1] > theirs[-2] + MOVED):
        return Strategy("hold", _asking(deal, mine[-1]))
    if len(mine) > 1 and abs(mine[-1] - mine[-2]) <= MOVED:
        return Strategy("bridge", _asking(deal, (mine[-1] + theirs[-1]) / 2))
    return None


def _asking(deal: Deal, wanted: float) -> Action:
    return Action(PHYSICAL, f"offer: {worded(deal, min(max(wanted, 0.0), 1.0))}")


def with_strategies(script: Agent) -> Agent:
    """A script that does what is injected, and what it does anyway at other turns."""

    def act(view: Observation) -> Action:
        strategy = injected(view)
        return script.act(view) if strategy is None else strategy.act

    return ScriptedAgent(f"{script.called}+strategies", act)


def told(view: Observation) -> str:
    """What a policy is told at the end of what it reads."""
    strategy = injected(view)
    return "" if strategy is None else f"({_WORDS[strategy.name]}: [{strategy.act.kind}] {strategy.act.text})"


def train(run: SocialRun) -> None:
    """Make episodes with strategies injected, and learn from the best of them without; ``rounds`` times.

    Raises UnitError: no episode of a round passes the filter.
    """
    for number in range(1, run.settings.rounds + 1):
        itself = run.settings.expert == ITSELF
        maker: Agent = run.agent(hint=told, explore=True) if itself else with_strategies(run.expert)
        learn_best(run, run.play(maker, f"injected-{number}"), run.settings.least, f"round {number}")
