import socket

import pytest

pytest.importorskip("fastapi", reason="the extra `study` is not installed")

from tests.behaviour.command import in_process
from tests.study.studies import study_in


def test_other_machines_are_let_in_only_where_that_is_meant(tmp_path, monkeypatch):
    study = study_in(tmp_path / "study")
    refused = in_process(monkeypatch, "study", "serve", study.path, "--host", "0.0.0.0")
    assert refused.returncode == 2 and "Give --allow-remote if that is meant" in refused.stderr


def test_what_is_opened_is_said_before_anything_else(tmp_path, monkeypatch):
    study = study_in(tmp_path / "study")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = in_process(
            monkeypatch, "study", "serve", study.path, "--host", "0.0.0.0", "--port", port, "--allow-remote"
        )
    assert "whoever reaches 0.0.0.0 and has a link" in done.stderr and "not encrypted" in done.stderr
    assert "does not say yet who does this study" in done.stderr
    assert done.returncode == 2 and f"port {port} is taken" in done.stderr


def test_a_public_address_that_is_none(tmp_path, monkeypatch):
    study = study_in(tmp_path / "study")
    done = in_process(monkeypatch, "study", "serve", study.path, "--public-url", "study.example.org")
    assert done.returncode == 2 and "--public-url study.example.org" in done.stderr


def test_without_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "apportion.viewer.study.serve", None)
    done = in_process(monkeypatch, "study", "serve", tmp_path)
    assert done.returncode == 2 and "pip install 'apportion[study]'" in done.stderr
