from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from apportion.corpus.session import Rating, Session, Turn
from apportion.corpus.splits.personsplit import persons
from apportion.corpus.splits.settings import SplitSettings
from apportion.corpus.splits.splits import SplitEpisodes, counts, sessions_in, split, split_sessions
from apportion.foundation.errors import InputError
from tests.corpus.tables import corpus_of, rating, session, turns
from tests.decompose.sessions import of_length, splits


def talk(session_id, speakers=("user", "assistant"), rated=True, name="overall"):
    first, second = speakers
    return Session(
        session_id,
        turns=(Turn(0, first, "hi"), Turn(1, second, "hello")),
        ratings=(Rating(first, second, name, 3.0, 1.0, 5.0),) if rated else (),
    )


def as_dict(table):
    return dict(zip(table.column("session_id").to_pylist(), table.column("split").to_pylist(), strict=True))


def shares_of(*parts):
    total = sum(parts)
    train, validation, test, policy = (part / total for part in parts)
    return {"train": train, "validation": validation, "test": test, "policy": policy}


shares_strategy = st.builds(shares_of, st.integers(1, 9), st.integers(0, 9), st.integers(1, 9), st.integers(0, 9))


@given(
    st.sets(st.text(min_size=1, max_size=6), min_size=4, max_size=60), shares_strategy, st.integers(0, 99), st.randoms()
)
def test_shares_are_exact_and_rows_may_come_in_any_order(ids, shares, seed, rng):
    settings = SplitSettings(seed=seed, **shares)
    sessions = [talk(id_) for id_ in ids]
    first = split_sessions(sessions, settings)
    rng.shuffle(sessions)
    assert split_sessions(sessions, settings).table.equals(first.table)
    assert {id_ for name in shares for id_ in sessions_in(first.table, name)} == ids
    found = list(as_dict(first.table).values())
    assert len(found) == len(ids) and first.notes == ()
    for name, share in shares.items():
        assert (found.count(name) > 0) == (share > 0)
        assert abs(found.count(name) - share * len(ids)) <= 3


@given(st.integers(4, 500), shares_strategy)
def test_counts_sum_up_and_stay_within_one_of_the_share_where_there_is_room(total, shares):
    found = counts(total, shares)
    assert sum(found.values()) == total
    if all(share * total >= 1 for share in shares.values() if share > 0):
        assert all(abs(found[name] - share * total) < 1 for name, share in shares.items())


def test_the_default_shares_of_a_thousand_stay_as_a_corpus_grows():
    assert counts(1000, SplitSettings().shares) == {"train": 600, "validation": 100, "test": 200, "policy": 100}
    before = as_dict(split_sessions([talk(f"s{i}") for i in range(1000)], SplitSettings()).table)
    after = as_dict(split_sessions([talk(f"s{i}") for i in range(1050)], SplitSettings()).table)
    moved = sum(after[id_] != name for id_, name in before.items())
    assert moved < 60


def test_another_seed_gives_another_split():
    sessions = [talk(f"s{i}") for i in range(50)]
    tables = [split_sessions(sessions, SplitSettings(seed=seed)).table for seed in (0, 1)]
    assert not tables[0].equals(tables[1])


def test_unrated_sessions_go_to_the_policy_without_an_episode() -> None:
    sessions = [talk(f"s{i}") for i in range(10)] + [talk("u", rated=False), talk("v", name="fun")]
    found = as_dict(split_sessions(sessions, SplitSettings(), "overall").table)
    assert found["u"] == found["v"] == "policy" and len(found) == 12
    episodes = SplitEpisodes([of_length("a", 3.0, 1)], splits(a="train", unrated="train"))
    assert episodes.sessions("train") == {"a", "unrated"} and len(episodes.of("train")) == 1


some_sessions = st.lists(
    st.tuples(st.integers(0, 14), st.integers(0, 14)).filter(lambda pair: pair[0] != pair[1]), max_size=40
)


