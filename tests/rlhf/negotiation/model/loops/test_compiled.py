"""What is compiled is kept by what it is made of, and not at all where nothing can be written."""

from pathlib import Path

import pytest

from apportion.rlhf.negotiation.model.loops import compiled as module
from apportion.rlhf.negotiation.model.loops.compiled import compiled, kept_in, made_of, to_be_compiled
from apportion.rlhf.negotiation.model.one_game.acting import chosen


def double(number: int) -> int:
    return 2 * number


def test_another_source_is_another_folder(tmp_path: Path) -> None:
    found = {made_of(tmp_path)}
    (tmp_path / "one.py").write_text("x = 1")
    found.add(made_of(tmp_path))
    (tmp_path / "one.py").write_text("x = 2")
    found.add(made_of(tmp_path))
    assert len(found) == 3 and made_of() not in found


def test_it_is_kept_beside_the_sources_or_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    beside = kept_in()
    assert beside == Path(module.__file__).parents[1] / "__pycache__" / f"compiled-{made_of()}"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert kept_in() == tmp_path / f"compiled-{made_of()}"
    assert chosen.stats.cache_path.startswith(str(module._KEPT_IN))


def test_where_nothing_can_be_written_it_is_compiled_each_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("no folder")
    monkeypatch.setattr(module, "_HERE", taken)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(taken))
    monkeypatch.setenv("APPORTION_CACHE", str(tmp_path / "own"))
    assert kept_in() == tmp_path / "own" / "numba" / f"compiled-{made_of()}"
    monkeypatch.setenv("APPORTION_CACHE", str(taken))
    assert kept_in() is None
    monkeypatch.setattr(module, "_KEPT_IN", None)
    assert compiled(double)(4) == 8


def test_whether_the_compiler_has_to_be_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    name = f"{Path(__file__).stem}.double"
    monkeypatch.setattr(module, "_KEPT_IN", None)
    assert to_be_compiled(name)
    monkeypatch.setattr(module, "_KEPT_IN", tmp_path)
    assert to_be_compiled(name)
    assert compiled(double)(2) == 4
    assert not to_be_compiled(name) and to_be_compiled("gradient.loss_and_gradient")
