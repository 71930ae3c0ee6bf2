import json

import pyarrow as pa
import pytest

from apportion.corpus.schema import RESPONSES
from apportion.foundation.errors import InputError
from apportion.study.design.criteria import shipped
from apportion.study.design.items import Item, items_of
from tests.study.studies import POLICIES, responses

GELI, PAIRS, TURNS, NEGOTIATION = map(shipped, ("geli", "pairs", "turns", "negotiation"))


def changed(table, change):
    return pa.Table.from_pylist([change(dict(row)) for row in table.to_pylist()], schema=RESPONSES.arrow)


def test_a_context_becomes_an_item_with_the_responses_of_all():
    made = items_of(responses(), GELI, seed=7)
    assert [item.item for item in made.items] == [f"i{number:04d}" for number in range(1, 9)]
    assert all(len(item.responses) == len(POLICIES) for item in made.items)
    texts = {(row["session_id"], row["turn"], row["policy"]): row["response"] for row in responses().to_pylist()}
    by_item = {item.item: item for item in made.items}
    for row in made.key:
        item = by_item[row.item]
        assert item.response(row.response).text == texts[item.session_id, item.turn, row.policy]
        assert [one.id for one in item.responses] == sorted(one.id for one in item.responses)
    assert len(made.key) == 8 * 3 and made.notes == ()


def test_ids_tell_nothing_of_a_policy_and_are_others_for_each_item_and_seed():
    made, again, other = (items_of(responses(), GELI, seed) for seed in (7, 7, 8))
    ids = [row.response for row in made.key]
    assert len(set(ids)) == len(ids) and made == again
    assert not set(ids) & {row.response for row in other.key}
    text = json.dumps([item.to_json() for item in made.items])
    assert not any(policy in text for policy in POLICIES)


def test_pairs_become_an_item_each_and_with_a_base_one_of_each_is_that():
    assert len(items_of(responses(), PAIRS, 7).items) == 8 * 3
    made = items_of(responses(), PAIRS, 7, base=POLICIES[0])
    named = {}
    for row in made.key:
        named.setdefault(row.item, set()).add(row.policy)
    assert len(named) == 8 * 2 and all(POLICIES[0] in pair and len(pair) == 2 for pair in named.values())


def test_a_dialogue_is_rated_with_one_response_an_item_and_turns_in_the_last_context_of_a_session():
    made = items_of(responses(), NEGOTIATION, 7)
    assert len(made.items) == 24 and {len(item.responses) for item in made.items} == {1}
    made = items_of(responses(), TURNS, 7)
    found = sorted((item.session_id, item.turn, item.responses) for item in made.items)
    assert found == [(f"s{n}", 5, ()) for n in range(4)]
    assert made.key == () and made.items[0].positions == (1,)


def test_several_samples_of_a_policy_are_several_items():
    made = items_of(responses(contexts=2, seeds=(0, 1)), GELI, 7)
    assert len(made.items) == 4 and {row.seed for row in made.key} == {0, 1}


def test_the_most_contexts_are_drawn_by_the_seed():
    first, again, other = (items_of(responses(40), GELI, seed, most=10) for seed in (7, 7, 8))
    places = [[(item.session_id, item.turn) for item in made.items] for made in (first, again, other)]
    assert len(places[0]) == 10 and places[0] == places[1] != places[2]


def test_a_context_with_one_response_is_left_out_and_told():
    table = responses(3)
    alone = table.filter(
        pa.array([row["session_id"] != "s1" or row["policy"] == POLICIES[0] for row in table.to_pylist()])
    )
    made = items_of(alone, GELI, 7)
    assert len(made.items) == 2
    assert made.notes == ("left out, with fewer than 2 responses: 1 context (s1 turn 3)",)


def test_identical_responses_are_told_and_a_tie_is_possible():
    made = items_of(responses(same=(0,)), PAIRS, 7)
    same = [item.item for item in made.items if item.same]
    assert len(same) == 3 and len(made.items) == 24
    assert f"identical responses in 3 items ({', '.join(same)}): they" in made.notes[0]


