"""Short ways to import a made-up CANDOR and to look at what came of it."""

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers import import_to
from apportion.corpus.importers.candor.importer import import_corpus

PLAIN = {"media": "none"}
CLIFFHANGER = "transcription/transcript_cliffhanger.csv"


def opened(src, options=PLAIN):
    """The result of an import, as (report, corpus)."""
    out = src.parent / "corpus"
    report = import_to("candor", src, out, options, overwrite=True)
    return report, Corpus.open(out)


def left_out(src, options=PLAIN):
    return [str(item) for item in import_corpus(src, options).left_out]


def noted(src, options=PLAIN):
    return "\n".join(import_corpus(src, options).notes)


def with_cell(column, value, row=2):
    """A change for `candor_tree.rewrite`: one cell."""

    def change(rows):
        rows[row][column] = value

    return change
