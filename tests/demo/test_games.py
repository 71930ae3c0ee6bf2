"""Six games of hidden roles in the checkout, whose log is theirs."""

from corpus.corpus import Corpus
from environments.deduction.league.reading import read_matches
from environments.simulators import maker_of
from tests.behaviour.command import ROOT

GAMES = ROOT / "demo" / "deduction" / "games"


def test_the_log_says_who_won_each_game_and_each_can_be_played_on() -> None:
    corpus = Corpus.open(GAMES / "six")
    won = {(row["session_id"], row["target"]): row["score"] for row in corpus.ratings.to_pylist()}
    for matches in read_matches(GAMES / "six"):
        assert len(matches.matches) == 2
        for match in matches.matches:
            made_by, _, identity = maker_of(corpus.session(match.name), GAMES / "six")
            assert made_by == matches.game and identity
            for seat in match.seats:
                assert won.get((match.name, f"Player {seat.number}"), seat.won) == seat.won