def test_two_of_several_responses_that_are_identical_are_told_too():
    """In the form of LLM-GELI's appendix F responses D and H have the same words."""
    table = changed(responses(3), lambda row: {**row, "response": "Fine." if doubled(row) else row["response"]})
    made = items_of(table, GELI, 7)
    (twice,) = [item for item in made.items if item.alike]
    policy_of = {row.response: row.policy for row in made.key}
    assert [sorted(policy_of[name] for name in group) for group in twice.alike] == [sorted(POLICIES[:2])]
    assert not twice.same
    assert f"two or more of the responses are identical in 1 item ({twice.item}): annotators" in made.notes[0]


def doubled(row):
    return row["session_id"] == "s0" and row["turn"] == 3 and row["policy"] in POLICIES[:2]


def test_a_policys_name_among_the_words_is_told():
    table = changed(responses(2), lambda row: {**row, "response": f"{row['response']} I am ZZ-base-policy."})
    assert "the words 'zz-base-policy', which name a policy, stand in 2 items" in items_of(table, GELI, 7).notes[0]


def elsewhere(row):
    """The first policy has answered other contexts than the others."""
    return {**row, "turn": row["turn"] + 100 * (row["policy"] == POLICIES[0])}


@pytest.mark.parametrize(
    ("table", "criteria", "base", "told"),
    [
        (responses(policies=POLICIES[:1]), GELI, None, "left out, with fewer than 2 responses: 8 con"),
        (changed(responses(2), lambda row: {**row, "context": "user: Hi"}), TURNS, None, "without a turn of the agent"),
        (responses(), GELI, "llama", "base 'llama': no such policy"),
        (responses(), TURNS, POLICIES[0], "base 'zz-base-policy': turns alone are rated"),
        (changed(responses(2), elsewhere), GELI, POLICIES[0], "no context was answered by 'zz-base-policy'"),
        (changed(responses(2), elsewhere), PAIRS, POLICIES[0], "answered by 'zz-base-policy' and another policy"),
        (responses(1, [f"policy{number}" for number in range(27)]), GELI, None, "27 responses; 26 have a letter"),
        (
            changed(responses(), lambda row: {**row, "context": f"user: {row['policy']}"}), GELI, None,
            "session 's0', turn 3: the policies were given diff",
        ),
        (changed(responses(), lambda row: {**row, "context": "hello"}), GELI, None, "column context: the line 'hello'"),
        (changed(responses(), lambda row: {**row, "context": "known (goal): win"}), GELI, None, "turn 3: nobody says"),
    ],
)  # fmt: skip
def test_what_can_be_no_study_is_told(table, criteria, base, told):
    with pytest.raises(InputError, match=told):
        items_of(table, criteria, 7, base=base)


def test_an_item_is_the_same_after_its_line():
    for item in items_of(responses(2), GELI, 7).items:
        assert Item.from_json(json.loads(json.dumps(item.to_json()))) == item
    numbered = Item("i1", "s", 3, "user: a\nassistant: b", (), turns=(0, 1))
    assert Item.from_json(numbered.to_json()) == numbered


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"turn": True}, TypeError),
        ({"context": 3}, TypeError),
        ({"turns": [1]}, ValueError),
        ({"responses": [{"id": "r1", "text": "a"}] * 2}, ValueError),
    ],
)
def test_a_line_that_is_no_item_is_refused(change, error):
    line = items_of(responses(1), GELI, 7).items[0].to_json()
    with pytest.raises(error):
        Item.from_json({**line, **change})


def test_an_item_s_number_tells_nothing_of_whose_responses_it_has():
    """In the table's order each third item would be of the same pair of policies."""
    table, places = responses(40), []
    for seed in range(6):
        made = items_of(table, PAIRS, seed, POLICIES[0])
        policy = {row.item: row.policy for row in made.key if row.policy != POLICIES[0]}
        assert [item.item for item in made.items] == [f"i{number:04d}" for number in range(1, 81)]
        of_one = [number % 2 for number, item in enumerate(made.items) if policy[item.item] == POLICIES[1]]
        assert len(of_one) == 40 and 8 < sum(of_one) < 32
        places.append(tuple(policy[item.item] for item in made.items))
    assert len(set(places)) == 6
