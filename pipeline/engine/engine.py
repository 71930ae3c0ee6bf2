"""Carrying out one unit: its key, the artifacts it reads, the call, and the record of a failure."""

from __future__ import annotations

import errno
import json
import shutil
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from apportion.corpus.annotators import is_computed
from apportion.corpus.corpus import Corpus
from apportion.corpus.session import Session
from apportion.foundation.errors import ApportionError, InputError, StoppedError, UnitError
from apportion.foundation.files import FileLeases, Leases, canonical_json, digest, waiting_for, write_atomically
from apportion.foundation.progress import Progress
from apportion.foundation.truncate import listed
from apportion.pipeline.config import Config
from apportion.pipeline.engine.plan import Plan
from apportion.pipeline.engine.progress import FOLDER, URL, Activity
from apportion.pipeline.engine.remote_store import RemoteStore
from apportion.pipeline.engine.stage import Inputs, Outputs, Stage, Unit, Work
from apportion.pipeline.engine.store import Artifact, InputHashes, Store
from apportion.pipeline.shared_place import Bucket, StoreError, shared_place

DISK_ENDS = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS, errno.EPERM)
"""Errors of a disk that every further unit would meet, too."""
FAILURES = "failures"
Status = Literal["done", "reused", "failed", "blocked", "stopped"]


@dataclass(frozen=True)
class Outcome:
    """What became of one unit; ``cause`` is null when it is done, ``evidence`` what a failure rests on, in full.

    ``measured`` is what a training that failed had measured until then: step, metric, value (None: not finite).
    ``unusable``: it failed for an input or a setting that it cannot use, which another attempt does not change.
    ``same_again`` says of a stopped one that the same command goes on with it later.
    """

    stage: str
    unit: Unit
    status: Status
    cause: str | None = None
    evidence: str | None = None
    measured: tuple[tuple[int, str, float | None], ...] = ()
    unusable: bool = False
    same_again: bool = False


class BlockedError(UnitError):
    """A unit cannot run since everything of one kind that it needs has failed."""


