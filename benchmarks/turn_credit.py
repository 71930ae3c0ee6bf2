"""Does credit by turn teach faster than the outcome alone, in worlds whose rules score?

Negotiation and bargaining: first seat, advantage, against conceding, fair or tit-for-tat, drawn by start; 10 acts.
Werewolf: the seer, win, among `claims`. The policy is a table, no language: a softmax over a few named moves for each
state that it sees, all 0 at first. A step is 4 starts of 8 episodes each and one gradient step, its advantages divided
by their deviation. Arms differ in the advantage of a turn alone:

    outcome            the episode's outcome less the mean of the group's others (RLOO), in every turn
    expected-utility   `LiveCredit`, played on by a script in every seat (conceding; claims)
    savoir             `LiveCredit`, of all 2^n histories, n <= 5: `label shapley`'s exact labels; Werewolf refuses it
    reward model       a number for each state and move; their sums fit the outcomes of all episodes so far (ridge)
    gigpo              outcome, plus what equal states of a group came to (arXiv 2505.10978; omega 1, gamma 0.95)
    mt-grpo            outcome, plus the group's expected-utility credits turn by turn (arXiv 2505.11821; lambda 1)
    policy plays on    expected-utility, played on by the policy itself, two plays a state (VinePPO)

Credits are compared with the same turn of the group's others: to go, or each turn's own. That and the learning rate are
chosen for each arm by the mean held-out return of two seeds that are none of the five. Of outcome's runs there the
threshold is made, before the five begin: 90 % of the way from the first return to the last, reached by the mean of
three evaluations in a row. Told in episodes, and in acts of all seats, those of playing on counted. To run it:
`python -m benchmarks.turn_credit [WORLD ...]`, some CPU minutes a world; a line an arm as it comes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Sequence
from itertools import cycle, islice
from random import Random
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import numpy as np

from apportion.environments.actions import Action, Step
from apportion.environments.agents.agent import ScriptedAgent
from apportion.environments.collect_episodes import play
from apportion.environments.deduction.events import SPEAK, VOTE
from apportion.environments.deduction.werewolf.claims import Claim, Talk
from apportion.environments.deduction.werewolf.rules import NOBODY, SEER
from apportion.environments.deduction.werewolf.scripts import Claims, seen_by
from apportion.environments.environment import Environment, Observation
from apportion.environments.negotiation.action_encoding import AGREE, END
from apportion.environments.negotiation.bargaining.realization import ACCEPT, LEAVE, OFFER
from apportion.environments.negotiation.bargaining.scripts import opening, toward
from apportion.environments.negotiation.scripts import asking_for, worded
from apportion.rlhf.sampling.environment_partner import Start
from apportion.rlhf.sampling.live_credit import CreditSettings, LiveCredit
from apportion.rlhf.sampling.starts import BargainingStarts, NegotiationStarts, WerewolfStarts, starts_of
from apportion.rlhf.trainers.group_advantages import turn_advantages
from benchmarks.measure import tell

SEEDS, TUNING, HELD_OUT = range(5), (100, 101), 10_000
GROUP, GROUPS, SHARE, GAMMA = 8, 4, 0.9, 0.95
ARMS = ("outcome", "expected-utility", "savoir", "reward model", "gigpo", "mt-grpo", "policy plays on")
BY_TURN = (*ARMS[1:4], ARMS[-1])
Moves = tuple[Hashable, dict[str, Any], Callable[[Any], Action]]  # What is seen of a state, moves, the act of one.
Pick = tuple[Hashable, tuple[str, ...], int]  # A turn: the state, its moves, the number of the chosen one.
Curve = list[tuple[int, int, float]]  # By evaluation: episodes, acts, held-out return.


def negotiating(view: Observation) -> Moves | None:
    facts = view.facts
    if view.seat or facts.over:
        return None
    codes = {f"ask {wanted}": asking_for(facts.counts, facts.values, wanted) for wanted in range(4, 11)}
    codes |= {name: code for name, code in (("agree", AGREE), ("end", END)) if code in facts.legal}
    offered = facts.worth(facts.offered) if facts.by == 1 else -1
    return (len(facts.acts) // 2, offered, facts.settled), codes, lambda code: worded(code, facts)


def bargaining(view: Observation) -> Moves | None:
    facts = view.facts
    if view.seat:
        return None
    moves = {f"go {part}": Action(OFFER, "", toward(facts, opening(facts), part / 5)) for part in range(6)}
    moves |= {kind: Action(kind) for kind in (ACCEPT, LEAVE) if kind in view.legal}
    gain = None if facts.standing is None else max(-1, 20 * facts.profit(facts.standing) // facts.list_price)
    return (len(facts.acts) // 2, gain), moves, lambda act: act


def seeing(view: Observation) -> Moves | None:
    facts, draws = view.facts, view.draws
    if facts.role != SEER:
        return None
    talk, seen = Talk.of(facts), seen_by(facts)
    others = [seat for seat in facts.alive if seat != facts.seat]
    unseen, found = [seat for seat in others if seat not in seen], tuple(seat for seat in others if seen.get(seat))
    (kind,) = facts.choices
    state = kind, min(facts.stage.round, 3), bool(found), facts.seat in talk.seers, len(talk.seers) > 1
    if kind == SPEAK:
        anybody = draws.choice(others)
        told = {"nothing": Claim(), "accuse": Claim(suspects=(anybody,)), "hint": Claim(suspects=found[:1])}
        told |= {"lie": Claim(True, ((anybody, True),), (anybody,)), "tell": Claim(True, (*seen.items(),), found[:1])}
        return state, told, lambda claim: Action(SPEAK, claim.sentence() or "Let us hear.")
    suspected = [seat for seat in unseen if seat in talk.suspected]
    aims: Any = {"anybody": others, "seen": [*{*others} & {*seen}], "unseen": unseen, "suspected": suspected}
    if kind == VOTE:
        suspect = Claims().suspect(facts, talk, draws)[0]
        aims = {"anybody": others, "nobody": [NOBODY], "found": found, "suspect": [suspect]}
    aims = {name: seats for name, seats in aims.items() if seats}
    return state, aims, lambda seats: Action(kind, "", draws.choice(seats))


World = Episode = SimpleNamespace  # An episode has picks, states before each of them and at the end, score, credits.
_TWO: Any = {"games": 200, "seats": ("first",), "most_acts": 10, "outcome": "advantage"}
_PAIRS = ("negotiation", NegotiationStarts, negotiating), ("bargaining", BargainingStarts, bargaining)
WORLDS = {
    name: World(starts=kind(**_TWO, other="conceding,fair,tit-for-tat"), moves=moves, player="conceding", rollouts=1,
                role="1", episodes=1024, held_out=200, rates=(10.0, 30.0, 90.0))
    for name, kind, moves in _PAIRS
}  # fmt: skip
WORLDS["werewolf"] = World(starts=WerewolfStarts(games=200, other="claims"), moves=seeing, player="claims", rollouts=2,
                           role=SEER, episodes=512, held_out=100, rates=(10.0, 30.0))  # fmt: skip


class Policy:
    """A softmax for each state; where it is not its turn, ``rival`` acts. ``acts`` counts what all seats have done."""

    called, paid = "policy", False

    def __init__(self, world: World) -> None:
        self.world, self.acts = world, 0
        self.logits: dict[tuple[Hashable, str], float] = {}
        self.rivals = [self.counted(name) for name in world.starts.others]
        self.rival, self.picks, self.draws = self.rivals[0], list[Pick](), Random(0)

    def counted(self, name: str) -> ScriptedAgent:
        script = self.world.starts.AGENTS.scripted(name)

        def act(view: Observation) -> Action:
            self.acts += 1
            return script.act(view)

        return ScriptedAgent(name, act)

    def chances(self, state: Hashable, moves: Sequence[str]) -> list[float]:
        weights = np.array([self.logits.get((state, move), 0.0) for move in moves])
        odds = np.exp(weights - weights.max())
        return [float(one) for one in odds / odds.sum()]

    def act(self, view: Observation) -> Action:
        found = self.world.moves(view)
        if found is None:
            return self.rival.act(view)
        self.acts += 1
        (state, moves, act_of), names = found, tuple(found[1])
        (chosen,) = self.draws.choices(range(len(names)), self.chances(state, names))
        self.picks.append((state, names, chosen))
        return act_of(moves[names[chosen]])

    def episode(self, start: Start) -> Episode:
        game, states, self.picks = start.make(), list[Environment](), []
        self.rival = Random(start.name).choice(self.rivals)

        def before(moves: Step) -> None:
            if len(self.picks) > len(states):
                states.append(game.clone())

        play(game, dict.fromkeys(game.agents, self), before=before)
        score = game.outcome()[start.agent][self.world.starts.outcome]
        assert score is not None
        picks, self.picks = self.picks, []  # What is played on later is none of it.
        return Episode(picks=picks, states=[*states, game], score=score, credits=())

    def learn(self, turns: Sequence[tuple[Pick, float]], rate: float) -> None:
        deviation = float(np.std([advantage for _, advantage in turns])) + 1e-8
        steps: dict[tuple[Hashable, str], float] = {}
        for (state, moves, chosen), advantage in turns:
            for number, (move, chance) in enumerate(zip(moves, self.chances(state, moves), strict=True)):
                step = rate * advantage / deviation * ((number == chosen) - chance) / (GROUP * GROUPS)
                steps[state, move] = steps.get((state, move), 0.0) + step
        for place, step in steps.items():
            self.logits[place] = self.logits.get(place, 0.0) + step


def redistribute(episodes: Sequence[Episode]) -> None:
    """Credit the turns of the last batch by a reward model that is fitted to all episodes."""
    cells = [[(state, moves[number]) for state, moves, number in one.picks] for one in episodes]
    column = {cell: number for number, cell in enumerate(dict.fromkeys(cell for row in cells for cell in row))}
    table, scores = np.zeros((len(cells), len(column))), np.array([one.score for one in episodes])
    for counts, row in zip(table, cells, strict=True):
        np.add.at(counts, [column[cell] for cell in row], 1.0)
    weights = np.linalg.solve(table.T @ table + np.eye(len(column)), table.T @ (scores - scores.mean()))
    for one, row in [*zip(episodes, cells, strict=True)][-GROUP * GROUPS :]:
        one.credits = [float(weights[column[cell]]) for cell in row]


def advantages(arm: str, own: bool, group: Sequence[Episode]) -> list[list[float]]:
    """One a turn, of the episodes of one start; ``own``: of credits, each turn's own counts and not what follows."""
    scaled, to_go = arm == "mt-grpo", arm == "gigpo"

    def compared(values: Sequence[float]) -> list[float]:  # As RLOO does, or GRPO where scaled.
        return [one for (one,) in turn_advantages([[value] for value in values], len(values), scaled, not scaled)]

    if arm in BY_TURN and not own:
        return turn_advantages([one.credits for one in group], len(group), False, True)
    outcomes = compared([0.0 if arm in BY_TURN else one.score for one in group])
    found = [[value] * len(one.picks) for value, one in zip(outcomes, group, strict=True)]
    peers: dict[Any, list[tuple[int, int, float]]] = {}
    for number, one in enumerate(group if arm != "outcome" else ()):
        for turn, (state, *_) in enumerate(one.picks):
            worth = one.score * GAMMA ** (len(one.picks) - 1 - turn) if to_go else one.credits[turn]
            peers.setdefault(state if to_go else turn, []).append((number, turn, worth))
    for places in peers.values():
        for (number, turn, _), value in zip(places, compared([worth for *_, worth in places]), strict=True):
            if not scaled or turn < len(found[number]) - 1:  # MT-GRPO's last turn is paid by the outcome alone.
                found[number][turn] += value
    return found


