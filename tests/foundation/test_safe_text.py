from types import SimpleNamespace

from apportion.foundation.safe_text import control_marks, defused


def token(content, special=True):
    return SimpleNamespace(content=content, special=special)


def test_only_control_tokens_of_some_length_are_marks_and_are_broken_up():
    tokens = {0: token("<|end|>"), 1: token("x"), 2: token("<b>", special=False)}
    assert control_marks(SimpleNamespace(added_tokens_decoder=tokens)) == ("<|end|>",)
    assert defused("a<|end|>b<|end|>", ("<|end|>",)) == "a< |end|>b< |end|>"
    assert defused("nothing of it", ("<|end|>",)) == "nothing of it"
