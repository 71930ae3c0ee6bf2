import math
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.corpus.session import Episode
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.corpus_methods.objectives import IRCR
from apportion.decompose.corpus_methods.rudder import RUDDER
from apportion.decompose.method import Attribution, Raw
from apportion.decompose.method_settings import RudderSettings
from apportion.decompose.methods import METHODS, Method
from apportion.decompose.projection import project
from apportion.decompose.settings import DecomposeSettings
from apportion.decompose.settings_key import configured
from apportion.reward_model.learning.objective import Batch
from tests.decompose.sessions import judgements, of_length, splits

TARGETS = ("relative", "score")
CONSTRAINTS = ("exact", "soft")
PROMPTS = ("default", "quality", "paper", "attribution")
CASES = [(name, prompt) for name, method in METHODS.items() for prompt in (PROMPTS if method.asks else ("default",))]
"""Every method, those that ask with every prompt."""

lengths = st.lists(st.integers(1, 8), min_size=2, max_size=5)
numbers = st.floats(-3, 3).map(lambda value: round(value, 3))


def exact_values(
    method: Method, episodes: list[Episode], sums: dict[Episode, float], data: st.DataObject
) -> dict[Episode, list[float | None]]:
    """Any values of the method's that sum to what is asked of it; of attributions, which share out, any at all."""
    values: dict[Episode, list[float | None]] = {}
    for episode in episodes:
        count = len(episode.target_turns)
        how = method.scale.how if isinstance(method.scale, Attribution) else None
        if how == "fraction":  # a / 3 of the score: they sum to 3.
            cuts = sorted(data.draw(st.lists(st.integers(0, 3), min_size=count - 1, max_size=count - 1)))
            values[episode] = [float(b - a) for a, b in zip([0, *cuts], [*cuts, 3], strict=True)]
        elif how == "share":
            drawn = data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count).filter(any))
            values[episode] = [float(value) for value in drawn]
        else:
            drawn = data.draw(st.lists(numbers, min_size=count, max_size=count))
            left = (sums[episode] - math.fsum(drawn)) / count
            values[episode] = [value + left for value in drawn]
    return values


def total_asked(method: Method, episode: Episode, offset: float) -> float:
    """What exact values of ``method`` sum to: the score where it hands out the score, else what rewards sum to."""
    return episode.score if method.hands_out_score else episode.score - offset


@pytest.mark.parametrize(("name", "prompt"), CASES)
@settings(max_examples=2, deadline=None)
@given(st.data())
def test_the_residual_of_an_exact_answer_is_zero_and_unrated_sessions_change_no_reward(name, prompt, data):
    for target, constraint in product(TARGETS, CONSTRAINTS):
        check(name, prompt, target, constraint, data)


def check(name: str, prompt: str, target: str, constraint: str, data: st.DataObject) -> None:
    attribution = data.draw(st.sampled_from(["share", "fraction"]))
    chosen = DecomposeSettings(target=target, constraint=constraint, attribution=attribution, llm={"prompt": prompt})
    method = configured(METHODS[name], chosen)
    counts = data.draw(lengths)
    episodes = [of_length(f"s{i}", data.draw(st.integers(1, 5)) * 1.0, count) for i, count in enumerate(counts)]
    trained = splits(**{e.session_id: "train" for e in episodes})

    def projected(values, known=episodes, among=trained):
        return project(judgements(values, name), SplitEpisodes(known, among), chosen.target, method, chosen.constraint)

    zeros = {e: [0.0] * len(e.target_turns) for e in episodes}
    offset = projected(zeros)[1].score_offset
    values = exact_values(method, episodes, {e: total_asked(method, e, offset) for e in episodes}, data)
    table, projection = projected(values)
    if projection.rule == "spread":
        # Judgements on a scale of their own are exact where s * their sum is; s depends on differences alone.
        s = projection.spread
        if not s:
            return
        levels = {e: (e.score - offset) / s / len(e.target_turns) for e in episodes}
        centred = {e: np.array(v) - np.mean(v) for e, v in values.items()}
        table, projection = projected({e: (centred[e] + levels[e]).tolist() for e in episodes})
    for missing in projection.residuals:
        assert missing.residual == pytest.approx(0.0, abs=1e-6)
    # So that an exact answer's rewards sum exactly under either constraint; from 0 to 10 they sum to no score.
    for episode in episodes if method.scale != Raw(min_max=True) else ():
        rewards = [row["reward"] for row in table.to_pylist() if row["session_id"] == episode.session_id]
        assert math.fsum(rewards) == pytest.approx(episode.score - projection.score_offset, abs=1e-6)

    unrated = splits(**{e.session_id: "train" for e in episodes}, u0="train", u1="policy", u2="test")
    assert projected(values, among=unrated) == projected(values)


@settings(max_examples=30, deadline=None)
@given(lengths, st.floats(-5, 5), st.data())
def test_what_is_learned_exactly_leaves_no_residual(counts, expected, data):
    """RUDDER is exact whatever its network predicts; IRCR where the network predicts each dialogue's share."""
    returns = torch.tensor([data.draw(st.floats(-5, 5)) for _ in counts], dtype=torch.float64)
    offsets = torch.tensor([0, *np.cumsum(counts).tolist()])
    batch = Batch(offsets, torch.tensor(counts).double(), returns, expected=expected)
    predicted = torch.tensor([data.draw(st.floats(-9, 9)) for _ in range(sum(counts))], dtype=torch.float64)
    rewards = RUDDER(RudderSettings()).rewards(predicted, batch)
    assert batch.sums(rewards).tolist() == pytest.approx(returns.tolist(), abs=1e-9)
    shares = (returns / batch.lengths)[batch.episode]
    assert IRCR().loss(shares, batch).tolist() == [0.0] * sum(counts)
    assert batch.sums(shares).tolist() == pytest.approx(returns.tolist(), abs=1e-9)
