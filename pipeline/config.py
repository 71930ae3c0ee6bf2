"""The run's configuration: one TOML file, checked key by key."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from apportion.corpus.splits.settings import SplitSettings
from apportion.decompose.methods import section_classes
from apportion.decompose.settings import DecomposeSettings
from apportion.evaluation.settings import EvaluationSettings
from apportion.features.emotion_model.choice import AUTO, NONE, shown_emotion_model
from apportion.features.face.choice import chosen_detector
from apportion.features.settings import DescriptorSettings, FeatureSettings
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.files import check_path
from apportion.foundation.presets import PresetSettings
from apportion.foundation.settings import Place, Settings, problems
from apportion.llm_client.prompts.prompt_file import is_path
from apportion.reward_model.settings import MINILM, RewardModelSettings
from apportion.rlhf.policy.loading import is_folder_name
from apportion.rlhf.resolve_paths import consented, found_from
from apportion.rlhf.resolve_paths import shown as shown_choices
from apportion.rlhf.settings import AlignSettings

PresetName = Literal["paper", "savoir"]
PRESET_NAMES: tuple[str, ...] = get_args(PresetName)
"""The presets of a whole configuration; a section may have more of its own."""
AUDITED_SESSIONS = 20
"""Sessions that `apportion run --only audit` takes where the configuration has no number."""


class RunSettings(Settings):
    """How the work is carried out; of these only ``threads`` changes results (by bits) and enters a key."""

    threads: int = Field(1, ge=1, description="torch threads a unit; results depend on it by bits, so it is fixed here")
    workers: int = Field(0, ge=0, description="worker processes; 0 takes one a core")
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
    llm_cache: Path | None = Field(None, description="the LLM reply cache; default: OUTPUT/llm_cache.sqlite")
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


class Config(Settings):
    """Everything a run depends on. Relative paths are relative to the configuration file."""

    corpus: Path = Field(description="the corpus folder, made by `apportion import`")
    output: Path = Field(Path("runs/default"), description="the run folder; its store/ keeps finished work")
    rating: str | None = Field(None, description="which rating to decompose; needed where a corpus has several")
    preset: PresetName | None = Field(
        None,
        description="settings by name, in every section that has that preset, below all keys that are given: paper is "
        "LLM-GELI as published, savoir is SAVOIR",
    )
    seeds: tuple[int, ...] = Field((0,), min_length=1, description="seeds of everything that is trained")
    notes: tuple[str, ...] = Field((), description="sentences that the report shows, e.g. that the data is synthetic")
    run: RunSettings = RunSettings()
    split: SplitSettings = SplitSettings()
    features: FeatureSettings = FeatureSettings()
    verbalize: DescriptorSettings = DescriptorSettings()
    decompose: DecomposeSettings = DecomposeSettings()
    train_reward: RewardModelSettings = RewardModelSettings()
    evaluate: EvaluationSettings = EvaluationSettings()
    align: AlignSettings = AlignSettings()

    @model_validator(mode="before")
    @classmethod
    def _preset_of_sections(cls, values: Any) -> Any:
        name = values.get("preset") if isinstance(values, Mapping) else None
        if name not in PRESET_NAMES:
            return values
        given = {section: values.get(section, {}) for section in sections_with(str(name))}
        # A section that is no table is a mistake that its field will tell; one made whole has its values.
        named = {section: {"preset": name, **own} for section, own in given.items() if isinstance(own, Mapping)}
        return {**values, **named}

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
    def llm_cache(self) -> Path:
        """Where paid LLM replies are kept."""
        return self.run.llm_cache or self.output / "llm_cache.sqlite"

    @property
    def workers(self) -> int:
        """Worker processes: as configured, or one a core that this process may use."""
        return self.run.workers or len(os.sched_getaffinity(0))

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
        align = consented(self.align, given.get("allow_host"))
        return self.changed("decompose.llm", **given).model_copy(update={"align": align})

    def with_audit(self, sessions: int | None = None) -> Config:
        """A copy that audits: ``sessions`` sessions, or as many as configured, or ``AUDITED_SESSIONS``.

        Raises
        ------
        InputError
            No method of the configuration asks a language model.
        """
        if self.decompose.audited_method is None:
            raise InputError(
                f"decompose.methods = {', '.join(self.decompose.methods)}: none of them asks a language model, so "
                "there is nothing to audit. Add llm or llm-multimodal."
            )
        count = sessions or self.decompose.audit.sessions or AUDITED_SESSIONS
        return self.changed("decompose.audit", sessions=count)

    def with_algorithm(self, algorithm: str) -> Config:
        """A copy that aligns by ``algorithm``.

        Raises
        ------
        InputError
            Settings that do not suit it.
        """
        values = {**self.align.model_dump(exclude_unset=True), "algorithm": algorithm}
        try:
            align = AlignSettings.model_validate(values)
        except ValidationError as error:
            raise InputError(f"align {algorithm}: {'; '.join(problems(error))}.") from None
        return self.model_copy(update={"align": align})

    def with_align(self, base: Path, called: Callable[[str], str] = str, **changes: Any) -> Config:
        """A copy with other keys of [align], None left out; folders are found from ``base``.

        ``called`` is what the caller calls a key, for errors.

        Raises
        ------
        InputError
            A value that is not allowed, or settings that do not suit each other.
        """
        given = {name: value for name, value in changes.items() if value is not None}
        if not given:
            return self
        try:
            # What the preset brought is not the user's: beside other keys it may bring something else.
            own = self.align.model_dump(exclude_unset=True, exclude=set(self.align.brought))
            align = AlignSettings.model_validate({**own, **given})
        except ValidationError as error:
            raise InputError(f"align: {'; '.join(problems(error, called))}.") from None
        changed = self.model_copy(update={"align": align})
        if "reward_model" in given:
            changed = changed.with_reward_model(base)
        return changed.with_policy(base) if "policy" in given else changed

    def with_emotion_model(self, setting: str, base: Path) -> Config:
        """A copy with another emotion model: ``auto``, ``none`` or a path relative to ``base``."""
        if setting not in (AUTO, NONE):
            # Not Path.expanduser: a user that does not exist is no error here, the file is only not found.
            setting = os.path.normpath(base / os.path.expanduser(setting))  # noqa: PTH111
        return self.changed("features", emotion_model=setting)

    def with_policy(self, base: Path) -> Config:
        """A copy whose policy, where it is a folder, is found from ``base``."""
        path = _model_folder(self.align.policy, base, bundled="tiny")
        return self if path is None else self.changed("align", policy=path)

    def with_backbone(self, base: Path) -> Config:
        """A copy whose reward model's backbone, where it is a folder, is found from ``base``."""
        path = _model_folder(self.train_reward.backbone, base, bundled=MINILM)
        return self if path is None else self.changed("train_reward", backbone=path)

    def with_reward_model(self, base: Path) -> Config:
        """A copy whose reward model of another run is found from ``base``."""
        folder = self.align.reward_model
        if folder is None:
            return self
        path = Path(os.path.normpath(base / os.path.expanduser(folder)))  # noqa: PTH111
        return self.changed("align", reward_model=path)

    def with_prompt_file(self, base: Path) -> Config:
        """A copy whose prompt, where it is a file of the user's own, is found from ``base``."""
        name = self.decompose.llm.prompt
        if not is_path(name):
            return self
        path = os.path.normpath(base / os.path.expanduser(name))  # noqa: PTH111
        return self.changed("decompose.llm", prompt=path)


