import pytest

from apportion.foundation.errors import InputError, StoppedError, UnitError
from apportion.llm_client.errors import BudgetError, ContextLengthError, LLMError, RequestError, SetupError, prefixed


@pytest.mark.parametrize(
    ("error", "base"),
    [(SetupError, InputError), (BudgetError, StoppedError), (RequestError, UnitError), (ContextLengthError, UnitError)],
)
def test_an_error_of_the_client_is_one_of_the_house(error, base):
    assert issubclass(error, base) and issubclass(error, LLMError)


def test_a_prefix_is_put_before_errors_of_its_kind_alone():
    with pytest.raises(ContextLengthError, match=r"^s1: too long$"), prefixed("x"), prefixed("s1", RequestError):
        raise ContextLengthError("too long")
    with pytest.raises(SetupError, match=r"^decompose\.llm: no key$"), prefixed("decompose.llm"):
        raise SetupError("no key")
    with pytest.raises(InputError, match=r"^of another kind$"), prefixed("decompose.llm"):
        raise InputError("of another kind")
