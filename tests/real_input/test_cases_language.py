"""The rows of ../shared/cases that are ConvoKit's: `reply_to` orders ties."""

from apportion.corpus.corpus import Corpus
from tests.apportion.called import called
from tests.shared import shared


def test_a_tie_is_ordered_by_reply_to(tmp_path):
    source = shared("cases/strangers/t61_ck_tie")
    options = ("-o", "score=s", "-o", "low=1", "-o", "high=5")
    assert called("import", "convokit", source, tmp_path / "corpus", *options) == 0
    session = Corpus.open(tmp_path / "corpus").session("c1")
    (rating,) = session.ratings
    assert [turn.text for turn in session.turns] == ["root", "a reply", "third"]
    assert (rating.rater, rating.target) == ("u", "v")
