"""How a child process takes Ctrl-C: given to `subprocess.Popen(preexec_fn=...)`.

A shell that starts something in the background (`nohup make test &`) has it ignore SIGINT, and children inherit that.
"""

from __future__ import annotations

import signal


def hear_ctrl_c() -> None:
    """The child ends by Ctrl-C, whoever has started the tests and how."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ignore_ctrl_c() -> None:
    """The child is started as a shell starts what runs in the background."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
