"""Claim: sources of turn values mixed by left-out session scores are no worse than the best of them.

Run: python -m benchmarks.sources ../shared/data/uss/SGD.txt.gz --judged benchmarks/judged/SGD.jsonl

Five folds over sessions: what learns from scores, and what each source weighs, is taught by four of them and judged on
the fifth. Within-session Spearman with the mean human turn rating over the sessions with at least 4 labelled turns
whose labels differ. ``--judged`` names recorded replies of a language model; then the figures are told of all sessions
and of the judged ones. ``--corpus`` is the importer, ``--read FOLDER`` keeps what was read of the replies, ``--curve``
tells agreement by how many scored sessions teach. Labels enter the evaluation alone.
"""

from __future__ import annotations

import argparse
import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather

from apportion.corpus.corpus import Corpus
from apportion.corpus.importers import conture, esconv, uss
from apportion.corpus.schema import EPISODE_KEY, REWARDS, SPLITS
from apportion.corpus.session import Episode, Session
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.corpus_methods.stacked import sources_of
from apportion.decompose.corpus_methods.trained_network import TrainingConfig, TrainingData
from apportion.decompose.ensembling.stacking import StackingWeights, mixed, weigh
from apportion.decompose.methods import METHODS
from apportion.decompose.prompt_building.prompt import tells_quality
from apportion.decompose.reactions.extract import arrange, read_session
from apportion.decompose.reply_parsing import parse_reply
from apportion.decompose.session_methods.llm_requests import session_requests
from apportion.decompose.session_methods.sentiment import judge as sentiment
from apportion.decompose.settings import DecomposeSettings, ReactionSettings
from apportion.evaluation.confidence_intervals.bootstrap import estimate, paired_difference
from apportion.evaluation.figures.agreement import within_session
from apportion.evaluation.references.test_set import TestSet
from apportion.evaluation.references.turn_labels import read_labels
from apportion.evaluation.settings import EvaluationSettings
from apportion.foundation.arrays import Floats
from apportion.llm_client.cache.recorded import RecordedReplies
from apportion.llm_client.request import ChatRequest
from apportion.llm_client.session import LLMSession
from apportion.llm_client.settings import LLMSettings
from apportion.reward_model.settings import RewardModelSettings
from benchmarks.measure import tell

JUDGED = Path(__file__).resolve().parent / "judged"
CORPORA = {
    "SGD": (uss.import_corpus, "uss/SGD.txt.gz", uss.NAME),
    "ReDial": (uss.import_corpus, "uss/ReDial.txt.gz", uss.NAME),
    "ConTurE": (conture.import_corpus, "conture/data.json.gz", "overall"),
}
"""By name: importer, file below shared/data, rating; recorded judgements of 60 sessions of each lie in `JUDGED`."""
KINDS = {
    "uss": (uss.import_corpus, uss.NAME),
    "conture": (conture.import_corpus, "overall"),
    "esconv": (esconv.import_corpus, "empathy"),
}
DRAWS, COUNTS = 4, (15, 60, 120, 240, 400)
FOLDS = 5
ALL, LOCAL = "mix of all", "mix without a language model"


def folds_of(session_ids: list[str]) -> dict[str, int]:
    """A fold for every session, by a hash of its id."""
    ranked = sorted(session_ids, key=lambda session_id: hashlib.sha256(f"fold{session_id}".encode()).digest())
    return {session_id: place % FOLDS for place, session_id in enumerate(ranked)}


def read_replies(sessions: Iterable[Session], rating: str, kept: Path | None) -> pa.Table:
    """The reactions of all sessions, by the default settings: out of the file ``kept``, or into it."""
    if kept is not None and kept.is_file():
        return feather.read_table(kept)
    table = pa.concat_tables([read_session(session, rating, ReactionSettings()) for session in sessions])
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        feather.write_feather(table, str(kept))
    return table


