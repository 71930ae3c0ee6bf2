"""Fetching a pinned model from a real server on loopback: what is verified, what is refused, what is left behind."""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from apportion.features.emotion_model import published as model_files
from apportion.features.emotion_model.network import EmotionModel
from apportion.features.emotion_model.published import MODELS, PinnedModel, fetch, find, git_blob, pinned, place
from apportion.features.emotion_model.sidecar import sidecar_path
from apportion.foundation.errors import InputError
from apportion.foundation.model_hub.download import DownloadError, download
from tests.features.emotion_models import small_model
from tests.foundation.model_hub.file_server import FileServer, file_server


def blob(content: bytes) -> str:
    return hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    """A model that works, made longer than one block of the download by a tensor that nothing reads."""
    from onnx import numpy_helper

    from tests.features.emotion_models import graph, save

    made = graph(shape=("n", 3, "h", "w"))
    made.initializer.append(numpy_helper.from_array(np.arange(100_000, dtype=np.float32), "ballast"))
    return save(tmp_path / "published.onnx", made).read_bytes()


@pytest.fixture
def tiny(content: bytes, cache: Path, monkeypatch: pytest.MonkeyPatch) -> PinnedModel:
    """The published table with one model in it, whose content the test has."""
    model = PinnedModel("tiny", blob(content), 96, 0.0, 0.0)
    monkeypatch.setattr(model_files, "MODELS", (model,))
    return model


