"""New sessions by what a finished run learned (`frozen = RUN`): nothing is learned, old rows stay as they are.

What the run published is read and never written: splits, fitted methods, constants of projections, reward models. Its
store gives what is finished of sessions that both have.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apportion.decompose.methods import METHODS
from apportion.foundation.errors import InputError, UnitError, errors_called
from apportion.foundation.files import file_digest
from apportion.foundation.truncate import first_few, listed
from apportion.pipeline.chosen_model import MODELS
from apportion.pipeline.config import Config, shown_config
from apportion.pipeline.engine.stage import BeforeRun, Inputs, Outputs, Stage, Stages, Work
from apportion.pipeline.engine.store import InputHashes
from apportion.pipeline.results.run_folder import CHOSEN, CHOSEN_SESSIONS, FITTED, HASHES, RUBRIC, read_record
from apportion.pipeline.stages.shared import name_of, seed_of

if TYPE_CHECKING:
    import pyarrow as pa

    from apportion.corpus.session import Session
    from apportion.corpus.splits.splits import SplitEpisodes

LEARNS = ("split", "select-sessions", "rubric", "fit", "rewards", "train-reward")
"""The stages that work on the whole corpus to learn: what they made is read in the run."""
MODELLED = "train-reward"
STANDS = ("evaluate", "align", "slices", "audit", "stability")
"""Those that judge or use what was learned, which the run has done."""
FREE = (
    "notes", "run.limit", "run.last_stage", "run.skip_stages", "run.sessions", "align", "evaluate", "decompose.audit",
    "frozen",
)  # fmt: skip
"""Settings, and sections of them, that nothing frozen rests on."""
NEW = "test"
"""The split of new sessions: nothing has learned from them."""


@dataclass(frozen=True)
class FrozenRun:
    """A finished run whose learning stands. ``record`` is its run.json, ``identity`` that file's sha256."""

    folder: Path
    record: Mapping[str, Any]
    identity: str

    @classmethod
    def open(cls, config: Config, folder: Path) -> FrozenRun:
        """The run in ``folder``, for new sessions by ``config``.

        Raises InputError: No finished run of this version and these settings is there, or it keeps too little.
        """
        with errors_called("frozen"):
            if folder.resolve() == config.output.resolve():
                raise InputError(f"{folder} is this run's own output. Set output to another folder.")
            run = cls(folder, read_record(folder), file_digest(folder / "run.json"))
            run._check(config)
            return run

    @cached_property
    def told(self) -> Mapping[str, str]:
        """By what it enters keys."""
        return {"run": self.folder.name, "sha256": self.identity}

    @property
    def has_models(self) -> bool:
        """Whether it has trained reward models; it may have gone as far as the rewards alone."""
        return bool(self.record["stages"][MODELLED]["finished"])

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """What each of its sessions said, as sha256."""
        table = self.table(HASHES)
        return dict(zip(table["session_id"].to_pylist(), table["sha256"].to_pylist(), strict=True))

    @cached_property
    def recordings(self) -> Mapping[str, str]:
        """What the recordings were of each of its sessions that it measured, as sha256; older runs do not tell it."""
        table = self.table(HASHES)
        if "recordings" not in table.column_names:
            return {}
        return dict(zip(table["session_id"].to_pylist(), table["recordings"].to_pylist(), strict=True))

    def new(self, session_ids: Mapping[str, Any]) -> list[str]:
        """Those of the sessions that the run did not have."""
        return [name for name in session_ids if name not in self.hashes]

    def note(self, session_ids: Mapping[str, Any]) -> str:
        """What the report says of it."""
        new, folder = self.new(session_ids), self.folder.name
        return (
            f"A frozen run: {len(new):,} of {len(session_ids):,} sessions are new, and what judges them was learned by "
            f"the run {folder!r} (run.json {self.identity[:12]}). Nothing was learned from them. Rows of others are "
            f"as they were there; figures on methods and models are those of {folder!r}."
        )

    def table(self, name: str, **rows: object) -> pa.Table:
        """A table that it published, or the rows of it with these values."""
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        table = pq.read_table(self.folder / name, partitioning=None)
        for column, value in rows.items():
            table = table.filter(pc.field(column) == value)
        return table

    def document(self, name: str) -> Any:
        """A JSON document that it published."""
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def check_files(self) -> None:
        """Raise InputError where a file that is read is not as the run left it."""
        for name, sha256 in self.record["files"].items():
            path = self.folder / name
            if not path.is_file() or file_digest(path) != sha256:
                state = "is not as the run left it" if path.is_file() else "is not there any more"
                raise InputError(f"frozen: {path} {state}. Run its configuration again, or name another run.")

    def _check(self, config: Config) -> None:
        from apportion.pipeline.stages.registry import STAGES

        ours, theirs = version("apportion"), self.record["versions"].get("apportion")
        stages = self.record.get("stages", {})
        changed = [name for name in LEARNS if stages.get(name, {}).get("version") != STAGES[name].version]
        if theirs != ours or changed or "files" not in self.record:
            by = f"apportion {theirs}" + (f", whose {listed(changed)} worked otherwise" if theirs == ours else "")
            raise InputError(
                f"{self.folder}: made by {by}, and this is {ours}. Run its configuration again, or name another."
            )
        if "frozen" in self.record["config"]:
            raise InputError(
                f"{self.folder} is a frozen run itself, and learned nothing. Name the run that it rests on: "
                f"{self.record['config']['frozen']}."
            )
        if config.rating is None:
            raise InputError(
                f"{config.corpus}: no session has a score, so that there is nothing frozen to apply to it."
            )
        if given := _differing(shown_config(config), self.record["config"]):
            raise InputError(
                f"{self.folder} has other settings: {first_few(given, 5)}. Make them alike, or run without frozen."
            )
        undone = [
            f"{name} ({stages[name]['finished']} of {stages[name]['units']})"
            for name in LEARNS
            if stages[name]["finished"] < stages[name]["units"] and (name != MODELLED or self.has_models)
        ]
        if undone:
            raise InputError(f"{self.folder}: not finished: {listed(undone)}. Run its configuration first.")
        self._check_learnt(config)

    def _check_learnt(self, config: Config) -> None:
        from apportion.decompose.corpus_methods.frozen import learns
        from apportion.pipeline.stages.shared import trained_models

        seeds = config.seeds
        lacking = [
            name
            for name in config.decompose.methods
            if learns(METHODS[name]) and any(f"{FITTED}/{name}-seed{s}.json" not in self.record["files"] for s in seeds)
        ]
        if lacking:
            raise InputError(
                f"decompose: {listed(lacking)}: learned by a network that no run keeps, so that new sessions cannot be "
                "judged by it. Leave it out of both configurations; its reward model is kept: `apportion policy score`."
            )
        for name in (f"{MODELS}/{name}-seed{seed}" for name in trained_models(config) for seed in seeds):
            if self.has_models and not any(file.startswith(f"{name}/") for file in self.record["files"]):
                raise InputError(
                    f"{self.folder}: no {name}: a model that reads whole dialogues is not kept. Leave its method out."
                )


