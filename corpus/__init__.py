"""Conversations, who scored them, and the tables that hold both.

>>> from apportion.corpus import Corpus, CorpusRows
>>> rows = CorpusRows()
>>> rows.session("s1", "by hand")
>>> rows.utterance("s1", 0, "bob", "At nine.")
>>> rows.rating("s1", ("ann", "bob"), "helpful", 4.0, (1.0, 5.0))
>>> [episode.score for episode in Corpus.of(".", rows.tables()).session("s1").episodes()]
[4.0]

From the ground up: `speaker_labels` (who speaks, without names), `session` (one conversation as values), `schema`
(every table's columns), `annotators` (whose turn labels are), `files` (strangers', read strictly), `speakers`
(who spoke, by evidence), `builder` (a corpus that is being made), `account` (what an import read, and where all of it
went), `languages` (in which one people talk), `mean_std` (mean and spread), `corpus` (the folder of tables), `targets`
(whose turns count in a session), `sotopia_eval` and `sotopia_markup` (SOTOPIA's scales, and who reads which part),
`casino_points` (its game in figures), `splits` (who is learned from), `recordings` (what a person would see and hear of
them), `issue`, `checks` and `validate` (what is wrong in it), `power` (which difference a size can show), `inspection`
(what it can tell), `writer` (a corpus that was made, written), `importers` (other people's formats).

Names are imported when they are first used, so that this package costs nothing to import.
"""

from typing import TYPE_CHECKING

from apportion.foundation.lazy import lazy_names

if TYPE_CHECKING:
    from apportion.corpus.builder import CorpusBuild, CorpusRows, SkippedSession
    from apportion.corpus.corpus import Corpus
    from apportion.corpus.importers.registry import import_to
    from apportion.corpus.issue import ValidationIssue
    from apportion.corpus.session import Background, Episode, EpisodeKey, Event, Media, Rating, Session, Turn
    from apportion.corpus.splits.settings import SplitSettings
    from apportion.corpus.splits.splits import Splits, split_sessions

__all__ = [
    "Background",
    "Corpus",
    "CorpusBuild",
    "CorpusRows",
    "Episode",
    "EpisodeKey",
    "Event",
    "Media",
    "Rating",
    "Session",
    "SkippedSession",
    "SplitSettings",
    "Splits",
    "Turn",
    "ValidationIssue",
    "import_to",
    "split_sessions",
]

__getattr__ = lazy_names(__name__, __file__)
