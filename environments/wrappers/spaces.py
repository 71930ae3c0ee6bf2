"""What is said and what is done, as spaces of Gymnasium."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

MOST_LETTERS = 40
"""Letters of a text that is drawn; those that are said may have `MOST_CHARACTERS`."""
MOST_CHARACTERS = 1_000_000


class Text(str):
    """A text as an observation: PettingZoo asks every observation for the ``dtype`` of its space."""

    __slots__ = ()
    dtype = np.dtype(str)


class Words(spaces.Text):  # type: ignore[misc]
    """Any text in any language; `sample` draws a few letters."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(MOST_CHARACTERS, min_length=0, seed=seed)

    def contains(self, x: Any) -> bool:
        """Whether it is a text of a length that anybody reads."""
        return isinstance(x, str) and len(x) <= MOST_CHARACTERS

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A few letters."""
        text: str = super().sample(mask=(int(self.np_random.integers(1, MOST_LETTERS + 1)), None))
        return text


class ActionSpace(spaces.Space):  # type: ignore[misc]
    """Acts as ``{"kind": ..., "text": ...}``, with ``data`` where an act has any.

    Parameters
    ----------
    kinds : sequence of str
        Every kind of act that there is, in the order of the action masks.
    texts : mapping of str to sequence of str
        By kind the words that `sample` draws from, where the rules read them; a few letters elsewhere.
    """

    def __init__(
        self, kinds: Sequence[str], texts: Mapping[str, Sequence[str]] | None = None, seed: int | None = None
    ) -> None:
        self.kinds, self.texts = tuple(kinds), {kind: tuple(words) for kind, words in (texts or {}).items()}
        self._words = Words()
        super().__init__(None, None, seed)

    def seed(self, seed: int | None = None) -> Any:
        """Begin the draws anew."""
        self._words.seed(seed)
        return super().seed(seed)

    def sample(self, mask: NDArray[np.int8] | None = None, probability: Any = None) -> dict[str, Any]:
        """An act of one of the kinds whose ``mask`` is 1 (None: of any), the same chance each."""
        allowed = [kind for number, kind in enumerate(self.kinds) if mask is None or mask[number]]
        kind = allowed[int(self.np_random.integers(len(allowed)))]
        words = self.texts.get(kind)
        return {
            "kind": kind,
            "text": words[int(self.np_random.integers(len(words)))] if words else self._words.sample(),
        }

    def contains(self, x: Any) -> bool:
        """Whether it is an act of one of the kinds; whether the rules allow it now is another question."""
        return (
            isinstance(x, dict)
            and {"kind", "text"} <= x.keys() <= {"kind", "text", "data"}
            and x["kind"] in self.kinds
            and self._words.contains(x["text"])
        )

    @property
    def is_np_flattenable(self) -> bool:
        """Words are no fixed number of numbers."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActionSpace) and (self.kinds, self.texts) == (other.kinds, other.texts)

    def __repr__(self) -> str:
        return f"Acts({list(self.kinds)})"