def _differing(ours: Mapping[str, Any], theirs: Mapping[str, Any], within: str = "") -> list[str]:
    """The settings that differ, each with both values."""
    found = []
    for name in sorted(ours.keys() | theirs.keys()):
        key, a, b = f"{within}{name}", ours.get(name), theirs.get(name)
        if a == b or key in FREE:
            continue
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            found += _differing(a, b, f"{key}.")
        else:
            found.append(f"{key} is {json.dumps(b)} there and {json.dumps(a)} here")
    return found


def frozen_stages(stages: Stages, run: FrozenRun) -> Stages:
    """The declared stages: those that learn read what ``run`` learned, and those that judge it are left out."""
    made = {"split": run_splits, "select-sessions": run_choice, "rubric": run_rubric}
    made |= {"fit": fitted, "rewards": projected, "train-reward": scored}

    def load(name: str) -> Stage:
        stage = stages[name]
        if name in STANDS or (name == MODELLED and not run.has_models):
            return replace(stage, idle=lambda *given: f"frozen: it is as {run.folder.name} has it")
        if name not in LEARNS:
            return stage
        work = made[name]
        return replace(
            stage,
            fn=lambda inputs, config, lent: work(run, inputs, config, lent),
            needs=() if name in ("select-sessions", "rubric") else tuple(n for n in stage.needs if n != "hand-labels"),
            settings=lambda config, unit: {**stage.settings(config, unit), "frozen": run.told},
            check=lambda before: _check(run, before) if name == "split" else (),
        )

    return stages.replaced(load)


