"""The run's configuration: one TOML file, checked key by key."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import Field, ValidationError, ValidationInfo, ValidatorFunctionWrapHandler, field_validator

from apportion.corpus.recordings.mirrored import Unread
from apportion.foundation.errors import InputError
from apportion.foundation.files import canonical_json, check_path, digest, found_from, is_address
from apportion.foundation.settings import PresetSettings, Settings, problems
from apportion.pipeline.sections import SECTIONS, Section, cannot_be_used, section_class
from apportion.pipeline.shared_place import checked_url

if TYPE_CHECKING:
    from apportion.corpus.splits.settings import SplitSettings
    from apportion.decompose.settings import DecomposeSettings
    from apportion.evaluation.settings import EvaluationSettings
    from apportion.features.settings import DescriptorSettings, FeatureSettings
    from apportion.reward_model.settings import RewardModelSettings
    from apportion.rlhf.settings import AlignSettings

PresetName = Literal["paper", "savoir"]
PRESET_NAMES: tuple[str, ...] = get_args(PresetName)
"""The presets of a whole configuration; a section may have more of its own."""
AUDITED_SESSIONS = 20
"""Sessions that `apportion run --only audit` takes where the configuration has no number."""
MOST_BYTES = 1 << 20
"""Of a configuration: its longest has some thousand."""


def usable_cores() -> int:
    """Cores that this process may use; all of the machine's where the system does not say (macOS)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class SlurmSettings(Settings):
    """The jobs that ``run.executor = "slurm"`` asks Slurm for; what is not given is as your site's Dask has it."""

    jobs: int = Field(1, ge=1, description="jobs at once; one that ends before the run is followed by another")
    workers: int = Field(1, ge=1, description="worker processes a job, a core each")
    memory: str = Field("8GB", description="memory a job")
    walltime: str = Field("24:00:00", description="the longest time a job may take")
    partition: str | None = Field(None, description="the partition")
    account: str | None = Field(None, description="who is charged")
    interface: str | None = Field(None, description="the network that this machine and the nodes share, e.g. 'ib0'")
    directives: tuple[str, ...] = Field((), description="further lines of #SBATCH, e.g. ['--gres=gpu:1']")
    resources: str | None = Field(None, description="what each worker declares, e.g. 'GPU=1 MEMORY=1'")
    prologue: tuple[str, ...] = Field((), description="shell before a worker starts, e.g. ['module load cuda']")


class RunSettings(Settings):
    """How the work is carried out; of these only ``threads`` changes results (by bits) and enters a key."""

    threads: int = Field(1, ge=1, description="torch threads a unit; results depend on it by bits, so it is fixed here")
    workers: int = Field(0, ge=0, description="worker processes; 0 takes one a core")
    executor: str = Field(
        "local", description="where the work is done: local, dask (Dask on this machine), dask://HOST:PORT or slurm"
    )
    store: str | None = Field(
        None,
        description="the bucket (s3://, gs:// or az://BUCKET/FOLDER) that hosts share in place of OUTPUT/store, which "
        "has this host's copies; credentials come from the environment",
    )
    limit: int | None = Field(None, ge=1, description="use only the first sessions of the corpus")
    sessions: tuple[str, ...] | None = Field(
        None,
        min_length=1,
        description="work on these sessions of the corpus alone, by id; the splits and the mean score are those of all",
    )
    last_stage: str | None = Field(
        None, description="the last stage to run, e.g. 'evaluate'; the report is written of what there is"
    )
    skip_stages: tuple[str, ...] = Field((), description="stages to leave out, e.g. ['align']")
    recorded: Path | None = Field(None, description="recorded LLM replies (JSONL), for provider = 'recorded'")
    record: Path | None = Field(None, description="append every LLM reply received to this JSONL file")
    llm_cache: Path | str | None = Field(
        None,
        description="the ledger of LLM replies, budget and claims: an SQLite file, or postgresql://HOST:PORT/DATABASE "
        "for many hosts; default: OUTPUT/llm_cache.sqlite",
    )
    tensorboard: Path | None = Field(
        None, description="write the curves of align there as TensorBoard event files while it runs"
    )
    wandb: str | None = Field(
        None, min_length=1, description="send the curves of align to this Weights & Biases project while it runs"
    )
    llm_shard_count: int = Field(
        4,
        ge=1,
        le=1024,
        description="tasks into which Airflow and Prefect split what a stage asks a language model; never more than "
        "decompose.llm.concurrency, which they share as they do the other limits",
    )
    llm_shard_timeout_s: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="seconds after which such a task begins no further session and is tried again; none takes what "
        "the limits of decompose.llm allow all questions of the run at most",
    )
    prices: Path | None = Field(None, description="a price table (TOML) that goes before llm_client/cost/prices.toml")
    budget_usd: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="US dollars that all replies ever paid into the reply cache may cost; none means no ceiling",
    )
    slurm: SlurmSettings = SlurmSettings()

    @field_validator("store")
    @classmethod
    def _checked_store(cls, store: str | None) -> str | None:
        return None if store is None else checked_url(store)

    @field_validator("llm_cache", mode="before")
    @classmethod
    def _place_of_ledger(cls, place: Any) -> Any:
        from apportion.llm_client.cache.database import ledger_place

        return ledger_place(place) if isinstance(place, str) else place

    @field_validator("executor")
    @classmethod
    def _known_executor(cls, executor: str) -> str:
        place = re.fullmatch(r"local|dask|slurm|dask://[^\s/:]+:([0-9]{1,5})", executor)
        if place is None or int(place[1] or 0) > 65535:
            raise ValueError("allowed are local, dask, dask://HOST:PORT and slurm")
        return executor