def judgements(method: str, episodes: Sequence[Episode], values: Mapping[str, Sequence[float | None]]) -> pa.Table:
    """A REWARDS table of what was judged, by session."""
    rows = [
        {**dict(zip((*EPISODE_KEY, "turn"), (*e.key, turn), strict=True)), "method": method, "seed": 0, "raw_reward": v}
        for e in episodes
        if e.session_id in values
        for turn, v in zip(e.target_turns, values[e.session_id], strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=REWARDS.arrow)


def request(session: Session, name: str, prompt: str) -> tuple[ChatRequest, tuple[int, ...]]:
    """What is asked about a session in the words of a prompt, and for which turns."""
    plain = DecomposeSettings()
    llm = plain.llm.model_copy(update={"model": "claude", "prompt": prompt})
    settings = plain.model_copy(update={"llm": llm})
    ((asked, meta),) = session_requests(METHODS["llm"], session, name, None, settings)
    return asked, meta.turns


def recorded(path: Path, sessions: Mapping[str, Session], rating: str, prompt: str) -> dict[str, list[float | None]]:
    """What the language model said of each session that it was asked about in this wording."""
    replies, found = RecordedReplies(path), {}
    for session_id, session in sessions.items():
        asked, turns = request(session, rating, prompt)
        reply = replies.find(asked)
        if reply is not None:
            found[session_id] = [answer.value for answer in parse_reply(reply.text, turns, -5, 5)]
    return found


def taught_by(data: TrainingData, training: frozenset[str]) -> TrainingData:
    """The same lessons, taught by these sessions."""
    ids = sorted({episode.session_id for episode in data.episodes.all})
    rows = [{"session_id": s, "split": "train" if s in training else "test"} for s in ids]
    splits = pa.Table.from_pylist(rows, schema=SPLITS.arrow)
    return replace(data, episodes=SplitEpisodes(data.episodes.all, splits))


class Told:
    """The values of each source and mix on the sessions that had not taught them, and the weights of each fold."""

    def __init__(self, episodes: Sequence[Episode]) -> None:
        self.episodes = episodes
        self.sizes = [len(e.target_turns) for e in episodes]
        self.values: dict[str, list[Floats]] = {}
        self.known: dict[str, list[bool]] = {}
        self.weights: dict[str, list[StackingWeights]] = {}

    def add(self, name: str, place: int, values: Floats | None) -> None:
        """Values of one episode; None where nothing is known of it."""
        column = self.values.setdefault(name, [np.zeros(size) for size in self.sizes])
        self.known.setdefault(name, [False] * len(self.sizes))[place] = values is not None
        if values is not None:
            column[place] = np.where(
                np.isfinite(values), values, np.nanmean(values) if np.isfinite(values).any() else 0
            )


def tell_folds(
    data: TrainingData, how: TrainingConfig, of_quality: bool, trainings: Sequence[frozenset[str]] = ()
) -> Told:
    """Weigh and mix by each set of training sessions and judge all others; by four folds of five without any set."""
    told = Told(data.episodes.all)
    folds = folds_of([episode.session_id for episode in told.episodes])
    four = [frozenset(s for s, of in folds.items() if of != fold) for fold in range(FOLDS)]
    for training in trainings or four:
        taught = taught_by(data, training)
        sources = sources_of(how.settings.stacking.components, taught, how)
        local = [source for source in sources if not source.name.startswith("llm")]
        for name, mixes in {ALL: sources, LOCAL: local}.items():
            weighing = weigh(mixes, taught.episodes.of("train"), of_quality=of_quality, episodes=taught.episodes.all)
            told.weights.setdefault(name, []).append(weighing)
            weights_of = cache(weighing.of)
            for place, episode in enumerate(told.episodes):
                if episode.session_id not in training:
                    told.add(name, place, mixed(mixes, weights_of, episode))
        for source in sources:
            for place, episode in enumerate(told.episodes):
                if episode.session_id not in training:
                    told.add(source.name, place, source.values[episode.key] if source.knows(episode.key) else None)
    return told


def tell_figures(told: Told, corpus: Corpus, of: str, wanted: Sequence[bool]) -> None:
    """Agreement of every source and mix with people on the wanted sessions, and each mix less each source."""
    kept = [place for place, is_wanted in enumerate(wanted) if is_wanted]
    held, how = TestSet.of([told.episodes[place] for place in kept]), EvaluationSettings()
    labels = read_labels(corpus.turn_labels, held, how)
    found = {
        name: within_session(held, np.concatenate([values[place] for place in kept])[None], labels, how)
        for name, values in told.values.items()
    }
    for name, sampled in found.items():
        figure = estimate(sampled, 0.95)
        mixes = [mix for mix in found if mix in (ALL, LOCAL)]
        less = {f"{mix}_less_this": [estimate(paired_difference(found[mix], sampled), 0.95)] for mix in mixes}
        tell(
            f"{of}: within-session Spearman, {name}", figure.value, "rho", interval=[figure.low, figure.high],
            sessions=figure.sessions, **{key: [d.value, d.low, d.high] for key, (d,) in less.items()},
        )  # fmt: skip


def tell_weights(told: Told, of: str) -> None:
    """What each source weighs on average over the folds, and the first fold's interval and reason."""
    for name, weighings in told.weights.items():
        for place, first in enumerate(weighings[0].weights):
            weight = float(np.mean([weighing.weights[place].weight for weighing in weighings]))
            tell(
                f"{of}: weight in the {name}, {first.source}", weight, "", interval=[first.low, first.high],
                explained=round(first.predicted.explained, 3), explained_interval=first.predicted.interval,
                sessions=first.predicted.sessions, why=first.why,
            )  # fmt: skip


def tell_curve(told_by: Callable[[Sequence[frozenset[str]]], Told], corpus: Corpus, of: str) -> None:
    """Agreement by how many scored sessions teach: the mean of four draws, judged on all others, and of five folds."""
    how, shown = EvaluationSettings(), ("reaction", ALL, "reactions-en", "sentiment")
    everything = told_by([])
    ids = [episode.session_id for episode in everything.episodes]
    least, at = math.inf, ""
    for count in (*COUNTS, len(ids)):
        figures: list[list[float]] = []
        for draw in range(DRAWS if count < len(ids) else 1):
            ranked = sorted(set(ids), key=lambda one: hashlib.sha256(f"draw{draw}{one}".encode()).digest())
            taught = frozenset(ranked[:count]) if count < len(ids) else frozenset()
            told = told_by([taught]) if taught else everything
            kept = [place for place, session_id in enumerate(ids) if session_id not in taught]
            held = TestSet.of([told.episodes[place] for place in kept])
            labels = read_labels(corpus.turn_labels, held, how)
            values = [np.concatenate([told.values[name][place] for place in kept])[None] for name in shown]
            figures.append([estimate(within_session(held, one, labels, how), 0.95).value or 0.0 for one in values])
        found = dict(zip(shown, np.mean(figures, axis=0).tolist(), strict=True))
        name = str(count) if count < len(ids) else "all"
        tell(f"{of}: scored sessions, {name}", found[ALL], "rho", **{k: round(v, 4) for k, v in found.items()})
        less = found[ALL] - max(found["reactions-en"], found["sentiment"])
        least, at = min((least, at), (less, name))
    tell(f"{of}: mix less the better of reactions-en and sentiment, at its least", least, "rho", sessions=at)


def main(given: argparse.Namespace, source: Path) -> None:
    """Print weights and figures of one corpus."""
    import_corpus, rating = KINDS[given.corpus]
    corpus = Corpus.of(source.parent, import_corpus(source, {}).tables)
    sessions = {session.session_id: session for session in corpus.iter_sessions()}
    of = source.name.split(".")[0] if given.corpus == "uss" else given.corpus
    episodes = [episode for session in sessions.values() for episode in session.episodes(rating)]
    settings = DecomposeSettings.model_validate({"llm": {"prompt": given.prompt, "model": "claude"}})
    how = TrainingConfig(settings, RewardModelSettings(), 0)
    table = read_replies(sessions.values(), rating, given.read and given.read / f"{source.name.split('.')[0]}.feather")
    reactions = arrange(table, episodes)
    with LLMSession(LLMSettings()) as asker:
        said = {e.session_id: [j.value for j in sentiment(e, None, settings, asker)] for e in reactions.episodes}
    judged = recorded(given.judged, sessions, rating, given.prompt) if given.judged else {}
    tables = [judgements("sentiment", reactions.episodes, said), judgements("llm", reactions.episodes, judged)]
    none = SPLITS.arrow.empty_table()
    data = TrainingData(SplitEpisodes(reactions.episodes, none), reactions=table, judgements=pa.concat_tables(tables))
    told_by = partial(tell_folds, data, how, tells_quality(rating))
    if given.curve:
        tell_curve(told_by, corpus, of)
        return
    told = told_by()
    tell_weights(told, of)
    show = partial(tell_figures, told, corpus)
    show(of, [True] * len(told.episodes))
    if judged:
        show(f"{of}, the {len(judged)} judged by {given.prompt!r}", [e.session_id in judged for e in told.episodes])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path, nargs="+")
    parser.add_argument("--corpus", choices=tuple(KINDS), default="uss")
    parser.add_argument("--judged", type=Path, help="recorded replies of a language model")
    parser.add_argument("--prompt", choices=("default", "blind"), default="blind", help="the wording they answer")
    parser.add_argument("--read", type=Path, help="a folder that keeps what was read of the replies")
    parser.add_argument("--curve", action="store_true", help="agreement by how many scored sessions teach")
    for file in parser.parse_args().sources:
        main(parser.parse_args(), file)
