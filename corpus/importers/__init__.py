"""Importers from other people's formats, one file each: ``import_corpus(src, options) -> NewCorpus``."""

from corpus.importers.run import ImportReport, import_to

__all__ = ["ImportReport", "import_to"]