class Config(Settings):
    """Everything a run depends on. Relative paths are relative to the configuration file.

    A section is read when it is first asked for, so that a run of one stage imports what that stage needs. It is
    checked as soon as the configuration is made; the context ``{"checked": names}`` checks those sections alone. A
    corpus at a URL is looked at when it is first asked for, too.
    """

    corpus: Path = Field(description="the corpus folder, made by `apportion import`, or its URL: s3://BUCKET/FOLDER")
    output: Path = Field(Path("runs/default"), description="the run folder; its store/ keeps finished work")
    frozen: Path | None = Field(
        None,
        description="the folder of a finished run by whose splits, fitted methods, projections and reward models new "
        "sessions are judged; nothing is learned",
    )
    rating: str | None = Field(None, description="which rating to decompose; needed where a corpus has several")
    preset: PresetName | None = Field(
        None,
        description="settings by name, in every section that has that preset, below all keys that are given: paper is "
        "LLM-GELI as published, savoir is SAVOIR",
    )
    seeds: tuple[int, ...] = Field((0,), min_length=1, description="seeds of everything that is trained")
    notes: tuple[str, ...] = Field((), description="sentences that the report shows, e.g. that the data is synthetic")
    run: RunSettings = RunSettings()
    if TYPE_CHECKING:
        split: SplitSettings
        features: FeatureSettings
        verbalize: DescriptorSettings
        decompose: DecomposeSettings
        train_reward: RewardModelSettings
        evaluate: EvaluationSettings
        align: AlignSettings
    else:
        split: Any = Field({}, validate_default=True)
        features: Any = Field({}, validate_default=True)
        verbalize: Any = Field({}, validate_default=True)
        decompose: Any = Field({}, validate_default=True)
        train_reward: Any = Field({}, validate_default=True)
        evaluate: Any = Field({}, validate_default=True)
        align: Any = Field({}, validate_default=True)

        def __getattribute__(self, name: str) -> Any:
            value = super().__getattribute__(name)
            if isinstance(value, Unread):
                return value.mirror
            return value.settings if isinstance(value, Section) else value

    @field_validator("corpus", mode="wrap")
    @classmethod
    def _corpus(cls, corpus: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        return Unread.of(corpus) if isinstance(corpus, str) and is_address(corpus) else handler(corpus)

    @field_validator("output", "frozen", mode="before")
    @classmethod
    def _folder(cls, folder: Any) -> Any:
        if isinstance(folder, str) and is_address(folder):
            raise ValueError("a folder of this machine is needed; what hosts share goes to the bucket of run.store")
        return folder

    @field_validator(*SECTIONS, mode="plain")
    @classmethod
    def _section(cls, values: Any, info: ValidationInfo) -> Any:
        context, name = info.context or {}, str(info.field_name)
        section = Section(name, values, info.data.get("preset"), context.get("base"), context.get("source", ""))
        if name in context.get("checked", SECTIONS):
            section.check()
        return section

    @field_validator("seeds")
    @classmethod
    def _unique_seeds(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(seeds)) != len(seeds):
            raise ValueError(f"seeds {list(seeds)} repeat; give each once")
        return seeds

    @property
    def store(self) -> Path:
        """Where finished work is kept."""
        return self.output / "store"

    @property
    def llm_cache(self) -> Path | str:
        """Where paid LLM replies are kept: a file, or a server's URL."""
        return self.run.llm_cache or self.output / "llm_cache.sqlite"

    @property
    def may_have_replies(self) -> bool:
        """Whether there may be some already; a server is not asked."""
        return isinstance(self.llm_cache, str) or self.llm_cache.exists()

    @property
    def workers(self) -> int:
        """Worker processes: as configured, or one a core that this process may use."""
        return self.run.workers or usable_cores()

    @property
    def fingerprint(self) -> str:
        """A text that is the same for equal configurations; no section is read for it."""
        held = {name: self.__dict__[name] for name in type(self).model_fields}
        plain = {name: v.given if isinstance(v, Section) else v for name, v in held.items()}
        return canonical_json({n: v.plain() if isinstance(v, Settings) else repr(v) for n, v in plain.items()})

    @property
    def settings(self) -> str:
        """The same for configurations that make the same, whoever carries them out."""
        return digest(self.with_run(workers=1, executor="local").fingerprint)

    def check_given(self) -> None:
        """Raise InputError where a section that was given cannot be used, so that nothing is measured in vain."""
        held = (self.__dict__[name] for name in SECTIONS)
        for section in (one for one in held if isinstance(one, Section) and one.is_given):
            section.settings  # noqa: B018

    def changed(self, section: str, **changes: Any) -> Config:
        """A copy with these values in a section, e.g. ``align`` or ``decompose.llm``; they are not checked again."""
        outer, _, name = section.rpartition(".")
        held = getattr(self, outer) if outer else self
        made = getattr(held, name).model_copy(update=changes)
        return self.changed(outer, **{name: made}) if outer else self.model_copy(update={name: made})

    def with_run(self, **changes: Any) -> Config:
        """A copy with other run settings (the command line's --workers, --limit)."""
        return self.changed("run", **{name: value for name, value in changes.items() if value is not None})

    def with_stages(self, names: Collection[str]) -> Config:
        """A copy that leaves none of the stages ``names`` out, whatever is configured: somebody asks for them."""
        config = self.with_run(skip_stages=tuple(name for name in self.run.skip_stages if name not in names))
        if "align" in names:
            config = config.changed("align", enabled=True)
        if self.run.last_stage is not None and "report" not in names:
            config = config.changed("run", last_stage=None)
        return config

    def with_llm(self, **changes: Any) -> Config:
        """A copy with other settings of the language model (the command line's --allow-host, --pseudonyms)."""
        given = {name: value for name, value in changes.items() if value is not None}
        if not given:
            return self
        config = self.changed("decompose.llm", **given)
        return config.model_copy(update={"align": self.align.consented(given.get("allow_host"))})

    def with_audit(self, sessions: int | None = None) -> Config:
        """A copy that audits: ``sessions`` sessions, or as many as configured, or ``AUDITED_SESSIONS``.

        Raises InputError: No method of the configuration asks a language model.
        """
        if self.decompose.audited_method is None:
            raise InputError(
                f"methods {', '.join(self.decompose.methods)}: none of them asks a language model, so "
                "there is nothing to audit. Add llm or llm-multimodal."
            )
        count = sessions or self.decompose.audit.sessions or AUDITED_SESSIONS
        return self.changed("decompose.audit", sessions=count)

    def with_algorithm(self, algorithm: str) -> Config:
        """A copy that aligns by ``algorithm``.

        Raises InputError: Settings that do not suit it.
        """
        values = {**self.align.model_dump(exclude_unset=True), "algorithm": algorithm}
        try:
            align = type(self.align).model_validate(values)
        except ValidationError as error:
            raise InputError(f"align {algorithm}: {'; '.join(problems(error))}.") from None
        return self.model_copy(update={"align": align})

    def with_align(self, base: Path, called: Callable[[str], str] = str, **changes: Any) -> Config:
        """A copy with other keys of [align], None left out; folders are found from ``base``.

        ``called`` is what the caller calls a key, for errors.

        Raises InputError: A value that is not allowed, or settings that do not suit each other.
        """
        given = {name: value for name, value in changes.items() if value is not None}
        if not given:
            return self
        try:
            # What the preset brought is not the user's: beside other keys it may bring something else.
            own = self.align.model_dump(exclude_unset=True, exclude=set(self.align.brought))
            align = type(self.align).model_validate({**own, **given})
        except ValidationError as error:
            raise InputError(f"align: {'; '.join(problems(error, called))}.") from None
        found = align.found_from(base)
        return self.model_copy(update={"align": align.model_copy(update={n: getattr(found, n) for n in given})})

    def with_emotion_model(self, setting: str, base: Path) -> Config:
        """A copy with another emotion model: ``auto``, ``none`` or a path relative to ``base``."""
        features = self.features.model_copy(update={"emotion_model": setting}).found_from(base)
        return self.model_copy(update={"features": features})


def sections_with(preset: str) -> dict[str, type[PresetSettings]]:
    """The sections of a configuration that have this preset, in their order."""
    kinds = {name: section_class(name) for name in SECTIONS}
    return {name: k for name, k in kinds.items() if issubclass(k, PresetSettings) and preset in k.PRESETS}


def load_config(path: str | Path, preset: str | None = None, checked: Collection[str] = SECTIONS) -> Config:
    """Read a TOML configuration; ``preset`` goes before the one that it names.

    The sections ``checked`` are checked at once, the others when they are first asked for.

    Raises InputError: Missing or unreadable file, TOML syntax, an unknown key (with the nearest known one), a value out
    of range.
    """
    path = Path(path)
    check_path(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path}: {path.stat().st_size:,} bytes; a configuration has at most {MOST_BYTES:,}.")
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file. Make one with `apportion init CORPUS --output {path}`.") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; name the TOML file in it, or make one with `apportion init`.") from None
    except PermissionError:
        raise InputError(f"{path}: no permission to read it. Check its owner and mode.") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}. Save the file as UTF-8.") from None
    except NotADirectoryError:
        raise InputError(f"{path}: a folder on the way to it is a file. Check the path.") from None
    except ValueError as error:  # Of TOML, and of an integer of thousands of digits.
        raise InputError(f"{path}: not valid TOML: {error}. Correct that line.") from None
    except RecursionError:
        raise InputError(f"{path}: nested too deeply to read. No setting is; remove the brackets.") from None
    _check_texts(values, str(path))
    if preset is not None:
        values["preset"] = preset
    base = path.resolve().parent
    context = {"source": str(path), "base": base, "checked": checked}
    config = _anchored(_checked(values, context), base)
    for place in (config.__dict__["corpus"], config.output):
        if isinstance(place, Path):
            check_path(place)
    return config


