"""Small corpora of rated episodes, made by hand."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from apportion.corpus.builder import CorpusRows
from apportion.corpus.corpus import Corpus
from apportion.corpus.session import ENVIRONMENT
from apportion.corpus.sotopia_eval import RANGES
from apportion.environments.sotopia.reports.raters import RatedEpisodes, ReportChoice, read_rated
from apportion.foundation.intervals.resampling import Sampling

SAMPLING = Sampling(resamples=200)
NAMES = ("Ann", "Bob")
Scores = Mapping[str, Mapping[str, float]]


class Made:
    """Collects episodes; ``write`` makes a corpus of them."""

    def __init__(self) -> None:
        self.rows = CorpusRows()
        self.count = 0

    def episode(
        self,
        agents: tuple[str, str] = ("m1", "m2"),
        scores: tuple[Scores, Scores] = ({}, {}),
        *,
        scenario: str = "A park.",
        texts: Iterable[str] = ("Hello there.", "Hi."),
        session: str | None = None,
    ) -> None:
        """Two parts, each with the scores of annotators by dimension."""
        session = session or f"e{self.count}"
        self.count += 1
        played = "not named" if agents == ("", "") else " and ".join(agents)
        self.rows.session(session, f"simulated: sotopia, agents {played}, judge some", language="en")
        for turn, text in enumerate(texts):
            self.rows.utterance(session, turn, NAMES[turn % 2], text)
        self.rows.background(session, "scenario", scenario)
        for name, by_annotator in zip(NAMES, scores, strict=True):
            self.rows.background(session, "goal", f"What {name} wants", name)
            for annotator, given in by_annotator.items():
                for dimension, score in given.items():
                    scale = RANGES[dimension]
                    self.rows.rating(session, (ENVIRONMENT, name), dimension, score, scale, annotator=annotator)

    def write(self, folder: Path) -> Path:
        Corpus.of(folder, self.rows.tables()).write(folder)
        return folder


def read(folder: Path, *people: str, **choice: object) -> RatedEpisodes:
    return read_rated(ReportChoice((folder,), people=people, **choice))  # type: ignore[arg-type]


def every(value: float) -> dict[str, float]:
    """All seven dimensions at a share of their range."""
    return {dimension: low + (high - low) * value for dimension, (low, high) in RANGES.items()}