@given(some_sessions, some_sessions, st.sampled_from(["session", "person"]), st.integers(0, 9), st.randoms())
def test_unrated_sessions_move_no_rated_one_and_by_person_nobody_is_in_two_splits(rated, unrated, by, seed, rng):
    settings = SplitSettings(by=by, seed=seed)
    alone = [talk(f"r{i}", (f"p{a}", f"p{b}")) for i, (a, b) in enumerate(rated)]
    added = [talk(f"u{i}", (f"p{a}", f"p{b}"), rated=False) for i, (a, b) in enumerate(unrated)]
    try:
        first = split_sessions(alone, settings)
    except InputError as error:
        assert by == "session" or "leaves no session for" in str(error) or "cannot be shared out" in str(error)
        assume(False)
    before = as_dict(first.table)
    gone = len(alone) - len(before)
    assert first.notes == () if gone == 0 else f"{gone} of {len(alone)} rated sessions" in first.notes[0]
    result = split_sessions([*alone, *added], settings)
    found = as_dict(result.table)
    assert {id_: name for id_, name in found.items() if id_[0] == "r"} == before
    kept = {id_ for id_ in found if id_[0] == "u"}
    if by == "session":
        assert kept == {s.session_id for s in added} and {found[id_] for id_ in kept} <= {"policy"}
        return
    home = {}
    for session_ in (s for s in [*alone, *added] if s.session_id in found):
        for person in persons(session_):
            assert home.setdefault(person, found[session_.session_id]) == found[session_.session_id]
    # What is left out could not have stayed with everybody where they are.
    for session_ in added:
        places = {home[person] for person in persons(session_) if person in home}
        assert session_.session_id in kept or len(places) > 1
    lost = [note for note in result.notes if "unrated sessions" in note]
    assert bool(lost) == (len(kept) < len(added))
    assert not lost or f"{len(added) - len(kept)} of {len(added)} unrated sessions join persons" in lost[0]
    rng.shuffle(added)
    assert split_sessions([*added, *alone], settings).table.equals(result.table)


def test_by_person_an_unrated_session_goes_where_its_persons_are():
    pairs = [talk(f"s{i}", (f"a{i}", f"b{i}")) for i in range(10)]
    home = as_dict(split_sessions(pairs, SplitSettings(by="person")).table)
    again = [talk(f"u{i}", (f"b{i}", f"a{i}"), rated=False) for i in range(10)]
    strangers = [talk("v", ("c", "d"), rated=False), talk("w", rated=False), talk("x", ("d", "a0"), rated=False)]
    result = split_sessions([*pairs, *again, *strangers], SplitSettings(by="person"))
    found = as_dict(result.table)
    assert {id_: found[f"u{id_[1:]}"] for id_ in home} == home and set(home.values()) == set(SplitSettings().shares)
    assert found["v"] == found["w"] == "policy" and "x" not in found
    assert result.notes == (
        "split by person: 1 of 13 unrated sessions join persons of two splits and are left out (92% are kept)",
    )


@pytest.mark.parametrize("by", ["session", "person"])
def test_where_nobody_scored_the_test_share_is_held_out_and_the_policy_gets_the_rest(by):
    sessions = [talk(f"s{i}", (f"a{i}", f"b{i}"), rated=False) for i in range(20)]
    found = list(as_dict(split_sessions(sessions, SplitSettings(by=by)).table).values())
    assert found.count("test") == 4 and found.count("policy") == 16
    kept = SplitSettings(by=by, train=0.8, validation=0.1, test=0, policy=0.1)
    assert set(as_dict(split_sessions(sessions, kept).table).values()) == {"policy"}
    assert as_dict(split_sessions(sessions[:1], SplitSettings(by=by)).table) == {"s0": "policy"}
    with pytest.raises(InputError, match="0 rated sessions cannot be shared out"):
        split_sessions([], SplitSettings(by=by))


