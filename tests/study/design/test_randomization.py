from collections import Counter
from itertools import permutations
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.study.design.criteria import shipped
from apportion.study.design.items import Item, Response, items_of
from apportion.study.design.randomization import items_for, lettered, with_checks
from tests.study.studies import POLICIES, responses

NAMES = st.text("abcdefghijklmnop0123456789_-", min_size=1, max_size=12)
SEEDS = st.integers(0, 2**63 - 1)


def items(number):
    return [f"i{place:04d}" for place in range(1, number + 1)]


@given(
    seed=SEEDS,
    number=st.integers(1, 30),
    wanted=st.integers(1, 5),
    most=st.integers(1, 12),
    people=st.lists(NAMES, unique=True, min_size=200, max_size=200),
)
@settings(max_examples=20)
def test_every_item_gets_the_wanted_number_of_people_whoever_comes_first(seed, number, wanted, most, people):
    load = Counter(dict.fromkeys(items(number), 0))
    for person in people:
        own = items_for(person, seed, load, wanted, most)
        assert len(set(own)) == len(own) <= most
        load.update(own)
        assert max(load.values()) - min(load.values()) <= 1
        if not own:
            break
    assert set(load.values()) == {wanted}


@given(seed=SEEDS, abandoning=st.sets(st.integers(0, 40)), done=st.integers(0, 4))
@settings(max_examples=20)
def test_what_is_abandoned_comes_back_to_others(seed, abandoning, done):
    load = Counter(dict.fromkeys(items(20), 0))
    for number in range(400):
        own = items_for(f"a{number:03d}", seed, load, 3, 5)
        if not own:
            break
        load.update(own[:done] if number in abandoning else own)
    assert set(load.values()) == {3}


@given(seed=SEEDS, person=NAMES, number=st.integers(0, 30))
def test_the_same_seed_and_person_draw_the_same(seed, person, number):
    load = {item: place % 3 for place, item in enumerate(items(number))}
    backwards = dict(reversed(load.items()))
    assert items_for(person, seed, load, 3, 8) == items_for(person, seed, backwards, 3, 8)


def test_others_see_others_in_another_order():
    orders = {items_for(f"a{number}", 7, dict.fromkeys(items(10), 0), 3, 10) for number in range(50)}
    assert len(orders) == 50


@given(seed=SEEDS, person=NAMES, number=st.integers(1, 26))
def test_letters_are_an_order_of_all_responses_and_the_same_after_a_pause(seed, person, number):
    item = Item("i0001", "s", 1, "user: a", tuple(Response(f"r{place}", "x") for place in range(number)))
    shown = lettered(person, seed, item)
    assert sorted(shown, key=lambda one: one.id) == sorted(item.responses, key=lambda one: one.id)
    shuffled = Random(seed).sample(item.responses, number)
    assert lettered(person, seed, Item("i0001", "s", 1, "user: a", tuple(shuffled))) == shown


def test_letters_are_independent_of_the_policy():
    """Each of the six orders of three policies comes up as often: chi-squared below 20.5 (5 degrees, p = 0.001)."""
    made = items_of(responses(60), shipped("geli"), 7)
    policy_of = {row.response: row.policy for row in made.key}
    orders = Counter(
        tuple(policy_of[one.id] for one in lettered(f"a{person:03d}", 7, item))
        for person in range(50)
        for item in made.items
    )
    expected = 60 * 50 / 6
    assert set(orders) == set(permutations(POLICIES))
    assert sum((count - expected) ** 2 / expected for count in orders.values()) < 20.5


@given(seed=SEEDS, number=st.integers(0, 40), checks=st.integers(0, 6), every=st.integers(0, 12))
def test_each_whole_stretch_has_one_check_and_items_keep_their_order(seed, number, checks, every):
    own = [Item(name, f"s{place}", 1, "user: a", ()) for place, name in enumerate(items(number))]
    told = [Item(f"c{place:04d}", f"s{place}", 1, "user: a", ()) for place in range(checks)]
    sequence = with_checks("a001", seed, own, told, every)
    assert [name for name in sequence if name.startswith("i")] == [item.item for item in own]
    met = [name for name in sequence if name.startswith("c")]
    stretches = min(number // every, checks) if every else 0
    assert len(set(met)) == len(met) == stretches
    for stretch, name in enumerate(met):
        before = sum(one.startswith("i") for one in sequence[: sequence.index(name)])
        assert stretch * every < before <= (stretch + 1) * every


def test_checks_on_other_sessions_come_first():
    own = [Item("i0001", "s1", 1, "user: a", ())]
    told = [Item("c0001", "s1", 1, "user: a", ()), Item("c0002", "s2", 1, "user: a", ())]
    assert {with_checks(f"a{number}", 7, own, told, 1) for number in range(20)} == {("i0001", "c0002")}
