"""Which emotion model a run uses, and what it is known by."""

from __future__ import annotations

import hashlib
from pathlib import Path

from apportion.features.emotion_model.expression_pair import PAIR, ExpressionPair, expression_pair
from apportion.features.emotion_model.network import EmotionModel, emotion_model
from apportion.features.emotion_model.published import MODELS, PinnedModel, find, place
from apportion.features.emotion_model.sidecar import sidecar_path
from apportion.features.settings import AUTO, NONE
from apportion.foundation.errors import InputError
from apportion.foundation.files import check_file, remembered_digest
from apportion.foundation.model_hub.mesh import find_mesh

PAIR_TOLD = (
    "emotions are read by two small networks together, face-api and mini-Xception. Of 129 stills of strangers they have"
    " 43 of 52 neutral faces right, 58 of 59 happy, 6 of 6 surprised, 3 of 4 angry, 2 of 4 disgusted, 1 of 2 sad and 2 "
    "of 2 afraid; contempt they do not know, and its rows stay empty. All eight, by a network trained on AffectNet: "
    "`apportion models fetch emotion`."
)


def resolve_emotion_model(setting: str) -> Path | None:
    """The file that ``apportion.features.emotion_model`` means, or None where emotion is not measured.

    ``auto`` is the first model of ``emotion_model.published.MODELS`` that is in the user cache and verified, else the
    pair that came with the face mesh; anything but ``auto`` and ``none`` is the path of an ONNX file. Raises
    ``InputError`` for a path at which there is no file.
    """
    if setting == NONE:
        return None
    if setting == AUTO:
        mesh = find_mesh()
        return next((path for path in map(find, MODELS) if path is not None), mesh and mesh / PAIR[0])
    path = Path(setting)
    check_file(
        path,
        f"emotion_model = {setting!r}",
        f"Allowed: {AUTO!r} (the model that `apportion models fetch emotion` got), {NONE!r}, or the path of an ONNX "
        "file.",
    )
    return path


def is_pair(path: Path) -> bool:
    """Whether ``path`` stands for the pair of small networks."""
    return path.name == PAIR[0]


def load_emotions(path: Path) -> EmotionModel | ExpressionPair:
    """What `resolve_emotion_model` gave, opened once a process. Raises ``InputError``: it is no such network."""
    return expression_pair(path.parent) if is_pair(path) else emotion_model(path)


def emotion_identity(setting: str) -> str | None:
    """sha256 over the model's files, None without a model; the same for the same files anywhere.

    Raises ``InputError`` as ``resolve_emotion_model`` does, and where a file cannot be read.
    """
    path = resolve_emotion_model(setting)
    if path is None:
        return None
    files = [path.with_name(name) for name in PAIR] if is_pair(path) else [path, sidecar_path(path)]
    digests = [_sha256(file) for file in files]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def content_identity(path: Path | None) -> str | None:
    """sha256 of a model file that a setting names, None where it names none; empty where the file is missing.

    Raises ``InputError`` where the file cannot be read.
    """
    return None if path is None else _sha256(path)


def shown_emotion_model(setting: str) -> str:
    """What a report shows instead of a path: the file's name and identity, or the setting where there is no model."""
    path, identity = resolve_emotion_model(setting), emotion_identity(setting)
    return setting if path is None or identity is None else f"{path.name} (sha256 {identity[:16]})"


def missing_emotion(setting: str) -> str | None:
    """A warning where a model is wanted and there is none, or the pair stands in; None where there is one, or ``none``
    was asked for."""
    found = resolve_emotion_model(setting)
    if setting != AUTO or found is not None:
        return PAIR_TOLD if found is not None and is_pair(found) else None
    damaged = [model.name for model in MODELS if is_there(model)]
    state = f"the fetched emotion model {damaged[0]} is damaged" if damaged else "no emotion model is installed"
    return (
        f"{state}: the eight emotions stay empty, descriptors leave them out, and the local difference goes by the "
        "smile. Get seven of them with `apportion models fetch mesh`, or all with `apportion models fetch emotion`, "
        f'name an ONNX file as emotion_model, or set emotion_model = "{NONE}".'
    )


def is_there(model: PinnedModel) -> bool:
    """Whether a file lies at the model's place, whatever it holds; False where that cannot be looked into."""
    try:
        return place(model).exists()
    except (InputError, OSError):
        return False


def _sha256(path: Path) -> str:
    """Of the file's content; empty where there is none (a sidecar is optional)."""
    try:
        return remembered_digest(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}). Change its owner or mode.") from None