def _model_folder(name: str, base: Path, bundled: str) -> str | None:
    """The folder of a model, found from ``base``; None where it is ``bundled``, or a name at the Hub."""
    path = os.path.normpath(base / os.path.expanduser(name))  # noqa: PTH111
    # Not Path.is_dir, for which a name that is too long for a file is an error.
    folder = name != bundled and (is_folder_name(name) or os.path.isdir(path))  # noqa: PTH112
    return path if folder else None


def sections_with(preset: str) -> dict[str, type[PresetSettings]]:
    """The sections of a configuration that have this preset, in their order."""
    kinds = {name: field.annotation for name, field in Config.model_fields.items()}
    return {
        name: kind
        for name, kind in kinds.items()
        if isinstance(kind, type) and issubclass(kind, PresetSettings) and preset in kind.PRESETS
    }


def load_config(path: str | Path, preset: str | None = None) -> Config:
    """Read and check a TOML configuration; ``preset`` goes before the one that it names.

    Raises
    ------
    InputError
        Missing or unreadable file, TOML syntax, an unknown key (with the nearest known one), a value out of range.
    """
    path = Path(path)
    check_path(path)
    try:
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
    config = _anchored(_checked(values, str(path)), path.resolve().parent)
    for named in (config.corpus, config.output):
        check_path(named)
    return config


