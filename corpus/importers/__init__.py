"""Importers from other people's formats, a file each: ``import_corpus(src, options) -> CorpusBuild``.

From the ground up: `reading` (what importers share); `chat`, `media`, `uss`, `conture`, `esconv`, `convokit` (with
`convokit_utterances`), `soda`, `sotopia`, `casino`, and `candor` and `dealornodeal` (a room each); `registry` (an
importer found by name, its corpus written).
"""

from apportion.corpus.importers.registry import import_to
from apportion.corpus.writer import ImportReport

__all__ = ["ImportReport", "import_to"]
