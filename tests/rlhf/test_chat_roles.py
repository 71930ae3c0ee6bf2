from __future__ import annotations

import pytest

from corpus.errors import InputError
from rlhf.chat_roles import check_roles
from rlhf.policies import load_policy
from tests.rlhf.toy import SMALL, small_policy

DROPS = "{% for m in messages %}{% if m['role'] == 'user' %}{{ m['content'] }}{{ eos_token }}{% endif %}{% endfor %}"
REFUSES = (
    "{% for m in messages %}{% if m['role'] != 'user' %}{{ raise_exception('Only users may speak') }}{% endif %}"
    "{{ m['content'] }}{% endfor %}"
)


@pytest.mark.parametrize(
    ("template", "told"),
    [
        (DROPS, "leaves out what the assistant says"),
        (REFUSES, r"refuses a dialogue of user and assistant \(Only users may speak\)"),
        ("{% for m in messages %}{{ m.role.missing.deep }}{% endfor %}", "refuses a dialogue"),
        ("hello", "leaves out what the user and the assistant says"),
    ],
)
def test_a_template_that_lacks_a_role_is_refused_when_the_policy_is_loaded(tmp_path, template, told):
    policy = small_policy()
    policy.model.save_pretrained(tmp_path)
    policy.tokenizer.chat_template = template
    policy.tokenizer.save_pretrained(tmp_path)
    with pytest.raises(InputError, match=told):
        load_policy(SMALL.model_copy(update={"policy": str(tmp_path)}))


def test_a_template_that_has_both_is_taken():
    check_roles("small", small_policy().tokenizer)
