"""SDPO: preferences between segments of an episode (Kong et al., 2025, SDPO: Segment-level direct preference
optimization for social agents).

The loss is the paper's L_SDPO: DPO's, in which each side is the sum, over the turns of a segment, of the log-ratio of
the seat's own words to the policy at the start; both segments follow the same history and have as many turns, which is
what lets the partition functions cancel.

Choices where the paper asks GPT-4o, or leaves one:

- Negatives are, of each training task and seat, the policy's worst episode below ``least`` (the paper: a goal below 7).
- The erroneous turn is the one at which the seat gave the most away, by the rules (`given_away`).
- From before that turn ``resamples`` continuations are drawn (the paper: 5), the partner playing as before; the best
  one is the positive, if its goal score is higher.
- The segment begins at the first turn at which both part, and has ``segment`` turns, or as many as the shorter has
  left (the paper's have 3 in nearly all cases).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apportion.environments.sotopia.game import Facts
from apportion.environments.sotopia.goal_checks import accepted, offered
from apportion.environments.sotopia.scripted_agents import standing
from apportion.foundation.errors import UnitError
from apportion.rlhf.social.episodes import SeatStep, SocialEpisode, worst_of_each
from apportion.rlhf.social.run import SocialRun, turn_tokens

Segment = tuple[SeatStep, ...]


def train(run: SocialRun) -> None:
    """``rounds`` of playing, resampling and learning.

    Raises UnitError: a round gives no pair: nothing was bad enough, or no continuation was better.
    """
    settings = run.settings
    for number in range(1, settings.rounds + 1):
        bad = worst_of_each(run.play(run.agent(explore=True), f"round-{number}"), settings.least)
        pairs = [pair for episode in bad if (pair := segment_pair(run, episode)) is not None]
        run.tell(f"round {number}: {len(pairs)} pairs from {len(bad)} episodes below {settings.least:g}")
        if not pairs:
            raise UnitError(
                f"round {number}: no pair from {len(bad)} episodes with a goal score below {settings.least:g}. Raise "
                "least or resamples, or clone an expert first (sotopia-pi) and give its folder as the policy."
            )
        run.prefer([pair_row(run, *pair) for pair in pairs], f"round {number}")


def segment_pair(run: SocialRun, episode: SocialEpisode) -> tuple[Segment, Segment] | None:
    """The better and the worse segment of an episode's history up to its erroneous turn; None: nothing was better."""
    wrong = erroneous_turn(episode.steps)
    again = run.play_on(episode.steps[wrong], episode, run.agent(explore=True), run.settings.resamples)
    best = max(again, key=lambda one: one.score)
    if best.score <= episode.score:
        return None
    return segments(best.steps, episode.steps[wrong:], run.settings.segment)


def segments(better: Sequence[SeatStep], worse: Sequence[SeatStep], most: int) -> tuple[Segment, Segment] | None:
    """Both continuations from the first turn whose words differ on, equally long, ``most`` turns at most.

    None: the words of the seat never differ while both go on.
    """
    parted = next((n for n, (one, two) in enumerate(zip(better, worse, strict=False)) if one.said != two.said), None)
    if parted is None:
        return None
    length = min(most, len(better) - parted, len(worse) - parted)
    return tuple(better[parted : parted + length]), tuple(worse[parted : parted + length])


def erroneous_turn(steps: Sequence[SeatStep]) -> int:
    """The number of the turn at which the most was given away; the earliest of equal ones."""
    return max(range(len(steps)), key=lambda number: given_away(steps[number]))


def given_away(step: SeatStep) -> float:
    """How much less an act asks for than its seat asked before, as a share of all that it can win.

    An offer, or the acceptance of one, by its worth less the worth of the seat's last own offer (1 before the first);
    any other act gives away the offer of the other side that it could have accepted.
    """
    facts: Facts = step.view.facts
    offers = standing(facts)
    deal, seat, on_table = offers.deal, facts.part.seat, offers.standing
    own = [offer for by, act in facts.acts if by == seat and (offer := offered(deal, act)) is not None]
    asked = deal.worth(own[-1], 0, 0) if own else 1.0
    could = 0.0 if on_table is None or on_table.by == seat else deal.worth(on_table.offer, 0, 1)
    made = offered(deal, step.act)
    if made is not None:
        return asked - deal.worth(made, 0, 0)
    return asked - could if accepted(step.act) and could else could


def pair_row(run: SocialRun, better: Segment, worse: Segment) -> dict[str, Any]:
    """A pair as `apportion.rlhf.trainers.preferences.train_on_pairs` takes it; raises UnitError as `turn_tokens`."""
    chosen, rejected = (turn_tokens(run.policy, steps, run.settings.window) for steps in (better, worse))
    return {
        "prompt_ids": list(chosen.prompt),
        "chosen_ids": list(chosen.reply),
        "chosen_mask": list(chosen.mask),
        "rejected_ids": list(rejected.reply),
        "rejected_mask": list(rejected.mask),
    }
