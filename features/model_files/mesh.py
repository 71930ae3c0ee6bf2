"""The three networks of the face mesh: what they are, where they are kept, and how they come here.

They are MediaPipe's (Google, Apache-2.0), and lie in the wheel of its package: face detection (Bazarevsky et al., 2019,
"BlazeFace"), 468 points of a face (Kartynnik et al., 2019, "Real-time Facial Surface Geometry from Monocular Video on
Mobile GPUs") and the iris (Ablavatski et al., 2020, "Real-time Pupil Tracking from Monocular Video for Digital
Puppetry"). OpenCV runs them, so that the package itself is not needed.
"""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from features.model_files.cache import cache_folder, fetching
from foundation.errors import InputError
from foundation.files import check_file, remembered_digest, write_atomically

if TYPE_CHECKING:
    from features.model_files.download import Progress

MESH = "mesh"
"""The name under which they are fetched."""
TERMS = "MediaPipe's face detection, face mesh and iris: Apache-2.0"
PACKAGE, VERSION = "mediapipe", "0.10.21"
WHEEL = "mediapipe-0.10.21-cp312-cp312-manylinux_2_28_x86_64.whl"
"""The wheel that is asked for, whatever this machine is: only the networks are taken out, and all wheels hold the
same."""
MAX_WHEEL_BYTES = 200 * 2**20
BY_HAND = (
    f"Try again later, or on another machine: pip download --no-deps --only-binary :all: --python-version 3.12 "
    f"--platform manylinux_2_28_x86_64 {PACKAGE}=={VERSION}, bring the wheel here and install it: "
    f"apportion models fetch {MESH} --from {WHEEL}"
)


@dataclass(frozen=True)
class MeshFile:
    """One network: its place in the wheel, its size in bytes and the sha256 of its content."""

    member: str
    size: int
    sha256: str

    @property
    def name(self) -> str:
        """What it is called in the user's cache."""
        return self.member.rpartition("/")[2]


FACE = MeshFile(
    "mediapipe/modules/face_detection/face_detection_short_range.tflite",
    229_714,
    "bbff11cebd1eb27a1e004cae0b0e63ec8c551cbf34a4451148b4908b8db3eca8",
)
POINTS = MeshFile(
    "mediapipe/modules/face_landmark/face_landmark.tflite",
    1_242_398,
    "1055cb9d4a9ca8b8c688902a3a5194311138ba256bcc94e336d8373a5f30c814",
)
IRIS = MeshFile(
    "mediapipe/modules/iris_landmark/iris_landmark.tflite",
    2_640_568,
    "d1744d2a09c25f501d39eba4faff47e53ecca8852c5ce19bce8eeac39357521f",
)
FILES = (FACE, POINTS, IRIS)


def mesh_folder() -> Path:
    """Where the files are kept, whether they are there or not."""
    return cache_folder() / "models" / MESH


def find_mesh() -> Path | None:
    """The folder with all of `FILES` if each of them is there, can be read and is the published one."""
    try:
        folder = mesh_folder()
        whole = all(remembered_digest(folder / file.name) == file.sha256 for file in FILES)
    except (OSError, InputError):
        return None
    return folder if whole else None


def mesh_state() -> str:
    """What to tell where `find_mesh` gives None: that the files are missing, or that one is another file."""
    try:
        there = [file.name for file in FILES if (mesh_folder() / file.name).exists()]
    except (OSError, InputError):
        there = []
    return f"damaged ({mesh_folder()})" if len(there) == len(FILES) else "not here"


def fetch_mesh(source: Path | None = None, index: str | None = None, progress: Progress | None = None) -> Path:
    """Put the networks into the user cache, verified; does nothing where they are there already.

    Parameters
    ----------
    source
        A wheel of `PACKAGE` brought from elsewhere, to take them from; it is left where it is.
    index
        Address of a package index; that of pip without it.
    progress
        Called as ``progress(done, total)`` with bytes; ``total`` is None where the server does not say.

    Raises
    ------
    InputError
        ``source`` missing or without the files, an index that is no http(s) address, no permission, another fetch at
        work.
    DownloadError
        No network, a server's error, a broken download, an index without the wheel, a wheel without the files.
    """
    here = find_mesh()
    if here is not None:
        return here
    folder = mesh_folder()
    with fetching(folder, folder):
        contents = _brought(source) if source is not None else _downloaded(folder, index, progress)
        for file, content in contents.items():
            write_atomically(folder / file.name, content)
    return folder


def _brought(source: Path) -> dict[MeshFile, bytes]:
    advice = f"Nothing was installed. Give the wheel of {PACKAGE} {VERSION}."
    check_file(source, str(source), advice)
    try:
        return _networks(source)
    except _WheelError as error:
        raise InputError(f"{source}: {error}. {advice}") from None


def _downloaded(folder: Path, index: str | None, progress: Progress | None) -> dict[MeshFile, bytes]:
    """The networks out of the index's wheel, which is not kept."""
    from features.model_files.download import DownloadError, download
    from features.model_files.index import file_address, index_address

    part = folder / ".wheel.part"
    try:
        address = file_address(
            index.rstrip("/") if index else index_address(), PACKAGE, VERSION, WHEEL, part, f"{BY_HAND}."
        )
        download(address, part, MAX_WHEEL_BYTES, f"{BY_HAND}.", progress)
        return _networks(part)
    except _WheelError as error:
        raise DownloadError(f"{address}: {error}. It was deleted. {BY_HAND}.") from None
    finally:
        part.unlink(missing_ok=True)


class _WheelError(Exception):
    """A file that is not the wheel, or does not hold the networks."""


def _networks(wheel: Path) -> dict[MeshFile, bytes]:
    """The content of every file, verified."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            return {file: _member(archive, file) for file in FILES}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _WheelError(f"not a wheel, or a broken one ({error})") from None


def _member(archive: zipfile.ZipFile, file: MeshFile) -> bytes:
    try:
        told = archive.getinfo(file.member)
    except KeyError:
        raise _WheelError(f"{file.member} is not in it") from None
    # Nothing larger is unpacked, whatever the archive says of it.
    with archive.open(told) as packed:
        content = packed.read(file.size + 1)
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise _WheelError(f"{file.member} is another file (sha256 {found}; {file.sha256} is the published one)")
    return content
