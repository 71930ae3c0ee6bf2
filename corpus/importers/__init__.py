"""Importers from other people's formats, a file each: ``import_corpus(src, options) -> NewCorpus``.

From the ground up: `options`, `sources` and `json_items` (what an importer is given), `tally` (what it left out),
`labels` (said of an earlier turn), `recordings`, `transcripts` and `ratings_csv` (whose files are whose); `chat`,
`media`, `uss`, `conture`, `esconv`, `convokit` (with `convokit_utterances`), `soda`, `sotopia` and `candor` (with
`candor_folders`, `candor_survey`, `candor_transcripts`, `candor_people`, `candor_media`); `run` (an importer found by
name, its corpus written).
"""

from corpus.importers.run import import_to
from corpus.placing import ImportReport

__all__ = ["ImportReport", "import_to"]
