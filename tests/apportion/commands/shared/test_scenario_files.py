import json

import pytest

from tests.apportion.called import called
from tests.environments.negotiation.bargaining.test_scenarios import GOOD, OTHERS, folder


def test_products_become_bargains_that_are_played(tmp_path, capsys):
    source, out = folder(tmp_path, GOOD, *OTHERS), tmp_path / "bargains.jsonl"
    assert called("import", "amazonhistoryprice", str(source), str(out)) == 0
    told = capsys.readouterr().out
    assert "1 bargains of 4 products" in told and "Apache-2.0" in told and "left out: 1 (" in told
    corpus = str(tmp_path / "play")
    assert called("world", "simulate", "bargaining", corpus, "--scenarios", str(out), "--games", "1") == 0
    assert "1 sessions" in capsys.readouterr().out
    assert called("import", "amazonhistoryprice", str(source), str(out)) == 2
    assert "is there; name another file, or give --overwrite" in capsys.readouterr().err
    again = ("import", "amazonhistoryprice", str(source), str(out), "--overwrite", "--json", "-o", "budget=1")
    assert called(*again) == 0
    assert json.loads(capsys.readouterr().out)["bargains"] == 3  # A higher budget lies above more of the costs.


def test_damaged_products_are_named_with_exit_code_1(tmp_path, capsys):
    source = folder(tmp_path, GOOD, {"title": "x"})
    assert called("import", "amazonhistoryprice", str(source), str(tmp_path / "o")) == 1
    assert "damaged: books.json 2: KeyError" in capsys.readouterr().err


@pytest.mark.parametrize(("option", "said"), [("x=1", "no option 'x'; there is budget"), ("budget=much", "a number")])
def test_options_that_it_has_not(tmp_path, capsys, option, said):
    assert called("import", "amazonhistoryprice", str(folder(tmp_path, GOOD)), str(tmp_path / "o"), "-o", option) == 2
    assert said in capsys.readouterr().err
