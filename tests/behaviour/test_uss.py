import pytest

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers.uss import import_corpus
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.evaluation.confidence_intervals.bootstrap import Estimate
from apportion.evaluation.evaluate import evaluate
from apportion.evaluation.inputs import Evidence, MethodValues
from apportion.evaluation.settings import EvaluationSettings
from tests.evaluation.made_up import rewards, splits
from tests.shared import shared


@pytest.mark.slow
def test_uss_gives_the_known_agreement_with_people():
    """Spearman within the sessions of USS SGD: VADER on the rater's next reply 0.416, one annotator 0.40."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    corpus = Corpus.of(".", import_corpus(shared("data/uss/SGD.txt.gz"), {}).tables)
    vader = SentimentIntensityAnalyzer()
    episodes = [episode for session in corpus.iter_sessions() for episode in session.episodes()]
    values = {
        e.session_id: [vader.polarity_scores(e.reply_text(at))["compound"] for at in e.target_positions]
        for e in episodes
    }
    table = rewards(episodes, values, "sentiment")
    ids = [e.session_id for e in episodes]
    found = evaluate(
        MethodValues(table, table, {"sentiment": 3.0}),
        SplitEpisodes(episodes, splits(train=ids[:1], test=ids[1:])),
        Evidence(turn_labels=corpus.turn_labels),
        EvaluationSettings(bootstrap=100, random_draws=1),
    )
    (sentiment,) = found.decompositions
    assert isinstance(sentiment.spearman, Estimate) and isinstance(found.one_annotator.spearman, Estimate)
    assert round(sentiment.spearman.value, 2) == 0.42
    assert round(found.one_annotator.spearman.value, 2) == 0.40
