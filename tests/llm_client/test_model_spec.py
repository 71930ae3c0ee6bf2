"""A language model as a person chooses it for one command."""

from pathlib import Path

import pytest

from apportion.foundation.errors import InputError
from apportion.llm_client.model_spec import CACHE, NO_MODEL, ModelSpec


def test_what_is_chosen_is_a_setting_of_the_client_and_recorded_replies_need_no_model() -> None:
    chosen = ModelSpec("m", base_url="http://localhost:1/v1", max_tokens=7, extra_body={"top_k": 3})
    llm = chosen.llm(temperature=0.5)
    assert (llm.model, llm.max_tokens, llm.temperature, llm.extra_body) == ("m", 7, 0.5, {"top_k": 3})
    assert chosen.named("other").llm().model == "other" and chosen.asks and not ModelSpec().asks
    llm = ModelSpec(recorded=Path("r.jsonl")).llm()
    assert (llm.provider, llm.model) == ("recorded", NO_MODEL) and ModelSpec(recorded=Path("r.jsonl")).asks


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (ModelSpec("m", budget=0.0), r"^<budget> 0\.0: give a number of US dollars above 0"),
        (ModelSpec("m", budget=float("nan")), r"^<budget> nan"),
        (ModelSpec("m", base_url="nowhere"), r"<base_url> = 'nowhere'.*Change the options"),
        (ModelSpec("m", concurrency=0), "<concurrency>"),
    ],
)
def test_a_value_that_cannot_be_used_is_told_as_its_caller_calls_it(chosen: ModelSpec, message: str) -> None:
    with pytest.raises(InputError, match=message):
        chosen.llm("<{}>".format)


def test_replies_are_kept_in_the_folder_unless_another_file_is_named(tmp_path: Path) -> None:
    assert ModelSpec("m").cache_in(tmp_path) == tmp_path / CACHE == tmp_path / "replies.sqlite"
    assert ModelSpec("m", cache=Path("mine.sqlite")).cache_in(tmp_path) == Path("mine.sqlite")
