"""The stage `evaluate`: the rewards and the reward models, judged on sessions that nothing has learned from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from apportion.corpus.schema import EPISODE_KEY
from apportion.corpus.session import Episode, EpisodeKey, Session
from apportion.corpus.targets import is_anyone_rated
from apportion.decompose.method import MixedObjective
from apportion.decompose.methods import METHODS
from apportion.decompose.reward_models import direct_notes, taught_by
from apportion.pipeline.config import Config
from apportion.pipeline.engine.plan import NO_SCORE
from apportion.pipeline.engine.stage import Inputs, Outputs, Stage, Unit, Work
from apportion.pipeline.stages.shared import name_of

if TYPE_CHECKING:
    import pyarrow as pa

    from apportion.corpus.splits.splits import SplitEpisodes
    from apportion.evaluation.confidence_intervals.bootstrap import Missing
    from apportion.evaluation.figures.global_loss import Residuals
    from apportion.evaluation.inputs import TurnValues, Unjudged
    from apportion.reward_model.settings import Scoring


def _evaluate(inputs: Inputs, config: Config, work: Work) -> Outputs:
    """Every method's rewards and scores to the evaluation."""
    from apportion.decompose.caveats import longest_episode, method_notes, own_units
    from apportion.evaluation.evaluate import evaluate
    from apportion.evaluation.inputs import Evidence, MethodRemarks, MethodValues

    episodes = _asked_for(inputs.split_episodes(config.rating), config)
    values = MethodValues(
        scores=inputs.required("train-reward", "scores"),
        rewards=inputs.required("rewards", "rewards"),
        offsets=_offsets(inputs),
        samples=inputs.table("rewards", "samples"),
        residuals=_residuals(inputs),
    )
    evidence = Evidence(
        utterance_features=inputs.table("features", "utterance_features"),
        turn_labels=inputs.turn_labels,
        frames=_emotions(inputs) if config.evaluate.happiness_source == "mode" else None,
        **_controls(inputs, config, episodes, values.scores),
    )
    remarks = MethodRemarks(
        own_units=own_units(config.decompose),
        notes=(*method_notes(config.decompose, longest_episode(episodes.all)), *direct_notes(values.offsets)),
        unjudged=_unjudged(inputs),
        unjudged_locally=_unjudged_locally(inputs, config, episodes.all),
    )
    evaluation = evaluate(values, episodes, evidence, config.evaluate, remarks)
    return Outputs(documents={"evaluation": evaluation.to_json()})


def _asked_for(episodes: SplitEpisodes, config: Config) -> SplitEpisodes:
    """The same without test sessions that the run is not about: nobody lacks them. All where none of its own is one."""
    from apportion.corpus.splits.splits import SplitEpisodes

    test, named = episodes.sessions("test"), frozenset(config.run.sessions or ())
    if not test & named:
        return episodes
    kept = [episode for episode in episodes.all if episode.session_id not in test - named]
    return SplitEpisodes(kept, episodes.splits)


def _residuals(inputs: Inputs) -> Residuals:
    """What is missing from the sums of values that are in units of the score, one mapping a seed."""
    found: dict[str, list[dict[EpisodeKey, float]]] = {}
    for unit, artifact in sorted(inputs.upstream["rewards"].items()):
        projection = artifact.document("projection")
        if projection["rule"] not in ("spread", "share", "soft share"):
            rows = projection["residuals"]
            of_seed = {(r["session_id"], r["rater"], r["target"], r["name"]): float(r["residual"]) for r in rows}
            found.setdefault(name_of(unit), []).append(of_seed)
    return found


def _unjudged(inputs: Inputs) -> Unjudged:
    """The episodes that gave a method nothing to judge by."""
    found: dict[str, set[EpisodeKey]] = {}
    for unit, artifact in inputs.upstream["rewards"].items():
        of_method = found.setdefault(name_of(unit), set())
        for row in artifact.document("projection").get("unjudged", ()):
            of_method.add((row["session_id"], row["rater"], row["target"], row["name"]))
    return found


def _unjudged_locally(inputs: Inputs, config: Config, episodes: Sequence[Episode]) -> Unjudged:
    """The episodes without any local value to learn from, of mixes that look at behaviour in recordings."""
    methods = [METHODS[unit.method] for unit in inputs.upstream["rewards"] if unit.method is not None]
    looking = {m.name: m.local for m in methods if isinstance(m, MixedObjective) and m.reads_features}
    if not looking:
        return {}
    from apportion.decompose.corpus_methods.local_values import without_values

    features = inputs.table("features", "utterance_features")
    return {name: without_values(local, episodes, features, config.decompose) for name, local in looking.items()}


