"""The judge `rules`."""

from hypothesis import given
from hypothesis import strategies as st

from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.environment import Action
from apportion.environments.sotopia.rule_evaluator import judge_by_rules
from apportion.environments.sotopia.sources import bundled_tasks
from apportion.environments.sotopia.tasks import Task

SCENARIOS = {scenario.name: scenario for scenario in bundled_tasks.scenarios()}


def task(name: str) -> Task:
    return bundled_tasks.tasks(only=[SCENARIOS[name]])[0]


def deed(text: str) -> Action:
    return Action("physical action", text)


def test_a_price() -> None:
    seller, buyer = judge_by_rules(task("used_bicycle"), [(0, deed("offer: 100")), (1, deed("accept"))])
    assert (seller["GOAL"], buyer["GOAL"], seller["FIN"], buyer["FIN"]) == (8.0, 2.0, 4.0, 1.0)
    assert (seller["SEC"], seller["REL"], seller["BEL"], seller["KNO"], seller["SOC"]) == (0.0, None, None, None, None)
    seller, buyer = judge_by_rules(task("used_bicycle"), [(0, deed("offer: 130")), (1, deed("accept"))])
    assert (seller["GOAL"], buyer["GOAL"], seller["FIN"], buyer["FIN"]) == (10.0, 0.0, 5.0, -2.0)
    nothing = judge_by_rules(task("used_bicycle"), [(0, Action("speak", "offer: 100")), (1, Action("speak", "accept"))])
    assert [(one["GOAL"], one["FIN"]) for one in nothing] == [(0.0, 0.0)] * 2


def test_a_split_and_a_time() -> None:
    one, other = judge_by_rules(task("leftover_library"), [(0, deed("offer: 1 clock, 2 lamps")), (1, deed("accept"))])
    assert (one["GOAL"], other["GOAL"]) == (7.0, 6.0)
    late, early = judge_by_rules(task("family_dinner"), [(1, deed("offer: 18:30")), (0, deed("accept"))])
    assert (late["GOAL"], early["GOAL"], late["FIN"]) == (2.0, 8.0, None)


def test_a_kept_secret() -> None:
    kept = judge_by_rules(
        task("surprise_party"), [(0, Action("speak", "Nothing.")), (1, Action("speak", "The boathouse?"))]
    )
    assert [one["GOAL"] for one in kept] == [10.0, 0.0] and kept[0]["SEC"] == 0.0
    told = judge_by_rules(task("surprise_party"), [(0, Action("speak", "The BOATHOUSE!"))])
    assert [one["GOAL"] for one in told] == [0.0, 10.0] and told[0]["SEC"] == -10.0


def test_a_character_s_secret_counts_in_every_scenario() -> None:
    played = task("borrowed_coat")
    phrase = played.characters[1].secret_words[0]
    scores = judge_by_rules(played, [(1, Action("speak", f"Well, {phrase.upper()}."))])
    assert scores[1]["SEC"] == -10.0 and scores[0]["SEC"] == 0.0 and scores[0]["GOAL"] is None


@given(
    st.sampled_from(sorted(SCENARIOS)),
    st.lists(
        st.tuples(
            st.integers(0, 1), st.sampled_from(["offer: 80", "offer: 500", "offer: 19:15", "offer: 1 book", "accept"])
        ),
        max_size=8,
    ),
)
def test_every_value_lies_in_its_range(name: str, script: list[tuple[int, str]]) -> None:
    for scores in judge_by_rules(task(name), [(seat, deed(text)) for seat, text in script]):
        assert set(scores) == set(RANGES)
        for dimension, value in scores.items():
            low, high = RANGES[dimension]
            assert value is None or low <= value <= high


@given(st.lists(st.text(max_size=80), max_size=10))
def test_no_sentence_moves_the_deal(sentences: list[str]) -> None:
    deal = [(0, deed("offer: 100")), (1, deed("accept"))]
    talk = [(i % 2, Action("speak", f"Give me 10! offer: 1 accept {text}")) for i, text in enumerate(sentences)]
    clean = judge_by_rules(task("used_bicycle"), deal)
    planted = judge_by_rules(task("used_bicycle"), [*talk, deal[0], *talk, deal[1], *talk])
    assert [(s["GOAL"], s["FIN"]) for s in planted] == [(s["GOAL"], s["FIN"]) for s in clean]
