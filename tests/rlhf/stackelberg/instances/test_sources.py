from pathlib import Path

import pytest

from apportion.environments.negotiation.bargaining.simulation import BargainingChoice
from apportion.environments.simulation.plan import write_corpus
from apportion.foundation.errors import InputError
from apportion.rlhf.stackelberg.instances.instance import write_instances
from apportion.rlhf.stackelberg.instances.sources import turns_of
from tests.rlhf.stackelberg.round_table import round_table


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("bargains") / "corpus"
    write_corpus(BargainingChoice(agents=("conceding", "fair"), games=3), out)
    return out


def test_turns_of_a_corpus_are_those_that_somebody_answers(corpus):
    turns = turns_of([corpus])
    assert turns.games == 12 and len(turns.instances) == turns.found
    assert {one.game for one in turns.instances} == {"bargaining"}
    assert {one.backends[0] for one in turns.instances} == {"conceding", "fair"}
    assert f"{turns.found:,} turns" in str(turns) and "conceding, fair" in str(turns)


def test_as_many_as_are_wanted_are_drawn_by_the_seed(corpus):
    first, again, other = (turns_of([corpus], instances=7, seed=seed).instances for seed in (0, 0, 1))
    assert len(first) == 7 and first == again and first != other


def test_as_many_sessions_as_are_wanted_are_drawn(corpus):
    assert turns_of([corpus], games=4).games == 4


def test_each_game_has_its_own_count(corpus, tmp_path):
    write_instances(tmp_path / "turns.jsonl", round_table(20))
    turns = turns_of([corpus, tmp_path / "turns.jsonl"], instances=5)
    assert [one.game for one in turns.instances] == ["bargaining"] * 5 + ["round table"] * 5


def test_a_source_that_is_named_twice_is_told(corpus):
    with pytest.raises(InputError, match="is in two sources"):
        turns_of([corpus, corpus])


def test_dialogues_that_no_environment_made_have_no_instances():
    with pytest.raises(InputError, match=r"no speech that another player answers\..* no environment of ours made them"):
        turns_of([Path("demo/corpus")])