def crediting(arm: str, policy: Policy) -> LiveCredit | None:
    world, itself = policy.world, arm == "policy plays on"
    if arm not in ("expected-utility", "savoir", "mt-grpo") and not itself:
        return None
    by = {"by": "savoir"} if arm == "savoir" else {}
    settings = CreditSettings(rollouts=2 if itself else world.rollouts, player=world.player, **by)
    player = policy if itself else policy.counted(settings.player_in(world.starts))
    return LiveCredit(settings, player, world.starts.outcome)


def learn(world: World, arm: str, rate: float, own: bool, seed: int, evaluations: int) -> Curve:
    starts, held_out = ([one for one in starts_of(world.starts, number) if one.make().role(one.agent) == world.role]
                        for number in (seed, HELD_OUT))  # fmt: skip
    policy, curve, episodes = Policy(world), Curve(), list[Episode]()
    credit, draws, coming = crediting(arm, policy), Random(seed), cycle(starts)
    for seen in range(0, world.episodes + 1, GROUP * GROUPS):
        if seen % (world.episodes // evaluations) == 0:
            acts, policy.draws = policy.acts, Random(HELD_OUT)
            curve.append((seen, acts, fmean(policy.episode(one).score for one in held_out[: world.held_out])))
            policy.acts = acts
        policy.draws, batch = draws, []
        for start in islice(coming, GROUPS):
            batch.append([policy.episode(start) for _ in range(GROUP)])
            if credit is not None:
                credit.forget()
                for one in batch[-1]:  # Of a negotiation's selection, too, which is no pick.
                    paid = credit(start.name, start.agent, one.states, [*map(str, one.picks)], one.score)
                    one.credits = paid[: len(one.picks)]
        if arm == "reward model":
            episodes += [one for group in batch for one in group]
            redistribute(episodes)
        policy.learn([turn for group in batch for one, values in zip(group, advantages(arm, own, group), strict=True)
                      for turn in zip(one.picks, values, strict=True)], rate)  # fmt: skip
    return curve


def chosen(world: World, arm: str) -> tuple[float, bool, float, float]:
    """The learning rate and whether each turn's own credit counts; the first and the last return of these runs."""
    ways = [(rate, own) for rate in world.rates for own in ((False, True) if arm in BY_TURN else (False,))]
    tried = {way: np.array([learn(world, arm, *way, seed, 4) for seed in TUNING])[:, :, 2] for way in ways}
    best = max(ways, key=lambda way: float(tried[way].mean()))
    return *best, float(tried[best][:, 0].mean()), float(tried[best][:, -1].mean())


def reached(curve: Curve, threshold: float) -> tuple[float, float, bool]:
    """Episodes and acts until the threshold; of a run that was cut, all."""
    means = [fmean(row[2] for row in three) for three in zip(curve, curve[1:], curve[2:], strict=False)]
    if max(means) < threshold:
        return *curve[-1][:2], False
    at = next(number for number, mean in enumerate(means) if mean >= threshold)
    (first, fewest, _), (last, most, _), low = curve[max(at, 1)], curve[at + 1], means[max(at - 1, 0)]
    part = (threshold - low) / (means[at] - low) if at else 1.0
    return first + part * (last - first), fewest + part * (most - fewest), True


def ratio(own: Sequence[float], others: Sequence[float]) -> list[float]:
    """Geometric mean over seeds of own over others', and its 95 % interval (bootstrap of the seeds)."""
    logs = np.log(own) - np.log(others)
    drawn = np.random.default_rng(0).choice(logs, (10_000, len(logs))).mean(axis=1)
    return [round(math.exp(one), 2) for one in (logs.mean(), *np.quantile(drawn, (0.025, 0.975)))]


def main() -> None:
    for name in sys.argv[1:] or WORLDS:
        world, base, threshold = WORLDS[name], list[tuple[float, float, bool]](), math.nan
        for arm in ARMS if world.starts.ALL_HEARD else [one for one in ARMS if one != "savoir"]:
            rate, own, first, last = chosen(world, arm)
            threshold = first + SHARE * (last - first) if arm == "outcome" else threshold
            runs = [learn(world, arm, rate, own, seed, 16) for seed in SEEDS]
            ends = [reached(run, threshold) for run in runs]
            base = base or ends
            episodes, acts = (ratio([one[at] for one in ends], [one[at] for one in base]) for at in (0, 1))
            tell(f"turn_credit, {name}, {arm}", episodes[0], "episodes to the threshold / those of outcome",
                 interval=episodes[1:], acts_ratio=acts[0], acts_interval=acts[1:], threshold=round(threshold, 3),
                 rate=rate, own=own, not_reached=sum(not one[2] for one in ends),
                 ends=[[round(one[0]), round(one[1])] for one in ends],
                 at_end=[round(fmean(row[2] for row in run[-3:]), 3) for run in runs],
                 curve=np.mean([[row[2] for row in run] for run in runs], axis=0).round(3).tolist())  # fmt: skip


if __name__ == "__main__":
    main()
