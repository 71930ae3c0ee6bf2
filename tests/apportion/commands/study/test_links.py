import re

from click.testing import CliRunner

from apportion.cli import cli
from apportion.foundation.errors import InputError
from apportion.study.store.store import Store
from tests.study.studies import study_in


def test_links_are_printed_once_and_let_annotators_in(tmp_path):
    study = study_in(tmp_path / "study", "pairs")
    arguments = ["study", "links", str(study.path), "--annotators", "2", "--address", "https://s.example/"]
    first, second = (CliRunner().invoke(cli, arguments) for _ in range(2))
    assert first.exit_code == second.exit_code == 0
    found = re.findall(r"^(\S+)\thttps://s\.example/a/(\S+)$", first.output + second.output, re.MULTILINE)
    store = Store.open(None, study)
    assert [(name, store.enter(token).id) for name, token in found] == [(f"a00{n}", f"a00{n}") for n in range(1, 5)]
    store.close()


def test_the_database_may_be_elsewhere(tmp_path):
    study = study_in(tmp_path / "study", "pairs")
    done = CliRunner().invoke(
        cli,
        ["study", "links", str(study.path), "--annotators", "1"],
        env={"APPORTION_STUDY_DATABASE": str(tmp_path / "elsewhere.sqlite")},
    )
    assert done.exit_code == 0 and (tmp_path / "elsewhere.sqlite").is_file()
    assert not (study.path / "answers.sqlite").exists()


def test_an_address_that_is_none_makes_no_link(tmp_path):
    study = study_in(tmp_path / "study", "pairs")
    done = CliRunner().invoke(cli, ["study", "links", str(study.path), "--annotators", "1", "--address", "s.example"])
    assert isinstance(done.exception, InputError) and "--address s.example" in str(done.exception)
    assert not (study.path / "answers.sqlite").exists()


def test_what_is_missing_is_told(tmp_path, monkeypatch):
    done = CliRunner().invoke(cli, ["study", "links", str(tmp_path), "--annotators", "1"])
    assert isinstance(done.exception, InputError) and "no study" in str(done.exception)
    monkeypatch.setitem(__import__("sys").modules, "apportion.study.store.store", None)
    done = CliRunner().invoke(cli, ["study", "links", str(tmp_path), "--annotators", "1"])
    assert isinstance(done.exception, InputError) and "pip install 'apportion[study]'" in str(done.exception)