def _check_texts(value: Any, source: str, place: str = "") -> None:
    """Refuse what no path and no name can hold, before it is taken for one."""
    if isinstance(value, str) and "\0" in value:
        raise InputError(f"{source}: {place} = {value!r}: holds the character NUL. Remove it.")
    inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for name, item in inner:
        _check_texts(item, source, f"{place}.{name}" if place else str(name))


def _checked(values: Mapping[str, Any], context: Mapping[str, Any]) -> Config:
    try:
        return Config.model_validate(values, context=dict(context))
    except ValidationError as error:
        raise cannot_be_used(error, context["source"], top=Config) from None


def _anchored(config: Config, base: Path) -> Config:
    paths = ("recorded", "record", "llm_cache", "prices", "tensorboard")
    given = {name: getattr(config.run, name) for name in paths}
    run = {name: found_from(base, path) for name, path in given.items() if isinstance(path, Path)}
    given = {name: config.__dict__[name] for name in ("corpus", "output", "frozen")}
    places = {name: found_from(base, place) for name, place in given.items() if isinstance(place, Path)}
    return config.changed("run", **run).model_copy(update=places)


def shown_config(config: Config) -> dict[str, Any]:
    """The configuration without paths and worker counts, which say nothing about the results."""
    shown: dict[str, Any] = json.loads(config.model_dump_json(exclude={"corpus", "output", "frozen", *SECTIONS}))
    shown |= {name: getattr(config, name).shown() for name in SECTIONS}
    shown["features"] = _shown_features(config.features)
    if config.frozen is not None:
        shown["frozen"] = config.frozen.name
    chosen = {"last_stage": config.run.last_stage, "skip_stages": list(config.run.skip_stages)}
    if config.run.sessions is not None:
        chosen["sessions"] = list(config.run.sessions)
    shown["run"] = {"threads": config.run.threads, "limit": config.run.limit, **chosen}
    return shown


def _shown_features(settings: FeatureSettings) -> dict[str, Any]:
    from apportion.features.emotion_model.choice import shown_emotion_model
    from apportion.features.face.choice import chosen_detector

    shown = {name: value for name, value in settings.shown().items() if name not in settings.SET_BY_THE_RUN}
    model = shown_emotion_model(settings.emotion_model)
    return {**shown, "detector": chosen_detector(settings), "emotion_model": model}
