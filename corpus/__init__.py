"""Conversations, who scored them, and the tables that hold both.

>>> from apportion.corpus import Corpus, CorpusRows
>>> rows = CorpusRows()
>>> rows.session("s1", "by hand")
>>> rows.utterance("s1", 0, "bob", "At nine.")
>>> rows.rating("s1", ("ann", "bob"), "helpful", 4.0, (1.0, 5.0))
>>> [episode.score for episode in Corpus.of(".", rows.tables()).session("s1").episodes()]
[4.0]

From the ground up: `letters` (who speaks, without names), `session` (one conversation as values), `schema` (every
table's columns), `labellers` (whose turn labels are), `files` (strangers', read strictly), `rows` (a corpus that is
being made), `moments` (mean and spread), `corpus` (the folder of tables), `targets` (whose turns count in a session),
`sotopia_eval` and `sotopia_marks` (SOTOPIA's scales, and who reads which part), `casino` (its game in figures),
`splitting` (who is learned from), `power` (which difference a size can show), `problem`, `checks` and `validate` (what
is wrong in it), `inspecting` (what it can tell), `placing` (a corpus that was made, written), `importers` (other
people's formats).

Names are imported when they are first used, so that this package costs nothing to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from apportion.foundation.lazy import lazy_names

if TYPE_CHECKING:
    from apportion.corpus.corpus import Corpus
    from apportion.corpus.importers.run import import_to
    from apportion.corpus.problem import Problem
    from apportion.corpus.rows import CorpusRows, LeftOut, NewCorpus
    from apportion.corpus.session import Background, Episode, EpisodeKey, Media, Rating, Session, Turn
    from apportion.corpus.splitting.settings import SplitSettings
    from apportion.corpus.splitting.splits import Splits, split_sessions

__all__ = [
    "Background",
    "Corpus",
    "CorpusRows",
    "Episode",
    "EpisodeKey",
    "LeftOut",
    "Media",
    "NewCorpus",
    "Problem",
    "Rating",
    "Session",
    "SplitSettings",
    "Splits",
    "Turn",
    "import_to",
    "split_sessions",
]

_HOMES = {
    "Background": "apportion.corpus.session",
    "Corpus": "apportion.corpus.corpus",
    "CorpusRows": "apportion.corpus.rows",
    "Episode": "apportion.corpus.session",
    "EpisodeKey": "apportion.corpus.session",
    "LeftOut": "apportion.corpus.rows",
    "Media": "apportion.corpus.session",
    "NewCorpus": "apportion.corpus.rows",
    "Problem": "apportion.corpus.problem",
    "Rating": "apportion.corpus.session",
    "Session": "apportion.corpus.session",
    "SplitSettings": "apportion.corpus.splitting.settings",
    "Splits": "apportion.corpus.splitting.splits",
    "Turn": "apportion.corpus.session",
    "import_to": "apportion.corpus.importers.run",
    "split_sessions": "apportion.corpus.splitting.splits",
}
__getattr__ = lazy_names(__name__, _HOMES)