def test_by_person_who_is_everywhere_cannot_be_split():
    sessions = [talk(f"s{i}", ("p", f"q{i}"), rated=False) for i in range(10)]
    with pytest.raises(InputError, match=r"leaves no session for .*too many sessions share persons"):
        split_sessions(sessions, SplitSettings(by="person"))
    with pytest.raises(InputError, match="known only by their role"):
        split_sessions([talk(f"s{i}", rated=False) for i in range(10)], SplitSettings(by="person"))
    with pytest.raises(InputError, match=r"leaves no session for .*by = \"session\""):
        split_sessions([talk(f"s{i}", ("p", f"q{i}")) for i in range(10)], SplitSettings(by="person"))


def test_shares_that_cannot_be_met_are_told():
    with pytest.raises(InputError, match=r"3 rated sessions .* at least 4 are needed"):
        split_sessions([talk(str(i)) for i in range(3)], SplitSettings())
    with pytest.raises(InputError, match=r"1 rated session cannot .* train, test: at least 2"):
        split_sessions([talk("a")], SplitSettings(train=0.5, validation=0, test=0.5, policy=0))
    with pytest.raises(ValidationError, match=r"sum to 1.1; make them sum to 1"):
        SplitSettings(train=0.7)


def test_split_of_a_corpus():
    ids = [f"s{i}" for i in range(8)]
    corpus = corpus_of(
        "unused",
        sessions=[session(id_) for id_ in ids],
        utterances=[row for id_ in ids for row in turns(id_, "XY")],
        ratings=[rating(id_) for id_ in ids],
    )
    assert sorted(as_dict(split(corpus, SplitSettings()))) == ids


def test_by_person_strangers_lose_nothing_and_shares_are_met():
    sessions = [talk(f"s{i}-{j}", (f"a{i}", f"b{i}")) for i in range(100) for j in range(2)]
    result = split_sessions(sessions, SplitSettings(by="person"))
    found = list(as_dict(result.table).values())
    assert result.notes == () and len(found) == 200
    for name, share in SplitSettings().shares.items():
        assert abs(found.count(name) - 200 * share) <= 4


def test_by_person_keeps_most_of_a_pairing_graph():
    rng = random.Random(0)
    pairs = [rng.sample(range(400), 2) for _ in range(450)]
    sessions = [talk(f"s{i}", (f"p{a}", f"p{b}")) for i, (a, b) in enumerate(pairs)]
    result = split_sessions(sessions, SplitSettings(by="person"))
    assert result.table.num_rows > 0.65 * len(sessions) and "are left out" in result.notes[0]


def test_by_person_roles_and_the_environment_are_no_persons():
    sessions = [talk(f"s{i}", (f"p{i}", "Assistant")) for i in range(10)]
    assert split_sessions(sessions, SplitSettings(by="person")).table.num_rows == 10
    sessions = [talk(f"s{i}", (f"p{i}", f"q{i}")) for i in range(10)]
    scored = [replace(s, ratings=(Rating("environment", "p", "overall", 3.0, 1.0, 5.0),)) for s in sessions]
    assert split_sessions(scored, SplitSettings(by="person")).table.num_rows == 10
    sessions = [talk(f"s{i}", (f"p{i}", "bot")) for i in range(8)] + [talk(f"t{i}") for i in range(8)]
    assert split_sessions(sessions, SplitSettings(by="person")).table.num_rows == 16


NAMES = ("train", "validation", "test", "policy")


@given(st.lists(st.sampled_from([*NAMES, None]), max_size=12))
def test_every_episode_is_in_the_split_of_its_session_alone_and_in_their_order(chosen: list[str | None]) -> None:
    """One whose session is in no split is in none."""
    every = [of_length(f"s{i}", 3.0, 1) for i in range(len(chosen))]
    table = splits(**{e.session_id: name for e, name in zip(every, chosen, strict=True) if name is not None})
    episodes = SplitEpisodes(every, table)
    for name in NAMES:
        assert episodes.of(name) == [e for e, own in zip(every, chosen, strict=True) if own == name]
        assert episodes.sessions(name) == {e.session_id for e in episodes.of(name)}
