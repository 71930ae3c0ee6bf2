import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.inspection.inspect import Bin, draw, histogram, inspect, render
from tests.corpus.tables import corpus_of, rating, session, turns


def odd_corpus():
    return corpus_of(
        "some/corpus",
        sessions=[
            session("a", duration_s=1800.0, language="en", source="x"),
            *(session(id_) for id_ in "bcdef"),
        ],
        utterances=[
            *turns("a", "XYXY"),
            *turns("b", "XY"),
            *turns("c", "Y"),
            *turns("d", "XX"),
            *turns("e", "XYX", text=" "),
            *turns("f", "XY"),
        ],
        ratings=[
            rating("a", score=5.0, annotator="1"),
            rating("a", score=3.0, annotator="2"),
            rating("b", score=2.0),
            rating("d", score=4.5),
            rating("e", score=float("nan")),
            rating("e", name="pain", score=3.0, higher_is_better=False),
        ],
        turn_labels=[{"session_id": "a", "turn": 1, "annotator": "1", "name": "q", "value": 1.0}],
        backgrounds=[{"session_id": "a", "speaker": who, "kind": "goal", "text": "Peace."} for who in "XY"],
    )


def test_counts():
    found = inspect(odd_corpus())
    assert (found.sessions, found.rated_sessions, found.utterances, found.speakers) == (6, 4, 14, 2)
    assert found.turn_quantiles == (1, 2.0, 2.0, 2.75, 4)
    assert found.languages == (("en", 1), ("not given", 5)) and found.duration_s == 1800.0
    overall, pain = found.ratings
    assert (overall.name, overall.episodes, overall.scores, overall.low, overall.high) == ("overall", 3, 5, 1.0, 5.0)
    assert [bin_.count for bin_ in overall.bins] == [0, 1, 0, 1, 1]
    assert pain.higher_is_better is False
    assert found.backgrounds == (("goal", 2),)
    assert (found.labels[0].name, found.labels[0].labels, found.labels[0].mean) == ("q", 1, 1.0)


def test_what_is_odd_or_a_problem_is_named_with_examples():
    odd = {item.what: (item.sessions, item.examples) for item in inspect(odd_corpus()).odd}
    assert odd == {
        "no rating": (2, ("c", "f")),
        "the target says nothing": (1, ("d",)),
        "the rater never answers the target": (1, ("b",)),
        "only one turn to credit": (2, ("b", "e")),
        "only one turn": (1, ("c",)),
        "a turn without text": (1, ("e",)),
    }
    found = inspect(odd_corpus())
    assert any("nan is not a number" in problem for problem in found.problems)
    assert any("all 1 scores" in w or "the only score is 3" in w for w in found.warnings)
    assert any("overall" in w and "too few to tell methods apart" in w for w in found.warnings)


def test_the_page_and_its_figures():
    text = render(inspect(odd_corpus()))
    assert text.startswith("some/corpus: 6 sessions (4 rated), 14 utterances, 2 speakers")
    assert "overall: 1 to 5; 3 episodes, 5 scores; mean 3.50" in text and "pain: 1 to 5, low is good" in text
    assert "  2 ████████████████████████████████████████ 1" in text
    assert "\nknown before the first turn: goal 2\n" in text
    assert "recorded: 0.50 h" in text and "turn labels 'q': 1 on 1 sessions" in text
    assert "odd: no rating: 2 sessions (c, f)" in text and "problem: ratings, row" in text
    values = json.loads(json.dumps(inspect(odd_corpus()).to_json()))
    assert values["ratings"][0]["bins"][1] == {"low": 1.5, "high": 2.5, "count": 1}


def test_a_corpus_with_missing_values_can_still_be_looked_at():
    corpus = corpus_of(
        "c",
        sessions=[session("a")],
        utterances=[turns("a", "X")[0] | {"text": None}],
        ratings=[rating("a", score=None), rating("a", name="b", low=None)],
    )
    found = inspect(corpus)
    assert found.ratings == () and any("no value" in problem for problem in found.problems)
    assert "problem" in render(found)


def test_rows_without_a_name_or_a_speaker_are_told_and_in_no_figure():
    corpus = corpus_of(
        "c",
        sessions=[
            session("a", duration_s=float("inf")),
            session("b", duration_s=1e308),
            session("c", duration_s=1e308),
        ],
        utterances=[*turns("a", "XY"), turns("b", "X")[0] | {"speaker": None}],
        ratings=[rating("a", name=None), rating("a", score=4.0), rating("b", name=None, rater=None, target=None)],
        turn_labels=[{"session_id": "a", "turn": 0, "annotator": None, "name": None, "value": None}],
    )
    found = inspect(corpus)
    assert [(summary.name, summary.scores, summary.mean) for summary in found.ratings] == [("overall", 1, 4.0)]
    assert sum("column name" in problem and "no value" in problem for problem in found.problems) == 3
    assert "turn labels None: 0 on 1 sessions" in render(found)