def _check_texts(value: Any, source: str, place: str = "") -> None:
    """Refuse what no path and no name can hold, before it is taken for one."""
    if isinstance(value, str) and "\0" in value:
        raise InputError(f"{source}: {place} = {value!r}: holds the character NUL. Remove it.")
    inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for name, item in inner:
        _check_texts(item, source, f"{place}.{name}" if place else str(name))


def _checked(values: Mapping[str, Any], source: str) -> Config:
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        lines = "\n".join(f"  {problem.rstrip('.')}." for problem in problems(error, unknown=_unknown))
        raise InputError(f"{source}: the configuration cannot be used.\n{lines}") from None


def _unknown(place: Place) -> str:
    allowed = _keys_at(place[:-1])
    return f"{did_you_mean(str(place[-1]), allowed, 'remove it.')} Allowed: {', '.join(allowed)}."


def _keys_at(loc: tuple[Any, ...]) -> list[str]:
    model: type[BaseModel] = Config
    for part in loc:
        inner = _keys_of(model)[str(part)]
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        model = inner
    return sorted(_keys_of(model))


def _keys_of(model: type[BaseModel]) -> dict[str, Any]:
    """The type of each key; packages' methods have sections among those of ours."""
    keys = {name: field.annotation for name, field in model.model_fields.items()}
    return {**keys, **section_classes()} if model is DecomposeSettings else keys


def _anchored(config: Config, base: Path) -> Config:
    def absolute(path: Path | None) -> Path | None:
        return None if path is None else Path(os.path.normpath(base / path.expanduser()))

    paths = ("recorded", "record", "llm_cache", "prices", "tensorboard")
    config = config.changed("run", **{name: absolute(getattr(config.run, name)) for name in paths})
    config = config.with_emotion_model(config.features.emotion_model, base)
    models = {name: absolute(getattr(config.features, name)) for name in ("yunet_model", "landmarker_model")}
    config = config.changed("features", **models)
    decompose = config.decompose
    config = config.changed("decompose.intensity", model=absolute(decompose.intensity.model))
    config = config.changed("decompose.reaction", pretrained=absolute(decompose.reaction.pretrained))
    config = config.changed("decompose", influence=decompose.influence.found_from(base))
    config = config.with_prompt_file(base).with_policy(base).with_backbone(base).with_reward_model(base)
    places = {"corpus": absolute(config.corpus), "output": absolute(config.output)}
    return config.model_copy(update={"align": found_from(config.align, base), **places})


def settings_of(model: BaseModel) -> dict[str, Any]:
    """A settings model as plain JSON values, for a key or a report."""
    plain: dict[str, Any] = json.loads(model.model_dump_json())
    return plain


def key_of(settings: Settings) -> dict[str, Any]:
    """A settings model as plain JSON values for a key, without the fields that its ``NOT_IN_KEY`` names."""
    return {name: value for name, value in settings_of(settings).items() if name not in settings.NOT_IN_KEY}


def shown_config(config: Config) -> dict[str, Any]:
    """The configuration without paths and worker counts, which say nothing about the results."""
    shown = settings_of(config)
    for name in ("corpus", "output"):
        shown.pop(name)
    shown["features"]["detector"] = chosen_detector(config.features)
    shown["features"].pop("auto_detector")
    shown["features"]["emotion_model"] = shown_emotion_model(config.features.emotion_model)
    for name in ("yunet_model", "landmarker_model"):
        shown["features"][name] = Path(shown["features"][name]).name if shown["features"][name] else None
    if config.decompose.intensity.model is not None:
        shown["decompose"]["intensity"]["model"] = config.decompose.intensity.model.name
    if config.decompose.reaction.pretrained is not None:
        shown["decompose"]["reaction"]["pretrained"] = config.decompose.reaction.pretrained.name
    shown["decompose"]["influence"] |= config.decompose.influence.shown()
    if is_path(config.decompose.llm.prompt):
        shown["decompose"]["llm"]["prompt"] = Path(config.decompose.llm.prompt).name
    if config.align.reward_model is not None:
        shown["align"]["reward_model"] = config.align.reward_model.name
    shown["align"] |= shown_choices(config.align)
    for section, key in (("align", "policy"), ("train_reward", "backbone")):
        if Path(name := shown[section][key]).is_absolute():
            shown[section][key] = Path(name).name
    chosen = {"last_stage": config.run.last_stage, "skip_stages": list(config.run.skip_stages)}
    if config.run.sessions is not None:
        chosen["sessions"] = list(config.run.sessions)
    shown["run"] = {"threads": config.run.threads, "limit": config.run.limit, **chosen}
    return shown