@pytest.fixture
def server(content: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    with file_server(content, monkeypatch) as running:
        yield running


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {".lock"} if folder.is_dir() else set()


def test_the_pinned_addresses_and_hashes() -> None:
    assert MODELS[0].url == (
        "https://github.com/sb-ai-lab/EmotiEffLib/blob/f1df0e8548c666d268826e50b7de107fd5553e9d/models/"
        "affectnet_emotions/onnx/enet_b0_8_best_vgaf.onnx?raw=true"
    )
    assert [model.name for model in MODELS] == [
        "enet_b0_8_best_vgaf", "enet_b0_8_best_afew", "enet_b0_8_va_mtl", "enet_b2_8",
    ]  # fmt: skip
    assert all(len(bytes.fromhex(model.git_blob)) == 20 for model in MODELS)
    assert pinned("emotion") is MODELS[0] and pinned("enet_b2_8").input_px == 260


def test_git_blob_is_git_s(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"abc\0" * 700_000)
    try:
        said = subprocess.run(["git", "hash-object", "--no-filters", str(path)], capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("git is not installed")
    assert git_blob(path) == said.stdout.strip()


def test_without_a_home_no_model_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("APPORTION_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert find(MODELS[0]) is None


@pytest.mark.parametrize("way", ["plain", "unsized", "redirect/plain", "redirect/redirect/unsized"])
def test_a_fetched_model_is_verified_and_works(way: str, tiny: PinnedModel, server: FileServer, cache: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    path = fetch("emotion", url=f"{server.url}/{way}", progress=lambda done, total: seen.append((done, total)))
    assert path == place(tiny) == cache / "tiny.onnx" == find(tiny)
    assert path.read_bytes() == server.content
    assert files(cache) == {"tiny.onnx", "tiny.onnx.json"}
    assert seen[-1] == (len(server.content), None if "unsized" in way else len(server.content))
    assert EmotionModel.load(path).input_px == 96


def test_a_second_fetch_asks_nobody_and_changes_nothing(tiny: PinnedModel, server: FileServer, cache: Path) -> None:
    path = fetch("tiny", url=f"{server.url}/plain")
    before = {p.name: p.stat().st_mtime_ns for p in cache.iterdir() if p.name != ".lock"}
    assert fetch("tiny", url=f"{server.url}/plain") == path
    assert server.asked == ["/plain"]
    assert {p.name: p.stat().st_mtime_ns for p in cache.iterdir() if p.name != ".lock"} == before


@pytest.mark.parametrize(
    ("way", "message"),
    [
        (
            "wrong",
            r"not tiny \(git blob [0-9a-f]{40}, [\d,]+ bytes; [0-9a-f]{40} is the published one\)\. It was deleted",
        ),
        ("missing", "the server says 404 Not Found"),
        ("broken", "the server says 503 Busy"),
        ("short", r"broke off after [\d,]+ of [\d,]+ bytes"),
        ("hangup", "cannot be reached|broke off"),
        ("chunked", "broke off after"),
        ("noise", "cannot be reached|not tiny"),
        ("huge", "more than 200 MiB"),
        ("loop", "Exceeded 30 redirects"),
        ("tofile", "No connection adapters"),
        ("redirect/missing", "404"),
        ("redirect/wrong", "not tiny"),
    ],
)
def test_a_failed_fetch_leaves_nothing_and_the_next_one_works(
    way: str, message: str, tiny: PinnedModel, server: FileServer, cache: Path
) -> None:
    with pytest.raises(DownloadError, match=message) as failed:
        fetch("tiny", url=f"{server.url}/{way}")
    assert "apportion models fetch tiny --from FILE" in str(failed.value) and tiny.url in str(failed.value)
    assert files(cache) == set()
    assert find(tiny) is None
    assert fetch("tiny", url=f"{server.url}/plain").read_bytes() == server.content


def test_a_silent_server_and_more_than_the_limit(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"silent for 0\.2 s\. Do this"):
        download(f"{server.url}/silent", tmp_path / "f", 10**9, "Do this", timeout_s=0.2)
    target = tmp_path / "f"
    with pytest.raises(DownloadError, match="more than"):
        download(f"{server.url}/unsized", target, 100_000, "")
    assert target.stat().st_size <= 100_000


def test_no_server_and_no_name(tiny: PinnedModel, cache: Path, server: FileServer) -> None:
    closed = server.url
    server.shutdown()
    server.server_close()
    for url in (f"{closed}/plain", "http://no-such-host.invalid/file"):
        with pytest.raises(
            DownloadError, match=r"cannot be reached \(.+\)\. Try again later, or get https://github.com"
        ):
            fetch("tiny", url=url)
    assert files(cache) == set()


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://h/f",
        "https://",
        "h/f",
        "http://[",
        "http://h:99999/",
        "http://h/ü",
        "http://h/a b\n",
    ],
)
def test_an_address_that_is_no_http_is_refused(url: str, tiny: PinnedModel, cache: Path) -> None:
    with pytest.raises(InputError, match="no usable address"):
        fetch("tiny", url=url)
    assert files(cache) == set()


def test_an_address_with_a_password_is_refused_and_not_shown(tiny: PinnedModel) -> None:
    with pytest.raises(InputError) as refused:
        fetch("tiny", url="https://me:secret@host/f")
    assert "secret" not in str(refused.value)


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(InputError, match=r"no model 'enet'\. Known: emotion, enet_b0_8_best_vgaf"):
        pinned("enet")


def test_a_local_file_is_verified_copied_and_kept(
    tiny: PinnedModel, content: bytes, tmp_path: Path, cache: Path
) -> None:
    source = tmp_path / "brought.onnx"
    source.write_bytes(content[:-1] + b"?")
    with pytest.raises(InputError, match=r"brought\.onnx: not tiny .* Nothing was installed"):
        fetch("tiny", source)
    assert source.exists() and files(cache) == set()
    source.write_bytes(content)
    assert fetch("tiny", source).read_bytes() == content
    assert source.exists() and files(cache) == {"tiny.onnx", "tiny.onnx.json"}


def test_local_files_that_cannot_be_taken(
    tiny: PinnedModel, content: bytes, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="no such file"):
        fetch("tiny", tmp_path / "none")
    with pytest.raises(InputError, match="a folder"):
        fetch("tiny", tmp_path)
    (tmp_path / "big").write_bytes(content)
    monkeypatch.setattr(model_files, "MAX_BYTES", 10)
    with pytest.raises(InputError, match="more than 0 MiB"):
        fetch("tiny", tmp_path / "big")
    assert files(cache) == set()


def test_a_cache_in_which_nothing_can_be_written_serves_what_it_has(
    tiny: PinnedModel, server: FileServer, cache: Path
) -> None:
    path = fetch("tiny", url=f"{server.url}/plain")
    (cache / ".lock").unlink()
    (cache / ".lock").mkdir()
    assert fetch("tiny") == path
    sidecar_path(path).unlink()
    with pytest.raises(InputError, match=r"\.lock: Is a directory"):
        fetch("tiny")


def test_a_damaged_file_in_the_cache_is_not_found_and_is_fetched_anew(
    tiny: PinnedModel, server: FileServer, content: bytes
) -> None:
    path = fetch("tiny", url=f"{server.url}/plain")
    path.write_bytes(content[:1000])
    assert find(tiny) is None
    assert fetch("tiny", url=f"{server.url}/plain").read_bytes() == content
    assert find(tiny) == path


def test_what_a_killed_fetch_left_is_overwritten(tiny: PinnedModel, server: FileServer, cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / ".tiny.onnx.part").write_bytes(b"half" * 10**6)
    assert fetch("tiny", url=f"{server.url}/plain").read_bytes() == server.content
    assert files(cache) == {"tiny.onnx", "tiny.onnx.json"}


def test_only_one_fetch_at_a_time(tiny: PinnedModel, server: FileServer, cache: Path) -> None:
    cache.mkdir(parents=True)
    with (cache / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another `apportion models fetch` is at work"):
            fetch("tiny", url=f"{server.url}/plain")
    assert fetch("tiny", url=f"{server.url}/plain").is_file()


def test_an_interrupted_fetch_leaves_nothing(tiny: PinnedModel, server: FileServer, cache: Path) -> None:
    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("tiny", url=f"{server.url}/plain", progress=stop)
    assert files(cache) == set()


def test_a_cache_that_cannot_be_written(tiny: PinnedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match="set APPORTION_CACHE to a folder of yours"):
        fetch("tiny")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_not_called_a_network_fault(server: FileServer) -> None:
    with pytest.raises(OSError, match="No space left on device"):
        download(f"{server.url}/plain", Path("/dev/full"), 10**9, "")


def test_proxies_of_the_environment_are_used(
    tiny: PinnedModel, server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("http_proxy", f"{server.url}/")
    with pytest.raises(DownloadError):
        fetch("tiny", url="http://far-away.invalid/plain")
    assert server.asked == ["http://far-away.invalid/plain"]


def test_a_model_that_is_not_ours_stays_unread(tiny: PinnedModel, cache: Path, tmp_path: Path) -> None:
    cache.mkdir(parents=True)
    small_model(cache / "tiny.onnx")
    assert find(tiny) is None
    (cache / "tiny.onnx").unlink()
    (cache / "tiny.onnx").mkdir()
    assert find(tiny) is None
