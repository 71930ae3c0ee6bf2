"""What an act sounds like: several wordings of every act, in English, so that a game is a dialogue.

Every sentence here is read back by `act_parser` as the act that it words.
"""

from __future__ import annotations

from functools import lru_cache

from apportion.environments.negotiation.action_encoding import AGREE, INSIST, SPLIT_OF, SPLITS, act_of, rest
from apportion.environments.negotiation.contexts import ITEMS, Counts

_PROPOSE = (
    "I would like {kept}; you can have {left}.",
    "How about I take {kept} and you get {left}?",
    "Let me have {kept}; you keep {left}.",
    "I could do {kept} for me and {left} for you.",
)
_INSIST = (
    "I insist: I need {kept}; you can have {left}.",
    "I still want {kept}; you get {left}.",
    "I really must have {kept}; you keep {left}.",
)
_OTHERS = {
    "agree": ("Deal.", "I agree to that.", "Okay, that works for me.", "Sounds good, it's a deal."),
    "disagree": ("No, I can't accept that.", "That doesn't work for me.", "Sorry, I don't agree."),
    "end": ("Let's end it here.", "I'm done talking; let's each take our items.", "That's all from me; let's finish."),
}


def wordings(act: int) -> int:
    """How many wordings an act has."""
    if act < AGREE:
        return len(_PROPOSE if act < INSIST else _INSIST)
    return len(_OTHERS[act_of(act)[0]])


def sentence(act: int, counts: Counts, wording: int = 0) -> str:
    """An act in words.

    ``act``: By its number. ``counts``: The pool. ``wording``: Any whole number; the same one gives the same words, and
    each wording has its turn.

    >>> sentence(INSIST + 11, (2, 3, 1), wording=1)
    'I still want 2 hats and 1 ball; you get 2 books and 1 hat.'
    """
    if act >= AGREE:
        words = _OTHERS[act_of(act)[0]]
        return words[wording % len(words)]
    templates = _PROPOSE if act < INSIST else _INSIST
    split = act % SPLITS
    kept, left = in_words(SPLIT_OF[split]), in_words(SPLIT_OF[rest(counts, split)])
    return templates[wording % len(templates)].format(kept=kept, left=left)


@lru_cache(maxsize=256)
def in_words(items: Counts) -> str:
    """Items by their counts; those that there are none of are left out.

    >>> in_words((1, 2, 0)), in_words((0, 0, 0)), in_words((1, 1, 3))
    ('1 book and 2 hats', 'nothing', '1 book, 1 hat and 3 balls')
    """
    parts = [f"{n} {item}{'s' if n > 1 else ''}" for item, n in zip(ITEMS, items, strict=True) if n]
    if len(parts) < 2:
        return parts[0] if parts else "nothing"
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
