import pytest

from apportion.cli import _options
from apportion.corpus.writer import OtherCorpusError
from apportion.hints import HINTS, hint_for
from apportion.llm_client.errors import ConsentError, DamagedCacheError, InBatchError, LostBatchError


def test_a_command_s_own_options_are_told():
    options = _options(["run", "apportion.toml"])
    assert hint_for(ConsentError("x"), options) == (
        "\nhint: --preview 3 shows what would be sent; --allow-host HOST agrees to it."
    )
    assert "--batch collects" in hint_for(InBatchError("x"), options)
    assert hint_for(OtherCorpusError("x"), ["--overwrite"]) == "\nhint: --overwrite replaces it."
    assert hint_for(LostBatchError("x"), options) == "\nhint: --forget-batch ID gives it up."


@pytest.mark.parametrize("kind", HINTS)
def test_each_option_stands_in_its_text(kind):
    assert all(option in text for option, text in HINTS[kind].items())


@pytest.mark.parametrize("options", [set(), {"--allow-host"}])
def test_another_command_that_helps_is_told_whichever_is_running(options):
    assert "apportion models cache repair FILE saves it." in hint_for(DamagedCacheError("x"), options)
