"""The published emotion models: where each comes from, where it is kept here, and whether it is the right file."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from apportion.features.emotion_model.sidecar import EmotionSidecar, sidecar_path
from apportion.foundation.cache_dir import cache_folder
from apportion.foundation.errors import InputError
from apportion.foundation.files import check_file, place_file, write_atomically
from apportion.foundation.model_hub.download import DownloadError, Progress, download, fetching
from apportion.foundation.model_hub.mesh import MESH
from apportion.foundation.model_hub.names import FETCHED

PINNED = (
    "https://github.com/sb-ai-lab/EmotiEffLib/blob/f1df0e8548c666d268826e50b7de107fd5553e9d/"
    "models/affectnet_emotions/onnx"
)
"""A commit, so that the files behind the addresses never change."""
TERMS = "weights trained on VGGFace2 and AffectNet: research terms; code of HSEmotion / EmotiEffLib: Apache-2.0"
MAX_BYTES = 200 * 2**20
EMOTION = "emotion"
"""The name that stands for the default model."""


@dataclass(frozen=True)
class PinnedModel:
    """One published model.

    ``git_blob`` is git's id of the file (sha1 of ``blob <size>``, a zero byte and the content), which fixes size and
    content; ``accuracy_8`` and ``accuracy_7`` are its authors' figures on AffectNet with 8 and 7 classes, in per cent.
    """

    name: str
    git_blob: str
    input_px: int
    accuracy_8: float
    accuracy_7: float

    @property
    def url(self) -> str:
        """Where it is published."""
        return f"{PINNED}/{self.name}.onnx?raw=true"


MODELS = (
    PinnedModel("enet_b0_8_best_vgaf", "49772db4e87ee6df57087fba131832a959e5c64d", 224, 61.32, 64.57),
    PinnedModel("enet_b0_8_best_afew", "d87faf71e8756d68c701ffd88b4cde4be460f57d", 224, 60.95, 64.63),
    PinnedModel("enet_b0_8_va_mtl", "7ce9d6dd5b82b260bc19bfe7822a6ffa1abb6011", 224, 61.93, 64.94),
    PinnedModel("enet_b2_8", "a7cb612cbab1ce3d50dd52e57285fb2c7ea6d0d9", 260, 63.03, 66.29),
)
"""The default first."""


def pinned(name: str) -> PinnedModel:
    """The model of this name, or the default for ``emotion``; raises ``InputError`` with the known names."""
    for model in MODELS:
        if name in (model.name, EMOTION):
            return model
    known = ", ".join((EMOTION, *(model.name for model in MODELS), MESH, *FETCHED))
    raise InputError(
        f"no model {name!r}. Known: {known}. Any other ONNX file is used by its path, as the emotion model."
    )


def place(model: PinnedModel) -> Path:
    """Where the model's file is kept, whether it is there or not."""
    return cache_folder() / "models" / f"{model.name}.onnx"


def find(model: PinnedModel) -> Path | None:
    """The model's file in the cache if it is there, can be read and is the published one."""
    try:
        path = place(model)
        status = path.stat()
        right = _remembered_blob(path, status.st_size, status.st_mtime_ns) == model.git_blob
    except (OSError, InputError):
        return None
    return path if right else None


@lru_cache(maxsize=16)
def _remembered_blob(path: Path, size: int, modified_ns: int) -> str:
    return git_blob(path)


def git_blob(path: Path) -> str:
    """Git's id of a file's content: sha1 of ``blob <size>``, a zero byte and the content."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def fetch(name: str, source: Path | None = None, url: str | None = None, progress: Progress | None = None) -> Path:
    """Put a published model into the user cache, verified, with its sidecar; does nothing where it is there already.

    ``name``: of a model, or ``emotion``. ``source``: a local copy to install instead of downloading; it is left where
    it is. ``url``: another address of the same file (a mirror); what comes from it is verified just the same.
    ``progress``: called as ``progress(done, total)`` with bytes; ``total`` is None where the server does not say.
    Raises ``InputError``: unknown name, ``source`` missing or another file, no permission, another fetch at work.
    ``DownloadError``: no network, a server's error, a broken or too long download, or content that is not the published
    file.
    """
    model = pinned(name)
    path = place(model)
    if find(model) is not None and _sidecar_is_right(model, path):
        return path
    with fetching(path.parent, path):
        if find(model) is None:
            _install(model, path, source, url, progress)
        _write_sidecar(model, path)
    return path


def _install(model: PinnedModel, path: Path, source: Path | None, url: str | None, progress: Progress | None) -> None:
    """Copy or download to a part file, verify that, and only then give it its name."""
    part = path.with_name(f".{path.name}.part")
    try:
        if source is not None:
            _copy(source, part)
        else:
            download(url or model.url, part, MAX_BYTES, _by_hand(model, url), progress)
        if git_blob(part) != model.git_blob:
            raise _wrong_file(model, part, source, url)
        place_file(part, path)
    finally:
        part.unlink(missing_ok=True)


def _copy(source: Path, part: Path) -> None:
    advice = "Give the ONNX file itself."
    check_file(source, str(source), advice)
    if source.stat().st_size > MAX_BYTES:
        raise InputError(f"{source}: more than {MAX_BYTES // 2**20} MiB. {advice}")
    shutil.copyfile(source, part)


def _wrong_file(model: PinnedModel, part: Path, source: Path | None, url: str | None) -> Exception:
    fetched = f"git blob {git_blob(part)}, {part.stat().st_size:,} bytes; {model.git_blob} is the published one"
    if source is not None:
        return InputError(
            f"{source}: not {model.name} ({fetched}). Nothing was installed. It is published at {model.url}. "
            "Another model is used by its path, as the emotion model."
        )
    return DownloadError(f"{url or model.url}: not {model.name} ({fetched}). It was deleted. {_by_hand(model, url)}")


def _by_hand(model: PinnedModel, url: str | None) -> str:
    return (
        f"Try again later, or get {'it' if url is None else model.url} on another machine, bring the file here and "
        f"install it: apportion models fetch {model.name} --from FILE"
    )


def _write_sidecar(model: PinnedModel, path: Path) -> None:
    """All that the file may not say of itself; an equal one is left alone, so that its time stays."""
    if _sidecar_is_right(model, path):
        return
    sidecar = sidecar_path(path)
    write_atomically(sidecar, _sidecar_text(model))


def _sidecar_is_right(model: PinnedModel, path: Path) -> bool:
    try:
        return sidecar_path(path).read_text(encoding="utf-8", errors="replace") == _sidecar_text(model)
    except OSError:
        return False


def _sidecar_text(model: PinnedModel) -> str:
    return EmotionSidecar(input_px=model.input_px).model_dump_json(indent=1) + "\n"
