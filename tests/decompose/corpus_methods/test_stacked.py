"""The methods `reaction-llm` and `mix`: which sources a run has, and what is made of them."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest

from apportion.corpus.schema import EPISODE_KEY, REWARDS, TURN_LABELS
from apportion.corpus.session import Episode
from apportion.corpus.splits.splits import SplitEpisodes
from apportion.decompose.corpus_methods import stacked
from apportion.decompose.corpus_methods.fit import fit_decomposer
from apportion.decompose.corpus_methods.stacked import pretrained_component, sources_of
from apportion.decompose.corpus_methods.trained_network import TrainingConfig, TrainingData
from apportion.decompose.ensembling.component import standardised
from apportion.decompose.method import Section
from apportion.decompose.methods import METHODS
from apportion.decompose.reactions.extract import arrange
from apportion.decompose.reactions.pretrained import TrainingProvenance, write_prior
from apportion.decompose.reactions.transfer import PooledCorpora, PriorProvenance, learn_prior
from apportion.decompose.settings import DecomposeSettings, ReactionSettings
from apportion.foundation.errors import InputError, UnitError
from tests.decompose.reactions.test_model import reacted, table_of
from tests.decompose.sessions import features
from tests.reward_model.tiny import ignore, small, splits_of

EPISODES, FELT = reacted(60)
READ = table_of(EPISODES, FELT)
RNG = np.random.default_rng(5)
OFFSETS = np.cumsum([0, *(len(e.target_turns) for e in EPISODES)])


def judgements(method: str, values: list[float | None], episodes: list[Episode] = EPISODES) -> pa.Table:
    keys = [(*e.key, turn) for e in episodes for turn in e.target_turns]
    rows = [
        {**dict(zip((*EPISODE_KEY, "turn"), key, strict=True)), "method": method, "seed": 0, "raw_reward": value}
        for key, value in zip(keys, values, strict=False)
    ]
    return pa.Table.from_pylist(rows, schema=REWARDS.arrow)


def knowing(noise: float = 1.0) -> list[float | None]:
    return (np.array(FELT) + noise * RNG.normal(size=len(FELT))).tolist()


LLM = judgements("llm", knowing(0.3))


def fitted(
    method: str,
    judged: pa.Table | None = LLM,
    episodes: list[Episode] = EPISODES,
    read: pa.Table | None = READ,
    features: pa.Table | None = None,
    labels: pa.Table | None = None,
    **settings: Any,
) -> tuple[pa.Table, dict[str, dict[str, Any]]]:
    given = {
        "method": "mix",
        "compare": ("llm", "sentiment", "reaction", "reaction-llm"),
        "llm": {"prompt": "blind"},
        **settings,
    }
    how = TrainingConfig(DecomposeSettings.model_validate(given), small(), 3)
    data = TrainingData(
        SplitEpisodes(episodes, splits_of(episodes)),
        reactions=read,
        judgements=judged,
        features=features,
        labels=labels,
    )
    found = fit_decomposer(method, data, how, ignore)
    assert found.sources is not None
    return found.judgements, {row["source"]: row for row in found.sources.to_pylist()}


def of_first(table: pa.Table) -> list[float | None]:
    return [row["raw_reward"] for row in table.to_pylist() if row["session_id"] == EPISODES[0].session_id]


def test_the_weight_of_a_blend_can_be_set_and_each_end_is_one_source() -> None:
    turns = slice(0, int(OFFSETS[1]))
    alone = fit_decomposer(
        "reaction", TrainingData(SplitEpisodes(EPISODES, splits_of(EPISODES)), reactions=READ),
        TrainingConfig(DecomposeSettings(), small(), 0), ignore,
    ).judgements["raw_reward"].to_pylist()[turns]  # fmt: skip
    ours = standardised(np.array([math.nan if value is None else value for value in alone]))
    theirs = standardised(np.array(LLM["raw_reward"].to_pylist()[turns]))
    for weight in (0.0, 0.25, 1.0):
        found, sources = fitted("reaction-llm", stack_two={"weight": weight})
        expected = (1 - weight) * ours + weight * theirs
        known = [(a, b) for a, b in zip(of_first(found), expected, strict=True) if a is not None]
        assert len(known) >= len(expected) - 1
        assert [a for a, _ in known] == pytest.approx([b for _, b in known])
        assert (sources["llm"]["weight"], sources["llm"]["reason"]) == (weight, "set in the configuration")


def test_the_weights_of_a_blend_come_from_training_scores() -> None:
    _, sources = fitted("reaction-llm")
    assert sources.keys() == {"reaction", "llm"}
    assert sum(row["weight"] for row in sources.values()) == pytest.approx(1.0)
    assert all(row["weight"] > 0.1 for row in sources.values())
    # What is judged of sessions that are not trained on moves nothing.
    train = set(splits_of(EPISODES).filter(pa.compute.field("split") == "train")["session_id"].to_pylist())
    turned = [-row["raw_reward"] if row["session_id"] not in train else row["raw_reward"] for row in LLM.to_pylist()]
    _, again = fitted("reaction-llm", judgements("llm", turned))
    assert {n: row["explained"] for n, row in again.items()} == {n: row["explained"] for n, row in sources.items()}


def test_a_rating_of_quality_leaves_a_blend_to_the_language_model() -> None:
    overall = [replace(e, rating=replace(e.rating, name="overall")) for e in EPISODES]
    read = table_of(overall, FELT)
    judged = judgements("llm", LLM["raw_reward"].to_pylist(), overall)
    _, sources = fitted("reaction-llm", judged, overall, read)
    assert (sources["reaction"]["weight"], sources["llm"]["weight"]) == (0.0, 1.0)
    assert "quality" in sources["reaction"]["reason"]
    _, sources = fitted("mix", judged, overall, read, stacking={"skip_reply_only": False})
    assert sources["reaction"]["weight"] > 0.1


@pytest.mark.parametrize(("prompt", "shown"), [("default", True), ("blind", False)])
def test_a_prompt_that_shows_the_score_makes_a_source_that_was_shown_it(prompt: str, shown: bool) -> None:
    _, sources = fitted("mix", llm={"prompt": prompt})
    assert ("was shown the score" in sources["llm"]["reason"]) is shown


@pytest.mark.parametrize(("prompt", "null"), [("blind", "mean"), ("paper", "zero")])
def test_a_null_of_the_judge_counts_as_it_does_in_rewards(prompt: str, null: Literal["mean", "zero"]) -> None:
    values = knowing()
    nothing = [None if i == 1 else value for i, value in enumerate(values)]
    own = [value for i, value in enumerate(values[: int(OFFSETS[1])]) if i != 1]
    counts_as = float(np.mean([value for value in own if value is not None])) if null == "mean" else 0.0
    instead = [counts_as if i == 1 else value for i, value in enumerate(values)]
    found, other = (
        fitted("mix", judgements("llm", of), llm={"prompt": prompt}, stacking={"weights": {"llm": 1.0}})[0]
        for of in (nothing, instead)
    )
    assert of_first(found) == pytest.approx(of_first(other))


def test_a_mix_is_made_of_all_that_the_run_has() -> None:
    judged = pa.concat_tables([LLM, judgements("sentiment", knowing(2.0))])
    _, sources = fitted("mix", judged)
    assert list(sources) == ["reaction", "llm-student", "llm", "sentiment"]
    _, sources = fitted("mix", None)
    assert list(sources) == ["reaction"]
    _, sources = fitted("mix", judged, stacking={"components": ("sentiment", "llm")})
    assert list(sources) == ["sentiment", "llm"]
    found, sources = fitted("mix", judged, read=None)
    assert list(sources) == ["llm", "sentiment"] and found.num_rows == len(FELT)


def test_people_s_labels_of_training_sessions_are_a_source_and_too_few_are_told() -> None:
    train = SplitEpisodes(EPISODES, splits_of(EPISODES)).of("train")
    felt = {e.key: FELT[a:b] for e, a, b in zip(EPISODES, OFFSETS[:-1], OFFSETS[1:], strict=True)}

    def of_people(count: int) -> pa.Table:
        rows = [
            {"session_id": e.session_id, "turn": turn, "name": "landing", "value": value}
            for e in train[:count]
            for turn, value in zip(e.target_turns, felt[e.key], strict=True)
        ]
        return pa.Table.from_pylist(rows, schema=TURN_LABELS.arrow)

    few = {"stacking": {"components": ("people-student", "sentiment")}}
    _, sources = fitted("mix", judgements("sentiment", knowing(2.0)), labels=of_people(12), **few)
    assert list(sources) == ["people-student", "sentiment"] and sources["people-student"]["weight"] > 0.5
    assert "labels of 12 sessions" in sources["people-student"]["reason"]
    for count in (0, 2):
        _, sources = fitted("mix", None, labels=of_people(count))
        assert {name: row["weight"] for name, row in sources.items()} == {"reaction": 1.0, "people-student": 0.0}
        assert f"and there are {count}. Label more: `apportion label serve" in sources["people-student"]["reason"]
    _, sources = fitted("mix", None, labels=of_people(12), stacking={"components": ("reaction",)})
    assert list(sources) == ["reaction"]


def test_what_the_rater_did_is_a_source_by_itself() -> None:
    smiles = features(*(
        (e.session_id, turn, e.rating.rater, "reply", "smile", FELT[int(OFFSETS[i]) + j] if j else None)
        for i, e in enumerate(EPISODES) for j, turn in enumerate(e.target_turns)
    ))  # fmt: skip
    _, sources = fitted("mix", None, features=smiles)
    assert sources["behaviour"]["explained"] > 0.5
    how = TrainingConfig(DecomposeSettings(), small(), 0)
    data = TrainingData(SplitEpisodes(EPISODES, splits_of(EPISODES)), reactions=READ, features=smiles)
    (behaviour,) = sources_of(("behaviour",), data, how)
    assert behaviour.reads_replies and math.isnan(behaviour.values[EPISODES[0].key][0])
    values = np.concatenate([behaviour.values[e.key] for e in EPISODES])
    measured = np.isfinite(values)
    assert np.corrcoef(values[measured], np.array(FELT)[measured])[0, 1] == pytest.approx(1.0)


def test_the_student_that_ships_is_a_source_where_replies_are_read_as_it_needs() -> None:
    wide = padded(READ, 384)
    data = TrainingData(SplitEpisodes(EPISODES, splits_of(EPISODES)), reactions=wide)
    (found,) = sources_of(("reactions-en",), data, TrainingConfig(DecomposeSettings(), small(), 0))
    assert (found.name, found.trust, found.learnt, found.reads_replies) == ("reactions-en", 440 / 540, None, True)
    assert list(fitted("mix", None, read=wide)[1]) == ["reaction", "reactions-en"]
    # Of another width, or read otherwise, they are none of its business; a run of defaults goes on without it.
    assert list(fitted("mix", None)[1]) == ["reaction"]
    otherwise = {"reaction": {"max_tokens": 64}}
    assert list(fitted("mix", None, read=wide, **otherwise)[1]) == ["reaction"]


def test_a_broken_file_of_the_student_that_ships_is_told_and_not_left_out(tmp_path: Path, monkeypatch) -> None:
    broken = tmp_path / "reactions-en.safetensors"
    broken.write_bytes(b"half a file")
    shipped = replace(METHODS["reactions-en"], section=Section("reaction", (("pretrained", broken),)))
    monkeypatch.setattr(stacked, "METHODS", {**METHODS, "reactions-en": shipped})
    with pytest.raises(InputError, match=r"reactions-en\.safetensors.*not a readable safetensors file"):
        fitted("mix", None, read=padded(READ, 384))


def padded(read: pa.Table, width: int) -> pa.Table:
    """The same replies, their embeddings followed by zeros."""
    rows = [[*of, *[0.0] * (width - len(of))] for of in read["embedding"].to_pylist()]
    embeddings = pa.array(rows, pa.list_(pa.float32(), width))
    return read.set_column(read.column_names.index("embedding"), "embedding", embeddings)


def test_without_what_a_blend_is_made_of_the_cause_is_looked_up() -> None:
    with pytest.raises(UnitError, match="'reaction-llm': llm has judged no session"):
        fitted("reaction-llm", None)
    with pytest.raises(UnitError, match="'reaction-llm': no reaction was read of any session"):
        fitted("reaction-llm", read=None)
    with pytest.raises(UnitError, match=r"'mix': no source \(none\) knows any session"):
        fitted("mix", None, read=None)


def test_what_other_corpora_taught_is_a_source_where_it_is_named(tmp_path: Path) -> None:
    others, felt = reacted(80)
    about = TrainingProvenance(corpus="other", sessions=len(others), turns=len(felt))
    taught = learn_prior(
        [PooledCorpora(arrange(table_of(others, felt), others), about)], ReactionSettings(), PriorProvenance("o", "CC0")
    )
    write_prior(tmp_path / "o.safetensors", taught)
    named = {"reaction": {"pretrained": tmp_path / "o.safetensors"}, "stacking": {"components": ("reaction", "prior")}}
    found, sources = fitted("mix", None, **named)
    assert sources.keys() == {"reaction", "prior"} and sources["prior"]["weight"] > 0.05
    prior = pretrained_component("prior", taught, arrange(READ, EPISODES))
    assert prior.trust == 80 / 180 and prior.learnt is None
    silent = sum(not e.reply_positions(p) for e in EPISODES for p in e.target_positions)
    assert found["raw_reward"].null_count == silent
    assert fitted("mix", None, stacking={"components": ("reaction", "prior")})[1].keys() == {"reaction"}
    # With a few scores what was learnt elsewhere stands nearly alone.
    few = EPISODES[:6]
    turns = sum(len(e.target_turns) for e in few)
    _, alone = fitted("mix", None, few, table_of(few, FELT[:turns]), **named)
    assert alone["reaction"]["weight"] < 0.2 < sources["reaction"]["weight"]
