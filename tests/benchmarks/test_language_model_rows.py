"""The recorded judgements of real dialogues: whole, without a word of the dialogues, and found by today's requests."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from apportion.corpus.corpus import Corpus
from apportion.decompose.methods import METHODS
from apportion.decompose.session_methods.llm_requests import session_requests
from apportion.evaluation.confidence_intervals.bootstrap import estimate
from apportion.evaluation.figures.agreement import within_session
from apportion.evaluation.references.test_set import TestSet
from apportion.evaluation.references.turn_labels import read_labels
from apportion.evaluation.settings import EvaluationSettings
from apportion.llm_client.cache.recorded import RecordedReplies, read_header
from apportion.pipeline.config import load_config
from benchmarks import language_model_rows as rows
from tests.behaviour.command import ROOT
from tests.decompose.sessions import session
from tests.shared import shared


@cache
def corpus_of(name: str) -> tuple[Corpus, str]:
    """A real corpus, imported once a process, and its rating."""
    read, file, rating = rows.CORPORA[name]
    path = shared(f"data/{file}")
    return Corpus.of(path.parent, read(path, {}).tables), rating


@pytest.mark.parametrize("name", sorted(rows.CORPORA))
def test_120_replies_hold_values_and_nothing_else(name: str) -> None:
    path = rows.JUDGED / f"{name}.jsonl"
    header = read_header(path)
    assert (header.model, header.date) == ("Claude (Anthropic)", "2026-11-23")
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    assert len({entry["key"] for entry in entries}) == len(entries) == 2 * rows.COUNT
    for entry in entries:
        for turn in json.loads(entry["reply"])["turns"]:
            assert set(turn) == {"turn", "value", "evidence"} and turn["evidence"] is None
            assert turn["value"] is None or -5 <= turn["value"] <= 5


def test_today_s_requests_find_them() -> None:
    corpus, rating = corpus_of("ConTurE")
    sessions = {session.session_id: session for session in corpus.iter_sessions()}
    replies = RecordedReplies(rows.JUDGED / "ConTurE.jsonl")
    for session_id in rows.chosen(list(sessions)):
        for prompt in rows.PROMPTS:
            values = rows.judged(sessions[session_id], rating, prompt, replies)
            _, turns = rows.request(sessions[session_id], rating, prompt)
            assert np.isfinite(values).all() and len(values) == len(turns)


@pytest.mark.parametrize("name", sorted(rows.CORPORA))
def test_the_list_of_the_judged_sessions_is_the_draw(name: str) -> None:
    listed = (rows.JUDGED / f"{name}.sessions.txt").read_text(encoding="utf-8").split()
    assert listed == rows.chosen(corpus_of(name)[0].session_ids())


DOCUMENTED = dict(zip(("SGD", "ReDial", "ConTurE"), range(3), strict=True))
"""The columns of the table in docs/reproduction.md."""


@pytest.mark.slow
@pytest.mark.parametrize("prompt", rows.PROMPTS)
@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_documented_agreement_is_that_of_the_recording(name: str, prompt: str) -> None:
    corpus, rating = corpus_of(name)
    sessions = {session_id: corpus.session(session_id) for session_id in rows.chosen(corpus.session_ids())}
    held, how = TestSet.of([e for session in sessions.values() for e in session.episodes(rating)]), EvaluationSettings()
    replies = RecordedReplies(rows.JUDGED / f"{name}.jsonl")
    values = [rows.judged(sessions[episode.session_id], rating, prompt, replies) for episode in held.episodes]
    labels = read_labels(corpus.turn_labels, held, how)
    found = estimate(within_session(held, np.concatenate(values)[None], labels, how), 0.95)
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    cell = page.split(f"| `llm`, `{prompt}` | ")[1].splitlines()[0].split(" | ")[DOCUMENTED[name]].removesuffix(" |")
    assert cell == f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


def test_a_session_without_a_reply_is_named(tmp_path) -> None:
    path = tmp_path / "none.jsonl"
    path.write_text((rows.JUDGED / "SGD.jsonl").read_text(encoding="utf-8").splitlines()[0] + "\n")
    with pytest.raises(SystemExit, match=r"session .*, blind: no recorded reply"):
        rows.judged(session(), "satisfaction", "blind", RecordedReplies(path))


def test_a_mix_is_the_mean_of_what_each_says_within_a_dialogue() -> None:
    one, other = np.array([1.0, 3.0, 5.0, 5.0]), np.array([0.0, 0.0, 2.0, 4.0])
    np.testing.assert_allclose(rows.mixed(one, other, [2, 2]), [-0.5, 0.5, -0.5, 0.5])


def test_the_sessions_are_drawn_by_their_ids_alone() -> None:
    ids = [f"s{n}" for n in range(100)]
    assert rows.chosen(ids) == rows.chosen(ids[::-1]) and len(set(rows.chosen(ids))) == rows.COUNT


@pytest.mark.parametrize("name", sorted(rows.CORPORA))
def test_the_configuration_of_the_benchmark_asks_what_was_recorded(name: str) -> None:
    config = load_config(rows.JUDGED / f"{name}.toml")
    rating = rows.CORPORA[name][2]
    assert (config.run.recorded, config.rating) == (rows.JUDGED / f"{name}.jsonl", rating)
    one = replace(session(), ratings=tuple(replace(of, name=rating) for of in session().ratings))
    for prompt in rows.PROMPTS:
        llm = config.decompose.llm.model_copy(update={"prompt": prompt})
        settings = config.decompose.model_copy(update={"llm": llm})
        ((asked, _),) = session_requests(METHODS["llm"], one, rating, None, settings)
        assert asked.key() == rows.request(one, rating, prompt)[0].key()