def _check(run: FrozenRun, before: BeforeRun) -> tuple[str, ...]:
    """Raise InputError where a file of the run was changed, or a session or its recordings are not what they were."""
    run.check_files()
    # Of recordings that are as they were, that run's store has the hashes.
    hashes = InputHashes(before.root, run.folder / "store", remembers=False)
    for known, reads, what in ((run.hashes, Stage.reads, "words"), (run.recordings, ("media",), "recordings")):
        changed = []
        for name, session in before.sessions.items():
            with suppress(UnitError):  # One that is not there any more, of which the stage that reads it tells.
                if known.get(name) and hashes.session(session, reads) != known[name]:
                    changed.append(name)
        if changed:
            raise InputError(
                f"frozen: sessions {first_few(changed, 5)} are not as {run.folder} had them, so that its rows are of "
                f"other {what}. Give what is new other ids, or run without frozen."
            )
    return () if run.new(before.sessions) else (f"frozen: no session is new to {run.folder}",)


def run_splits(run: FrozenRun, inputs: Inputs, config: Config, work: Work) -> Outputs:
    """The run's splits; what is new is held out."""
    return Outputs({"splits": _splits(run, inputs.sessions)}, {"notes": []})


def _splits(run: FrozenRun, sessions: tuple[Session, ...]) -> pa.Table:
    import pyarrow as pa

    from apportion.corpus.schema import SPLITS

    known = run.table("splits.parquet")
    homes = dict(zip(known["session_id"].to_pylist(), known["split"].to_pylist(), strict=True))
    ids = [session.session_id for session in sessions]
    rows = [(name, homes.get(name, NEW)) for name in ids if name in homes or name not in run.hashes]
    return pa.table([[row[0] for row in rows], [row[1] for row in rows]], schema=SPLITS.arrow)


def run_choice(run: FrozenRun, inputs: Inputs, config: Config, work: Work) -> Outputs:
    """The sessions that the run chose to be judged; none is chosen any more."""
    return Outputs(documents={CHOSEN: run.document(CHOSEN_SESSIONS)})


def run_rubric(run: FrozenRun, inputs: Inputs, config: Config, work: Work) -> Outputs:
    """The rubric that the run had written."""
    shutil.copyfile(run.folder / RUBRIC, work.out / RUBRIC)
    return Outputs()


def _of_new(run: FrozenRun, inputs: Inputs, config: Config) -> tuple[Inputs, SplitEpisodes]:
    """Inputs and episodes of new sessions alone."""
    from apportion.corpus.splits.splits import SplitEpisodes

    new = frozenset(run.new({session.session_id: None for session in inputs.sessions}))
    upstream = {
        stage: {unit: artifact for unit, artifact in units.items() if unit.session_id is None or unit.session_id in new}
        for stage, units in inputs.upstream.items()
    }
    sessions = tuple(session for session in inputs.sessions if session.session_id in new)
    alone = replace(inputs, sessions=sessions, upstream=upstream)
    return alone, SplitEpisodes(alone.episodes(config.rating), _splits(run, sessions))


def fitted(run: FrozenRun, inputs: Inputs, config: Config, work: Work) -> Outputs:
    """What a fitted method says of new sessions; the others' rows are in `projected`."""
    from apportion.corpus.schema import REWARDS
    from apportion.decompose.corpus_methods.frozen import judge_frozen
    from apportion.decompose.corpus_methods.trained_network import TrainingConfig, TrainingData
    from apportion.pipeline.stages.shared import chosen_count, fix_threads

    fix_threads(config)
    name, seed = name_of(inputs.unit), seed_of(inputs.unit)
    alone, episodes = _of_new(run, inputs, config)
    mixes = "sources.parquet" in run.record["files"]
    sources = run.table("sources.parquet", method=name, seed=seed) if mixes else ()
    weighed = {"sources": sources} if len(sources) else {}
    if not any(episode.target_turns for episode in episodes.all):
        return Outputs({"judgements": REWARDS.arrow.empty_table(), **weighed})
    data = TrainingData(
        episodes, None, alone.table("features", "utterance_features"), alone.table("react", "reactions", work.out),
        alone.table("judge", "judgements"), chosen_count(alone),
    )  # fmt: skip
    kept = f"{FITTED}/{name}-seed{seed}.json"
    learnt = run.document(kept) if kept in run.record["files"] else {}
    judged = judge_frozen(name, learnt, data, TrainingConfig(config.decompose, config.train_reward, seed))
    return Outputs({"judgements": judged, **weighed})


