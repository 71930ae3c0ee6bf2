from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.session import Session, Turn
from apportion.viewer.data.session import SessionTables
from apportion.viewer.views.session.axis import axis_of
from apportion.viewer.views.session.turn_rewards import LEVELS, Series, TurnValue, margin_bar, reward_row, series_of

KEY = ("s", "ann", "bob", "liking")


def tables_of(rewards=(), scores=(), samples=(), labels=()):
    return SessionTables(
        Session("s", (Turn(0, "ann", "Hi."), Turn(1, "bob", "Hello."))), "s", None,
        rewards=tuple(rewards), scores=tuple(scores), samples=tuple(samples), descriptors=(), utterance_features=(),
        events=(), labels=tuple(labels), quarantine=(), before=None, after=None,
    )  # fmt: skip


def row(method="llm", seed=0, turn=1, reward=1.0, sd=None, rater="ann"):
    given = {"turn": turn, "method": method, "seed": seed, "reward": reward, "sd": sd, "raw_reward": 2 * (reward or 0)}
    return {"rater": rater, "target": "bob", "name": "liking", "rationale": None, **given}


def label(value, low=0.0, high=4.0, annotator="eve", turn=1):
    return {"turn": turn, "annotator": annotator, "name": "landed", "value": value, "low": low, "high": high}


def test_seeds_are_averaged_and_their_range_is_told():
    (series,) = series_of(tables_of([row(seed=s, reward=r) for s, r in enumerate((0.0, 1.0, 5.0))]), KEY, [])
    worth = series.values[1]
    assert worth.reward == 2.0 and worth.seeds == ((0, 0.0), (1, 1.0), (2, 5.0)) and series.total == 2.0
    (interval,) = worth.intervals
    assert (interval.low, interval.high, interval.kind, interval.of) == (0.0, 5.0, "seeds", 3)
    assert interval.words == "0.000 to +5.00 over 3 seeds"


def test_the_spread_of_samples_is_an_interval_around_the_reward():
    samples = [{**row(), "sample": n, "value": float(n)} for n in (1, 0)]
    (series,) = series_of(tables_of([row(reward=1.0, sd=0.25)], samples=samples), KEY, [])
    (interval,) = series.values[1].intervals
    assert (interval.low, interval.high, interval.of) == (0.75, 1.25, 2) and "± 0.250" in interval.words
    assert series.values[1].samples == (0.0, 1.0) and interval.drawn


def test_equal_seeds_need_no_line():
    (series,) = series_of(tables_of([row(seed=0), row(seed=1)]), KEY, [])
    assert not series.values[1].intervals[0].drawn
    assert "<line" not in margin_bar(series, 1)


def test_other_episodes_and_turns_without_a_reward_are_left_out():
    rows = [row(rater="eve"), row(reward=None), row(method="rrd", reward=float("nan"))]
    assert series_of(tables_of(rows), KEY, []) == () == series_of(tables_of([row()]), None, [])


def test_what_is_in_units_of_its_own_does_not_flatten_the_others():
    rows = [row(), row(method="rrd", reward=-0.5), row(method="sentiment-raw", reward=50.0)]
    by_name = {series.name: series for series in series_of(tables_of(rows), KEY, ["rrd"])}
    assert list(by_name) == ["rrd", "llm", "sentiment-raw"]
    assert by_name["llm"].scale == by_name["rrd"].scale == 1.0 and not by_name["llm"].own_scale
    assert by_name["sentiment-raw"].scale == 50.0 and by_name["sentiment-raw"].own_scale


def test_reward_models_stand_beside_the_methods_that_taught_them():
    made = series_of(tables_of([row()], [row(reward=0.5)]), KEY, [])
    assert [(s.key, s.kind, s.name) for s in made] == [("llm", "method", "llm"), ("model:llm", "model", "r_θ llm")]
    assert made[1].of_what == "reward model taught by llm"


def test_peoples_labels_are_told_from_computed_ones():
    labels = [label(3.0), label(4.0, annotator="kim"), label(1.0, annotator="computed:rollouts"), label(None)]
    people, computed = sorted(series_of(tables_of(labels=labels), KEY, []), key=lambda s: s.kind, reverse=True)
    assert (people.kind, people.values[1].reward) == ("people", 1.5) and "middle of the scale" in people.of_what
    assert (computed.kind, computed.values[1].reward, computed.total) == ("computed", -1.0, None)


def test_labels_without_a_scale_are_centred_on_their_mean():
    labels = [label(1.0, None, None), label(5.0, None, None, turn=0)]
    (people,) = series_of(tables_of(labels=labels), KEY, [])
    assert {turn: worth.reward for turn, worth in people.values.items()} == {0: 2.0, 1: -2.0}
    assert "mean" in people.of_what


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_a_tint_has_the_sign_of_the_reward_and_bars_stay_inside(reward, scale):
    series = Series("k", "k", "method", "m0", "", {1: TurnValue(reward)}, scale, False, reward)
    level = series.level(1)
    assert abs(level) <= LEVELS and level * reward >= 0 and series.level(2) == 0
    numbers = [float(part.split("%")[0]) for part in margin_bar(series, 1).split('"') if part.endswith("%")]
    assert numbers and min(numbers) >= 0 and max(numbers) <= 100 and numbers[0] + numbers[1] <= 100


def test_bars_over_the_axis_name_their_turns():
    session = Session("s", (Turn(0, "ann", "Hi."), Turn(1, "bob", "Hello.")))
    series = Series("k", "<k>", "method", "m0", "", {1: TurnValue(-1.0), 7: TurnValue(1.0)}, 1.0, False, 0.0)
    drawn = reward_row(series, axis_of(session), 3)
    assert drawn.count("data-turn") == 1 and 'data-turn="1"' in drawn and 'data-series="3"' in drawn
    assert "&lt;k&gt;" in drawn and 'y="50.0%" height="46.0%"' in drawn
    assert series.level(1) == -3
