"""Where what can be had again is kept."""

from pathlib import Path

import pytest

from apportion.foundation.cache_dir import cache_folder
from apportion.foundation.errors import InputError


def test_the_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPORTION_CACHE", "here")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache_folder() == Path.cwd() / "here"
    monkeypatch.setenv("APPORTION_CACHE", "")
    assert cache_folder() == Path("/xdg/apportion")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert cache_folder() == Path("/home/me/.cache/apportion")

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(InputError, match="set APPORTION_CACHE"):
        cache_folder()