def _emotions(inputs: Inputs) -> pa.Table:
    """The pictures' emotions in the held-out sessions alone: all frames of a large corpus are more than fits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from apportion.corpus.schema import FRAMES
    from apportion.evaluation.figures.dominant_emotion import EMOTIONS

    splits = inputs.required("split", "splits")
    test = set(splits.filter(pc.field("split") == "test")["session_id"].to_pylist())
    of_emotions = pc.field("feature").isin(EMOTIONS)
    measured = inputs.upstream.get("features", {}).items()
    frames = [artifact.table("frames").filter(of_emotions) for unit, artifact in measured if unit.session_id in test]
    return pa.concat_tables([FRAMES.arrow.empty_table(), *frames])


def _controls(inputs: Inputs, config: Config, episodes: SplitEpisodes, scores: pa.Table) -> dict[str, Any]:
    """What a reward model's agreement with people is held against; nothing where no person has labelled a turn."""
    from apportion.corpus.annotators import peoples_labels
    from apportion.evaluation.confidence_intervals.bootstrap import Missing

    if inputs.turn_labels is None or not peoples_labels(inputs.turn_labels).num_rows:
        return {}
    test = episodes.of("test")
    state: Mapping[str, TurnValues] | Missing = Missing("what stands before a turn has no embedding of its own here")
    embeddings = inputs.table("embed", "embeddings")
    if embeddings is not None and config.train_reward.scoring != "windowed":
        state = _state_only(embeddings, scores, episodes, config.train_reward.scoring)
    return {"sentiment": _sentiment(test), "state_only": state}


def _sentiment(episodes: Sequence[Episode]) -> TurnValues | Missing:
    """VADER's tone of each target turn by itself."""
    from apportion.corpus.languages.names import is_foreign
    from apportion.decompose.reactions.vader import tone
    from apportion.evaluation.confidence_intervals.bootstrap import Missing

    if foreign := sum(is_foreign(episode.language) for episode in episodes):
        return Missing(
            f"VADER reads English, and {foreign} of {len(episodes)} held-out sessions are in other languages"
        )
    return {e.key: [tone(e.turns[position].text).compound for position in e.target_positions] for e in episodes}


def _state_only(
    embeddings: pa.Table, scores: pa.Table, episodes: SplitEpisodes, scoring: Scoring
) -> dict[str, TurnValues]:
    """What the turns before a held-out one foretell of each reward model's value of it.

    By a ridge on the mean of those turns' embeddings and on the last one's (the first and last third of a pooled
    embedding, or of MiniLM's beside a language model's states), learnt from the same model's values of training turns,
    its seeds averaged.
    """
    import numpy as np
    import pyarrow.compute as pc

    from apportion.decompose.reactions.model import fit
    from apportion.reward_model.network.embed import context_part, embedding_matrix

    keys = (*EPISODE_KEY, "turn")

    def turns(table: pa.Table) -> list[tuple[Any, ...]]:
        return list(zip(*(table[name].to_pylist() for name in keys), strict=True))

    history, _, last = np.split(context_part(embedding_matrix(embeddings), scoring), 3, axis=1)
    before = np.concatenate([history, last], axis=1).astype(np.float64)
    row_of = {turn: row for row, turn in enumerate(turns(embeddings))}
    training = episodes.sessions("train")
    found: dict[str, TurnValues] = {}
    for method in sorted(pc.unique(scores["method"]).to_pylist()):
        own = (
            scores.filter(pc.field("method") == method)
            .group_by(list(keys), use_threads=False)
            .aggregate([("reward", "mean")])
        )
        known = zip(turns(own), own["reward_mean"].to_pylist(), strict=True)
        taught = [(row_of[turn], value) for turn, value in known if turn[0] in training and turn in row_of]
        rows, values = (np.array(column) for column in zip(*sorted(taught), strict=True))
        foretold = fit(before[rows], values).values(before)
        found[method] = {
            e.key: [float(foretold[row_of[*e.key, turn]]) for turn in e.target_turns]
            for e in episodes.of("test")
            if all((*e.key, turn) in row_of for turn in e.target_turns)
        }
    return found


def _offsets(inputs: Inputs) -> dict[str, float]:
    """What each reward model adds to the sum of its rewards, and each method whose rewards none was taught."""
    offsets = {
        name_of(unit): float(artifact.document("training")["score_offset"])
        for unit, artifact in inputs.upstream["train-reward"].items()
    }
    learned_from = {taught.method.name for name in offsets if (taught := taught_by(name)).direct}
    for unit, artifact in inputs.upstream["rewards"].items():
        if name_of(unit) in learned_from:
            offsets.setdefault(name_of(unit), float(artifact.document("projection")["score_offset"]))
    return offsets


def _nothing_held_out(config: Config, sessions: Mapping[str, Session]) -> str | None:
    if not is_anyone_rated(sessions.values(), config.rating):
        return NO_SCORE
    return "split.test = 0: no session is held out to judge the methods on" if config.split.test == 0 else None


def _settings(config: Config, unit: Unit) -> Mapping[str, Any]:
    """The figures' settings, and the sessions that the run is about where it names some."""
    named = {} if config.run.sessions is None else {"sessions": sorted(config.run.sessions)}
    return {"rating": config.rating, "evaluate": config.evaluate.in_key(), **named}


EVALUATE = Stage(
    "evaluate",
    _evaluate,
    needs=("split", "features", "embed", "rewards", "train-reward"),
    per="corpus",
    help="Judge the reward models on held-out sessions, beside Mean and Mode.",
    version=10,
    settings=_settings,
    turn_labels=lambda config: True,
    spares=("features", "embed"),
    idle=_nothing_held_out,
    scored=True,
)
