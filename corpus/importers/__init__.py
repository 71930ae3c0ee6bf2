"""Importers from other people's formats, a file each: ``import_corpus(src, options) -> CorpusBuild``.

From the ground up: `reading` (what importers share); `chat` (with the room `chats`), `media`, `uss`, `conture`,
`esconv`, `convokit` (with `convokit_utterances`), `soda`, `sotopia`, `casino`, and `candor` and `dealornodeal` (a room
each); `registry` (an importer found by name, its corpus written), `recognise` (which importer reads a file).
"""

from apportion.corpus.importers.registry import import_to
from apportion.corpus.writer import ImportReport

__all__ = ["ImportReport", "import_to"]
