"""The options that help where a package below can only say what is wrong: it does not know who has called it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

HINTS: Mapping[str, Mapping[str, str]] = {
    "ConsentError": {
        "--preview": "--preview 3 shows what would be sent",
        "--allow-host": "--allow-host HOST agrees to it",
    },
    "RouteError": {"--proxy": "--proxy PROXY takes that proxy, --proxy direct goes straight"},
    "InBatchError": {
        "--batch": "the same command with --batch collects the batch",
        "--forget-batch": "--forget-batch ID gives it up",
    },
    "OtherCorpusError": {"--overwrite": "--overwrite replaces it"},
    "LostBatchError": {"--forget-batch": "--forget-batch ID gives it up"},
}
"""By error of a package below, what each option would do about it. By name: most commands need no
language model."""
COMMANDS: Mapping[str, str] = {
    "DamagedCacheError": "apportion models cache check FILE says what is left, "
    "apportion models cache repair FILE saves it",
}
"""By error, the other command that helps, whichever is running."""


def hint_for(error: Exception, options: Collection[str]) -> str:
    """A line, with its break before it, on what helps: those of the running command's ``options``, or another command.

    Nothing where nothing does.
    """
    kind = type(error).__name__
    texts = [text for option, text in HINTS.get(kind, {}).items() if option in options]
    texts += [COMMANDS[kind]] if kind in COMMANDS else []
    return f"\nhint: {'; '.join(texts)}." if texts else ""