def projected(run: FrozenRun, inputs: Inputs, config: Config, work: Work) -> Outputs:
    """The run's rewards, and those of new sessions by its constants."""
    from apportion.corpus.schema import EPISODE_KEY
    from apportion.decompose.projection import apply_constants
    from apportion.decompose.settings_key import configured
    from apportion.pipeline.stages.decompose import judging_stage, samples_of, with_seed
    from apportion.pipeline.stages.shared import method_of

    name, seed = name_of(inputs.unit), seed_of(inputs.unit)
    alone, episodes = _of_new(run, inputs, config)
    document = run.document(f"projections/{name}-seed{seed}.json")
    method = configured(method_of(inputs.unit), config.decompose)
    judgements = alone.table(judging_stage(method), "judgements")
    rows = _kept_rows(run, "rewards.parquet", inputs)
    ids = {session.session_id for session in inputs.sessions}
    new: dict[str, list[dict[str, Any]]] = {}
    if judgements is not None and judgements.num_rows:
        offset, spread = document["score_offset"], document["spread"] or 0.0
        table, found = apply_constants(judgements, episodes.all, offset, spread, method, config.decompose.constraint)
        rows = _in_order([rows, with_seed(table, seed)])
        new = found.to_json()
    for part in ("residuals", "unjudged", "equal"):
        if part in document or part in new:
            kept = [row for row in document.get(part, []) if row["session_id"] in ids]
            document[part] = sorted([*kept, *new.get(part, [])], key=lambda row: [row[k] for k in EPISODE_KEY])
    samples = samples_of(inputs, config)
    return Outputs({"rewards": rows, **samples}, {"projection": document})


def scored(run: FrozenRun, inputs: Inputs, config: Config, work: Work) -> Outputs:
    """The run's reward model, its scores, and those of new sessions by it."""
    from apportion.pipeline.stages.shared import fix_threads
    from apportion.reward_model.learning.dataset import Dataset, read_turns, turn_values
    from apportion.reward_model.learning.training import score_turns
    from apportion.reward_model.model import RewardModel

    fix_threads(config)
    name, seed = name_of(inputs.unit), seed_of(inputs.unit)
    folder = f"{MODELS}/{name}-seed{seed}"
    shutil.copytree(run.folder / folder, work.out / "model")
    model = RewardModel.from_pretrained(run.folder / folder)
    alone, episodes = _of_new(run, inputs, config)
    tables = [_kept_rows(run, "scores.parquet", inputs)]
    if any(episode.target_turns for episode in episodes.all):
        encoded = read_turns(episodes.all, alone.table("embed", "embeddings"), config.train_reward)
        values = score_turns(model, Dataset(encoded.history_windows, encoded.inputs))
        tables.append(turn_values(encoded.history_windows, values._asdict(), name, seed))
    curve = run.table("histories.parquet", stage=MODELLED, method=name, seed=seed).select(["step", "metric", "value"])
    training = {"training": {"score_offset": model.config.score_offset}}
    return Outputs({"scores": _in_order(tables), "history": curve}, training)


def _kept_rows(run: FrozenRun, name: str, inputs: Inputs) -> pa.Table:
    """The rows of a unit's method and seed that the run published of sessions that are here."""
    import pyarrow as pa
    import pyarrow.compute as pc

    table = run.table(name, method=name_of(inputs.unit), seed=seed_of(inputs.unit))
    ids = pa.array([session.session_id for session in inputs.sessions], pa.string())
    return table.filter(pc.is_in(table["session_id"], ids))


def _in_order(tables: list[pa.Table]) -> pa.Table:
    """The rows of all, session by session, each session's as they are."""
    import pyarrow as pa

    table = pa.concat_tables([table.cast(tables[0].schema) for table in tables])
    ids = table["session_id"].to_pylist()
    return table.take(sorted(range(len(ids)), key=ids.__getitem__))
