import json
from pathlib import Path

import pytest

from apportion.corpus.corpus import Corpus
from apportion.environments.episode_log import LOG, read_log
from apportion.environments.negotiation.contexts import Context
from apportion.environments.negotiation.simulation import NegotiationChoice
from apportion.environments.simulation import write_corpus
from apportion.environments.simulation.plan import preview, price
from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import ModelSpec

SMALL = NegotiationChoice(("conceding", "fair", "random"), games=4, seed=3)
CHOSEN = ModelSpec("gpt-4.1-mini")


def test_a_choice_is_played_and_becomes_a_corpus(tmp_path: Path) -> None:
    report = write_corpus(SMALL, tmp_path / "one")
    assert report.notes[0].startswith("simulated")
    assert report.problems == ()
    logged = read_log(tmp_path / "one" / LOG)
    assert len(logged) == SMALL.total == 4 * 9
    corpus = Corpus.open(tmp_path / "one")
    ratings = {(row["session_id"], row["target"], row["name"]): row for row in corpus.tables["ratings"].to_pylist()}
    for name, episode in logged.items():
        assert episode.closing is not None
        for agent, values in episode.closing["outcome"].items():
            for dimension, value in values.items():
                row = ratings.get((name, agent, dimension))
                if row is not None:  # Who said nothing (the game was ended before) has none.
                    assert (row["score"], row["rater"], row["annotator"]) == (value, "environment", "rules")
                    assert (row["low"], row["high"]) == {"points": (0, 10), "advantage": (-10, 10)}[dimension]
    assert {row["name"] for row in ratings.values()} == {"points", "advantage"}
    rows = corpus.tables["backgrounds"].to_pylist()
    assert {(row["speaker"], row["kind"]) for row in rows} == {(None, "rules"), ("Alice", "goal"), ("Bob", "goal")}
    assert not [row for row in rows if row["speaker"] is None and "a book is worth" in row["text"]]


def test_the_same_seed_gives_the_same_bytes_and_pairs_share_their_seeds(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_corpus(SMALL, tmp_path / name)
    assert (tmp_path / "one" / LOG).read_bytes() == (tmp_path / "two" / LOG).read_bytes()
    paired = NegotiationChoice(("conceding", "fair"), games=3, paired=True)
    write_corpus(paired, tmp_path / "paired")
    seeds = {(name.split("-")[0], one.opening["seed"]) for name, one in read_log(tmp_path / "paired" / LOG).items()}
    assert len(seeds) == 3
    assert paired.record()["paired"]


def test_contexts_come_from_a_file_as_many_as_are_played(tmp_path: Path) -> None:
    file = tmp_path / "contexts.txt"
    file.write_text("1 3 3 1 1 4\n1 3 3 2 1 1\n" * 3)
    choice = NegotiationChoice(games=2, contexts=file)
    assert choice.played == (Context((1, 3, 1), ((3, 1, 4), (3, 2, 1))),) * 2
    assert choice.record()["contexts"] == NegotiationChoice(games=2, contexts=file).record()["contexts"]
    with pytest.raises(InputError, match="3 contexts, and games = 4"):
        _ = NegotiationChoice(games=4, contexts=file).played
    drawn = NegotiationChoice(games=1000).played
    assert len(set(drawn)) == 1000
    assert drawn[:5] == NegotiationChoice(games=5).played != NegotiationChoice(games=5, seed=1).played
    with pytest.raises(InputError, match="allowed: 5,295 contexts, and games = 5,296"):
        _ = NegotiationChoice(games=5296).played


@pytest.mark.parametrize("choice", [NegotiationChoice(()), NegotiationChoice(games=0), NegotiationChoice(repeats=0)])
def test_nothing_to_play_is_told(choice: NegotiationChoice) -> None:
    with pytest.raises(InputError, match="nothing to play"):
        _ = choice.total


def test_an_agent_that_is_named_twice_or_unknown_is_told() -> None:
    with pytest.raises(InputError, match="'fair' is there twice"):
        NegotiationChoice(("fair", "fair")).record()
    with pytest.raises(InputError, match="no agent 'fairly'; did you mean 'fair'"):
        price(NegotiationChoice(("fairly",)))


def test_what_it_would_cost_counts_half_of_the_acts_and_the_selection() -> None:
    (one,) = price(NegotiationChoice(("base", "conceding"), games=2, most_acts=6, chosen=CHOSEN))
    # Four pairs a context: both seats, the first, the second, none; three acts and a selection each.
    assert one.requests == 2 * 4 * 4
    (worded,) = price(NegotiationChoice(("fair~",), games=1, most_acts=6, chosen=CHOSEN))
    assert worded.requests == 2 * 4


def test_what_would_be_sent_is_shown_and_holds_one_side_s_values(tmp_path: Path) -> None:
    file = tmp_path / "contexts.txt"
    file.write_text("1 3 3 1 1 4\n1 7 3 1 1 0\n")
    shown = preview(NegotiationChoice(("base",), games=1, contexts=file, chosen=CHOSEN), 2)
    assert shown.in_all == 2
    texts = [request.messages[1].content for request in shown.requests]
    alice, bob = sorted(texts, key=lambda text: "You are Bob" in text)  # Whoever begins is shown first.
    assert "a book is worth 3 points" in alice
    assert "7 points" not in alice
    assert "a book is worth 7 points" in bob
    assert "3 points" not in bob
    with pytest.raises(InputError, match="nothing would be sent"):
        preview(NegotiationChoice(), 1)


def test_seats_that_act_first_are_shown_first_and_those_that_wait_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "contexts.txt"
    file.write_text("1 3 3 1 1 4\n1 7 3 1 1 0\n" * 6)
    choice = NegotiationChoice(("base",), games=6, contexts=file, chosen=CHOSEN)
    starters = []
    for plan in choice.plans({"base": choice.players.roster.scripted("conceding")}):
        environment = plan.make()
        environment.reset(plan.seed)
        starters += environment.acting()
    assert set(starters) == {"Alice", "Bob"}
    worth = {"Alice": "a book is worth 3 points", "Bob": "a book is worth 7 points"}
    shown = preview(choice, 6)
    for starter, request in zip(starters, shown.requests, strict=True):
        assert worth[starter] in request.messages[1].content
    assert len(shown.notes) == 1
    assert "2 of those shown are of seats whose turn it is not yet" in preview(choice, 8).text()


def test_the_record_says_what_decides_the_corpus() -> None:
    record = SMALL.record()
    assert record == json.loads(json.dumps(record))
    assert record["kind"] == "simulate negotiation"
    assert "temperature" not in record
    assert NegotiationChoice(("base",), chosen=CHOSEN).record()["temperature"] == 1.0
