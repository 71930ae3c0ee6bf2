"""What shows responses to people, and asks a language model about them, loads no torch."""

import subprocess
import sys

from tests.behaviour.command import ROOT, environment

SCRIPT = """
import sys
from apportion.rlhf.compare import blind, judging, metadata, pairs, responses
print([name for name in ("torch", "transformers", "peft", "trl") if name in sys.modules])
"""


def test_torch_is_not_loaded():
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
