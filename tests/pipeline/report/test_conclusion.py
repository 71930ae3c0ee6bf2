"""The sentences of the conclusion, by the figures that they are made of."""

from __future__ import annotations

from dataclasses import replace

import pytest

from apportion.evaluation.confidence_intervals.bootstrap import Estimate, Missing
from apportion.evaluation.error_slices.result import Slice
from apportion.evaluation.methods.controls import ControlVerdict
from apportion.pipeline.report.conclusion import (
    Facts,
    Rival,
    SeedSpread,
    asked,
    chosen,
    costs,
    moved,
    next_step,
    trusted,
    unknown,
)

ABOVE, ZERO, BELOW = Estimate(0.3, 0.1, 0.5, 12), Estimate(0.1, -0.1, 0.3, 12), Estimate(-0.3, -0.5, -0.1, 12)
NO_LABELS = Missing("the corpus has no labels of turns by people")
NONE = {"turns": 0, "scored": 0, "orders": False, "held_out": 0}
ASKS = Slice("cue", "asks a question", BELOW, 0.001, -0.2, 90, 0.1, ABOVE, ZERO, None, None, (), ())
BEATEN = ControlVerdict("mix", False, ("place", "length"), "place", ABOVE, True)
LEVEL = ControlVerdict("mix", True, ("place", "length"), "length", ZERO, False)
GOOD = Facts(
    "satisfaction", (1.0, 5.0), "agent", 60, 60, 700, "mix", "All sources", held_out=12,
    compared=("sentiment", "uniform"), sums_to="its score", agreement=ABOVE, annotator=ABOVE, gain=ABOVE, disputed=0.14,
    rival=Rival("sentiment", BELOW),
)  # fmt: skip