def test_values_off_their_scale_are_named_and_in_no_figure():
    corpus = corpus_of(
        "c",
        sessions=[session(id_) for id_ in "abc"],
        utterances=[row for id_ in "abc" for row in turns(id_, "XY")],
        ratings=[
            rating("a", score=5.0, low=1.0, high=9.0, annotator="1"),
            rating("a", score=11.0, low=1.0, high=9.0, annotator="2"),
            rating("b", score=7.0, low=1.0, high=9.0),
            rating("c", score=11.0, low=1.0, high=9.0),
        ],
        turn_labels=[
            {"session_id": "a", "turn": t, "name": "q", "value": v, "low": 0.0, "high": 2.0}
            for t, v in enumerate((1, 7))
        ],
    )
    found = inspect(corpus)
    (overall,), (label,) = found.ratings, found.labels
    assert (overall.mean, overall.episodes, overall.scores, overall.off_scale) == (6.0, 2, 2, 2)
    assert sum(bin_.count for bin_ in overall.bins) == 2
    assert (label.mean, label.labels, label.off_scale) == (1.0, 1, 1)
    text = render(found)
    assert "2 scores (2 off the scale are left out of all figures); mean 6.00" in text
    assert "session c: 11 is outside its scale; allowed: 1 to 9" in text
    assert "turn labels 'q': 1 on 1 sessions (1 off the scale is left out of all figures), mean 1.00" in text


def test_computed_labels_are_told_apart_from_peoples_of_the_same_name():
    label = {"session_id": "a", "turn": 1, "name": "q", "low": 0.0, "high": 2.0}
    corpus = corpus_of(
        "c",
        sessions=[session("a")],
        utterances=turns("a", "XY"),
        turn_labels=[
            label | {"annotator": "1", "value": 2.0},
            label | {"annotator": "computed:rollouts", "value": 1.0},
            label | {"annotator": "computed:rules", "value": 0.0},
        ],
    )
    found = inspect(corpus)
    assert [(label.by, label.mean) for label in found.labels] == [
        (None, 2.0), ("computed:rollouts", 1.0), ("computed:rules", 0.0)
    ]  # fmt: skip
    text = render(found)
    assert "turn labels 'q': 1 on 1 sessions, mean 2.00" in text
    assert "turn labels 'q' (computed:rollouts, nobody judged them): 1 on 1 sessions, mean 1.00" in text


def test_the_largest_numbers_have_figures_too():
    values = [
        rating(id_, score=score, low=-1.7e308, high=1.7e308) for id_, score in zip("ab", (1e308, -1e308), strict=True)
    ]
    corpus = corpus_of(
        "c", sessions=[session("a"), session("b")], utterances=[*turns("a", "XY"), *turns("b", "XY")], ratings=values
    )
    (overall,) = inspect(corpus).ratings
    assert (overall.mean, overall.sd, [bin_.count for bin_ in overall.bins]) == (0.0, 1e308, [2])
    assert render(inspect(corpus))


def test_nothing_to_say():
    ids = [f"s{i:04d}" for i in range(1500)]
    corpus = corpus_of(
        "c",
        sessions=[session(id_) for id_ in ids],
        utterances=[row for id_ in ids for row in turns(id_, "XYXYX")],
        ratings=[rating(id_, score=1.0 + i % 5) for i, id_ in enumerate(ids)],
    )
    assert render(inspect(corpus)).endswith("nothing is wrong or odd")


def test_many_languages_are_cut_short_and_bins_fit_the_scale():
    sessions = [session(f"s{i}", language=f"q{'abcdefghi'[i]}") for i in range(9)]
    rows = [row for s in sessions for row in turns(s["session_id"], "XY")]
    assert "and 4 more" in render(inspect(corpus_of("c", sessions=sessions, utterances=rows, ratings=[])))
    assert [bin_.count for bin_ in histogram([1, 1.4, 1.5, 5], 1, 5)] == [2, 1, 0, 0, 1]
    assert [bin_.count for bin_ in histogram([0, 5, 99, 100], 0, 100)] == [2, *[0] * 8, 2]
    assert histogram([3.0], 3, 3) == (Bin(3, 3, 1),)


@given(st.lists(st.floats(0, 1)), st.integers(-50, 50), st.floats(0.5, 200))
def test_every_score_is_in_one_bin_that_holds_it(parts, low, width):
    high = low + width
    scores = [low + part * width for part in parts]
    bins = histogram(scores, float(low), high)
    assert sum(bin_.count for bin_ in bins) == len(scores)
    assert bins[0].low <= low and bins[-1].high >= high - 1e-6


@pytest.mark.parametrize("count", [1, 8, 1000])
def test_bars_end_at_the_largest_bin_and_show_the_smallest(count):
    lines = draw([Bin(0, 1, count * 1000), Bin(1, 2, 1), Bin(2, 3, 0)])
    assert lines[0].count("█") == 40 and "▏" in lines[1] and not set("▏█") & set(lines[2])
    assert lines[0].endswith(f"{count * 1000:,}")