@dataclass
class Engine:
    """Runs units of ``plan`` for one configuration, in this process.

    ``make_tools`` makes what outlives a unit (the LLM client) for the first stage that asks.
    """

    config: Config
    corpus: Corpus
    sessions: Mapping[str, Session]
    plan: Plan
    make_tools: Callable[[], Any] = lambda: None
    facts: Mapping[str, Callable[[Engine], Any]] = field(default_factory=dict)
    looks_only: bool = False
    """Whether nothing may be written: not even the hash of a recording, for the next time."""
    beside: Path | None = None
    """The store of another run, whose finished work counts, too."""

    def __post_init__(self) -> None:
        self.shared = shared_place(self.config.run.store, self.config.store)
        self.store = Store(self.config.store, self.beside)
        if isinstance(self.shared, Bucket):
            self.store = RemoteStore(self.config.store, self.shared, self.beside, looks_only=self.looks_only)
        self.activity = Activity(self.shared)
        self._hashes = InputHashes(self.corpus.root, self.config.store, remembers=not self.looks_only)
        self._keys: dict[tuple[str, Unit], str] = {}
        self._own_settings: dict[tuple[str, Unit], dict[str, Any]] = {}

    @cached_property
    def tools(self) -> Any:
        """What stages that ask a language model are lent."""
        return self.make_tools()

    @cached_property
    def leases(self) -> Leases:
        """Who makes which unit."""
        if not isinstance(self.config.llm_cache, str):
            return FileLeases(self.config.store / "leases")
        from apportion.llm_client.cache.server_leases import on_server

        return on_server(self.config.llm_cache)

    @property
    def settings(self) -> str:
        """A text that is the same for equal configurations, whoever carries them out."""
        return self.config.settings

    def session_hash(self, session: Session, reads: Sequence[str] = Stage.reads) -> str:
        """sha256 of parts of a session: of what it says, without its recordings."""
        return self._hashes.session(session, reads)

    def begin(self, names: Sequence[str]) -> None:
        """A run of the stages ``names`` begins: what the last one did is no news any more."""
        units = {name: len(units) for name in names if (units := self.plan.units[name])}
        self.activity.begin(units, self.settings)
        self.store.note_use(None)
        if self.config.run.store is not None:
            write_atomically(self.config.store / FOLDER / URL, self.config.run.store)

    def run(self, stage: Stage, unit: Unit, progress: Progress) -> Outcome:
        """Make one unit's artifact unless it is there; a failure is recorded, never raised.

        Raises InputError: What makes every further unit pointless: a full disk, no permission, a missing API key.
        """
        with self.activity.unit(stage.name, str(unit)) as ended:
            outcome = self._run(stage, unit, progress)
            ended |= {"status": outcome.status, "cause": outcome.cause}
            return outcome

    def _run(self, stage: Stage, unit: Unit, progress: Progress) -> Outcome:
        measured: dict[tuple[int, str], float] = {}
        failed = partial(self._failed, stage, unit, measured=measured)
        try:
            key = self.key(stage.name, unit)
            if self.store.find(stage.name, key) is not None:
                self.store.drop_checkpoints(stage.name, key)
                self._forget_failure(stage.name, unit)
                return Outcome(stage.name, unit, "reused")
            with waiting_for(self.leases, key, f"{stage.name} ({unit})"):
                if self.store.find_anew(stage.name, key) is not None:  # Another has made it since.
                    return Outcome(stage.name, unit, "reused")
                self._make(stage, unit, key, progress, measured)
        except BlockedError as error:
            return failed("blocked", str(error))
        except InputError as error:
            # What one trained or judged whole cannot work on is its own failure: the report shows the others.
            if not stage.fails_alone:
                raise
            return replace(failed("failed", str(error)), unusable=True)
        except StoppedError as error:
            return replace(failed("stopped", str(error)), same_again=error.same_again)
        except OSError as error:
            if error.errno in DISK_ENDS:
                raise disk_error(error, self.config.store) from None
            return failed("failed", f"{type(error).__name__}: {error}")
        except StoreError:
            raise
        except ApportionError as error:
            return failed("failed", str(error), getattr(error, "evidence", None))
        except Exception as error:  # A stranger's recording can raise anything; it must not stop the others.
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.lineno}"
            return failed("failed", f"{type(error).__name__}: {error} (at {place})")
        self._forget_failure(stage.name, unit)
        return Outcome(stage.name, unit, "done")

    def is_made_elsewhere(self, name: str, unit: Unit) -> bool:
        """Whether another process is making the unit, or has died over it."""
        try:
            return self.artifact(name, unit) is None and self.leases.holder(self.key(name, unit)) is not None
        except ApportionError:
            return False

    def key(self, name: str, unit: Unit) -> str:
        """The address of a unit's artifact, by its `lineage`; raises BlockedError as that does."""
        if (name, unit) not in self._keys:
            self._keys[name, unit] = digest(self.lineage(name, unit))
        return self._keys[name, unit]

    def lineage(self, name: str, unit: Unit) -> dict[str, Any]:
        """All that a unit's artifact rests on: stage, version, settings, and the content of all that it reads.

        Raises BlockedError: All units of one needed stage are missing, so that there is nothing to run on.
        """
        stage = self.plan.stages[name]
        upstream = self._upstream(stage, unit)
        content: dict[str, Any] = {
            "stage": [stage.name, stage.version],
            "unit": list(unit),
            "settings": self._settings(stage, unit),
            "sessions": [self._hashes.session(session, stage.reads) for session in self._sessions_of(unit)],
            "upstream": {
                need: [[list(other), artifact.output_hash] for other, artifact in artifacts.items()]
                for need, artifacts in upstream.items()
                if need not in stage.gates
            },
            "facts": self._facts(stage),
        }
        if stage.tells_others_apart and any(session.is_multiparty for session in self._sessions_of(unit)):
            # What was made while all others were one person is made anew; of two speakers nothing changes.
            content["others"] = "apart"
        if stage.turn_labels(self.config):
            content["turn_labels"] = _table_digest(self.corpus, set(self.sessions))
            if any(map(is_computed, self.corpus.turn_labels["annotator"].to_pylist())):
                # What was evaluated while they counted as people's is evaluated anew.
                content["computed_labels"] = "apart"
        return content

    @contextmanager
    def keys_forgotten(self) -> Iterator[None]:
        """For work by which artifacts come to be: keys that were made before or during it may rest on less of them."""
        self._forget_keys()
        try:
            yield
        finally:
            self._forget_keys()

    def _forget_keys(self) -> None:
        self._keys.clear()
        self._own_settings.clear()

    def artifact(self, name: str, unit: Unit) -> Artifact | None:
        """A unit's finished artifact, or None where it is missing, failed or blocked."""
        try:
            return self.store.find(name, self.key(name, unit))
        except (BlockedError, UnitError):
            return None

    def inputs(self, stage: Stage, unit: Unit) -> Inputs:
        """What a unit's function is called with.

        Raises BlockedError: All units of one needed stage are missing.
        """
        return Inputs(
            unit=unit,
            sessions=self._sessions_of(unit),
            upstream=self._upstream(stage, unit),
            turn_labels=self.corpus.turn_labels if stage.turn_labels(self.config) else None,
            facts=self._facts(stage),
            root=self.corpus.root,
        )

    def finished(self, name: str) -> dict[Unit, Artifact]:
        """All finished units of a stage."""
        self.shared.look_anew()
        artifacts = ((unit, self.artifact(name, unit)) for unit in self.plan.units[name])
        return {unit: artifact for unit, artifact in artifacts if artifact is not None}

    def at_once(self, name: str, unit: Unit) -> int:
        """How many units like this one may wait for a server at once; 0 where it asks nobody."""
        if unit.session_id is None:
            return 0
        return self.plan.stages[name].concurrent(self.config, unit, self.sessions[unit.session_id], self.corpus.root)

    def give_up(self, name: str, unit: Unit, cause: str) -> Outcome:
        """Record as failed what ended without a word: nobody else can tell of it."""
        return self._failed(self.plan.stages[name], unit, "failed", cause, measured={})

    def failures(self) -> list[Outcome]:
        """Every recorded failure of the planned units, in the order of the stages; none of a stage that is left out."""
        self.shared.look_anew()
        recorded = self.shared.names(FAILURES)
        stages = [name for name in self.plan.stages if any(n.startswith(f"{FAILURES}/{name}/") for n in recorded)]
        planned = ((name, unit) for name in stages if name not in self.plan.left_out for unit in self.plan.units[name])
        units = {path: unit for unit in planned if (path := _failure(*unit)) in recorded}
        found, outcomes = self.shared.read_all(units), []
        for path, (name, unit) in ((path, unit) for path, unit in units.items() if path in found):
            note = json.loads(found[path])
            measured = tuple((step, metric, value) for step, metric, value in note.get("measured", ()))
            outcomes.append(Outcome(name, unit, note["status"], note["cause"], note.get("evidence"), measured))
        return outcomes

    def _make(
        self, stage: Stage, unit: Unit, key: str, progress: Progress, measured: dict[tuple[int, str], float]
    ) -> None:
        inputs = self.inputs(stage, unit)
        out = self.store.scratch()
        try:
            work = Work(out, progress, lambda: self.tools, self.store.checkpoints(stage.name, key), measured)
            outputs: Outputs = stage.fn(inputs, self.config, work)
            self.store.commit(stage.name, key, out, outputs.tables, outputs.documents)
            self.store.drop_checkpoints(stage.name, key)
        except BaseException:
            shutil.rmtree(out, ignore_errors=True)
            raise

    def _upstream(self, stage: Stage, unit: Unit) -> dict[str, dict[Unit, Artifact]]:
        upstream = {}
        for need, units in self.plan.needed(stage.name, unit).items():
            artifacts = {other: artifact for other in units if (artifact := self.artifact(need, other)) is not None}
            if not artifacts and need not in stage.spares:
                these = listed(units, separator="; ")
                raise BlockedError(f"needs {need} ({these}), which did not succeed; its own entry says why.")
            upstream[need] = artifacts
        return upstream

    def _facts(self, stage: Stage) -> dict[str, Any]:
        facts = {name: self.facts[name](self) for name in stage.facts}
        for name in facts.keys() & {"quarantine", "unfinished"}:
            # Its own earlier failure is forgotten once it succeeds, and may be no part of its key.
            facts[name] = [row for row in facts[name] if row["stage"] != stage.name]
        return facts

    def _settings(self, stage: Stage, unit: Unit) -> dict[str, Any]:
        # They are those of every session, and may be read from files.
        alike = (stage.name, unit._replace(session_id=None))
        if alike not in self._own_settings:
            self._own_settings[alike] = dict(stage.settings(self.config, alike[1]))
        settings = {**self._own_settings[alike]}
        if unit.session_id is not None:
            session = self.sessions[unit.session_id]
            settings |= stage.session_settings(self.config, unit, session, self.corpus.root)
        return settings

    def _sessions_of(self, unit: Unit) -> tuple[Session, ...]:
        if unit.session_id is not None:
            return (self.sessions[unit.session_id],)
        return tuple(self.sessions.values())

    def _failed(
        self,
        stage: Stage,
        unit: Unit,
        status: Status,
        cause: str,
        evidence: str | None = None,
        *,
        measured: Mapping[tuple[int, str], float],
    ) -> Outcome:
        rows = tuple((step, name, value if isfinite(value) else None) for (step, name), value in measured.items())
        note = {"status": status, "cause": cause, "evidence": evidence, "measured": rows}
        self.shared.write(_failure(stage.name, unit), canonical_json(note))
        return Outcome(stage.name, unit, status, cause, evidence, rows)

    def _forget_failure(self, stage: str, unit: Unit) -> None:
        self.shared.remove(_failure(stage, unit), FAILURES)


def _failure(stage: str, unit: Unit) -> str:
    # Session ids come from strangers and may hold anything, so they never become a file name.
    return f"{FAILURES}/{stage}/{digest(list(unit))[:32]}.json"


def _table_digest(corpus: Corpus, session_ids: set[str]) -> str:
    rows = [row for row in corpus.turn_labels.to_pylist() if row["session_id"] in session_ids]
    return digest(rows)


def disk_error(error: OSError, store: Path) -> ApportionError:
    """What a person is told of a disk that does not write: InputError where something can be done about it."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InputError(
            f"no space left on the disk of {store}. What is finished is kept; free some space or set `output` to "
            "another disk, then run the same command again."
        )
    place = error.filename or store
    if error.errno in DISK_ENDS:
        return InputError(f"{place}: no permission to write ({error.strerror}). Change its owner or set `output`.")
    return UnitError(f"{place}: {error.strerror or error}. What is finished is kept: run the same command again.")