@pytest.mark.parametrize(
    ("say", "changes", "told", "untold"),
    [
        (asked, {}, "The score “satisfaction” (1 to 5) of 60 sessions was shared out among 700 turns of agent", "no "),
        (asked, {"held_out": 1}, "1 session held out", "sessions held"),
        (asked, {"sessions": 61, "described": 9}, "1 more session without a score. 9 turns with behaviour", "no part"),
        (asked, {"scored": 0, "held_out": 0}, "No session has a score: the rewards of 700 turns of agent", "held out"),
        (asked, NONE, "No session has a score, so no turn of 60 sessions has a reward.", "foretells"),
        (unknown, NONE, "What any turn is worth.", "pays all"),
        (chosen, NONE, "None: mix, which the configuration names, had no score", "beside it"),
        (next_step, NONE, 'with decompose.method = "reactions-en" in CONFIG', "Label"),
        (trusted, {}, "mix agrees with people's labels (Spearman 0.300 [0.100, 0.500] over 12 sessions", "Nothing"),
        (trusted, {}, "squared error lower by 0.300 [0.100, 0.500]", "Nothing"),
        (trusted, {"agreement": ZERO}, "The sums", "agrees"),
        (trusted, {"annotator": NO_LABELS}, "1 the same order)", "annotator"),
        (trusted, {"orders": False}, "The sums", "agrees"),
        (trusted, {"sums_to": "", "agreement": ZERO, "gain": ZERO}, "Nothing, by the figures", "sums"),
        (unknown, {}, "", "Whether"),
        (unknown, {"orders": False}, "mix pays all turns of a session the same", "Whether"),
        (unknown, {"agreement": NO_LABELS}, "single turn's reward is right: the corpus has no labels", "chance"),
        (unknown, {"agreement": ZERO}, "Spearman 0.100 [−0.100, 0.300] over 12 sessions can be chance", "do not use"),
        (unknown, {"agreement": BELOW}, "orders turns against people's labels", "chance"),
        (unknown, {"agreement": ZERO}, "can be chance.", "settle"),
        (unknown, {"agreement": Estimate(0.0, -0.2, 0.2, 20)}, "Even the upper end is too little", "more session"),
        (unknown, {"agreement": Estimate(0.2, -0.1, 0.5, 20)}, "Labels of about 160 more sessions", "settled"),
        (unknown, {"agreement": Estimate(0.3, None, None, 1)}, "over 1 session can be chance", "None"),
        (unknown, {"gain": ZERO}, "may learn noise", "Whether"),
        (unknown, {"gain": Missing("no models")}, "What a new session would score: no models.", "noise"),
        (chosen, {}, "sentiment comes next, with a Spearman lower by 0.300", "no reason"),
        (chosen, {"rival": Rival("a", ABOVE)}, "a agrees better with people's labels, by 0.300", "no reason"),
        (chosen, {"rival": Rival("a", ZERO)}, "a has a higher agreement with people's labels (+0.100", "take that one"),
        (chosen, {"rival": Rival("a", ZERO.negated())}, "a comes next with a lower agreement", "take that one"),
        (chosen, {"rival": None}, "No other method has an agreement", "best"),
        (chosen, {"agreement": NO_LABELS, "rival": None}, "from sentiment, uniform. Which of two turns", "best"),
        (chosen, {"orders": False, "rival": None}, "The configuration names it; beside it sentiment", "labels"),
        (chosen, {"compared": ()}, "Nothing stands beside it", "disagree"),
        (chosen, {"people_weigh": 0.25}, "taught it, too, and weigh 0.25 in it", "no reason"),
        (chosen, {}, "mix (All sources). It agrees", "taught it"),
        (chosen, {"disputed": None}, "mix (All sources).", "disagree"),
        (trusted, {"beside": BEATEN}, "single turns: the reward model of mix agrees with people", "no policy"),
        (trusted, {"beside": LEVEL}, "The sums", "controls"),
        (unknown, {"beside": BEATEN}, "", "policy"),
        (unknown, {"beside": LEVEL}, "what a policy is paid by mix is not shown to agree with people more", "noise"),
        (next_step, {"beside": LEVEL}, "Train no policy on this reward model", "align"),
        (next_step, {"beside": BEATEN}, "align.enabled = true", "Train no"),
        (moved, {}, "", "seeds"),
        (moved, {"spread": SeedSpread(3, 0.1, 0.5)}, "Between 3 seeds a turn's reward moves by 0.100", "largest"),
        (moved, {"spread": SeedSpread(3, 0.3, 0.5)}, "read the largest differences", "little"),
        (moved, {"spread": SeedSpread(3, 0.5, 0.5)}, "the order is the seed's", "largest"),
        (moved, {"spread": SeedSpread(3, 0.5, 0.0)}, "the order is the seed's", "largest"),
        (costs, {"dearest": ASKS, "scored": 0}, "Nobody gave a score that could say", "scored sessions have"),
        (next_step, {}, "apportion run CONFIG with align.enabled = true", "VIEW"),
        (next_step, {"aligned": True}, "apportion view RUN every session", "CONFIG"),
        (costs, {}, "", "paid"),
        (costs, {"dearest": ASKS}, "“asks a question” are paid 0.300 [0.100, 0.500] less by mix", "lower"),
        (costs, {"dearest": ASKS}, "did not suggest the kind). Scores do not show it (", "too"),
        (costs, {"dearest": replace(ASKS, score=BELOW)}, "Sessions with one score lower, too: by 0.300 [0.100", "show"),
        (costs, {"dearest": replace(ASKS, score=None)}, "Scores cannot say whether that is right", "lower"),
        (next_step, {"gain": ZERO}, "apportion view RUN every session with its rewards. Train no policy", "CONFIG"),
        (next_step, {"gain": ZERO, "dearest": ASKS}, "apportion view RUN page What costs us: what is paid", "CONFIG"),
        (next_step, {"agreement": ZERO}, "apportion benchmark CORPUS", "CONFIG"),
        (next_step, {"agreement": NO_LABELS}, "apportion view RUN page Label", "CONFIG"),
        (next_step, {"orders": False}, "which tells turns apart", "Label"),
        (next_step, {"rival": Rival("a", ABOVE), "orders": False}, 'decompose.method = "a"', "apart"),
        (next_step, {"rival": Rival("a", ABOVE), "failed": 2}, "does again what has failed", "method"),
    ],
)  # fmt: skip
def test_each_sentence_follows_from_its_figures(say, changes, told, untold):
    said = " ".join(say(replace(GOOD, **changes)))
    assert told in said and untold not in said, said
