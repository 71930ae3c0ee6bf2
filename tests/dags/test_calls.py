"""What both orchestrators read from the environment; needs neither of them."""

import pytest

from apportion.dags.calls import by_kind, team_callback
from apportion.foundation.errors import InputError
from apportion.pipeline.execution import shards


@pytest.mark.parametrize("given", ["gpu=a", "llm", "llm=", "=x"])
def test_what_is_no_kind_or_no_value_is_named(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPORTION_POOLS", f"media=films, {given}")
    with pytest.raises(
        InputError, match=f"APPORTION_POOLS: {given}: allowed is KIND=VALUE, with KIND of llm, training"
    ):
        by_kind("APPORTION_POOLS")


def test_values_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPORTION_LIMITS", "media=2, llm=4")
    assert by_kind("APPORTION_LIMITS", int) == {"media": 2, "llm": 4}
    monkeypatch.delenv("APPORTION_LIMITS")
    assert by_kind("APPORTION_LIMITS", int) == {}


def test_a_team_names_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    assert team_callback() is None
    monkeypatch.setenv("APPORTION_ON_QUARANTINE", "builtins:print")
    assert team_callback() is print
    monkeypatch.setenv("APPORTION_ON_QUARANTINE", "builtins:nothing")
    with pytest.raises(InputError, match="APPORTION_ON_QUARANTINE: cannot load 'builtins:nothing'"):
        team_callback()


def test_report_is_where_the_runs_are_served(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "c.toml"
    config.write_text('corpus = "corpus"\noutput = "my run"\n')
    assert shards.report_url(str(config)) == (tmp_path / "my run" / "report.html").as_uri()
    monkeypatch.setenv("APPORTION_RUNS_URL", "https://runs.example/")
    assert shards.report_url(str(config)) == "https://runs.example/my%20run/report.html"
