"""What people are asked: a quiz on the rules before they play, and ten questions after each game (Table 1)."""

from __future__ import annotations

from dataclasses import dataclass

LOW, HIGH = 1, 5
"""Of a 5-point Likert scale (section 6.2)."""


@dataclass(frozen=True)
class Question:
    """One of Table 1: its name in tables, its words, and what the ends of its scale mean; none: any words."""

    name: str
    text: str
    low: str = ""
    high: str = ""
    good: bool | None = True
    """Whether the high end is the good one; None: neither is."""

    @property
    def scaled(self) -> bool:
        """Whether it is answered by a number."""
        return bool(self.low)


SURVEY = (
    Question("effective", "Was Alice an effective negotiator?", "not at all", "very"),
    Question("fair", "How fair was Alice to you?", "not at all", "very"),
    Question("pushover", "Was Alice a pushover?", "not at all", "very", good=False),
    Question(
        "difficulty", "How would you rate the difficulty of the negotiation?", "very easy", "very difficult", good=False
    ),
    Question("equitable", "How fair was Alice to BOTH players?", "not at all", "very"),
    Question("novel", "Did Alice's negotiation strategy seem novel?", "not at all", "very"),
    Question(
        "represent",
        "If you could have Alice represent you in a negotiation similar to the one you just completed, how likely "
        "would you be to let it represent you?",
        "very unlikely",
        "very likely",
    ),
    Question("expert", "How much of an expert negotiator would you consider Alice to be?", "not at all", "very much"),
    Question("strategy", "How would you describe Alice's negotiation strategy?", "compromising", "aggressive", None),
    Question("comments", "Any comments?"),
)
"""The questions of Table 1. It gives no scales: their ends are ours, as is that of question 9 (section 6.2 says that
the last of the ten was open-ended, so that the ninth has a scale, and speaks of models as more or less
compromising)."""
FIGURE_4 = ("effective", "fair", "equitable", "represent")
"""Those shown in the main paper; Figure 9 has all that have a scale."""


@dataclass(frozen=True)
class QuizQuestion:
    """A question on the rules, its choices, the right one (from 0), and why it is right."""

    text: str
    choices: tuple[str, ...]
    right: int
    why: str


QUIZ = (
    QuizQuestion(
        "A book is worth 2 points to you, a hat 1 point. You take 2 books and 3 hats, and what you two took adds up. "
        "How many points do you have?",
        ("5", "7", "10"),
        1,
        "2 books at 2 points and 3 hats at 1 point are 4 + 3 = 7 points.",
    ),
    QuizQuestion(
        "You take the ball, and Alice takes the ball too. There is one ball. What do you get?",
        ("the points of what you took", "half of the points", "0 points, and Alice has 0 points, too"),
        2,
        "What both take has to add up to the items that there are; else both have 0 points.",
    ),
    QuizQuestion(
        "What do you know of Alice's values?",
        ("nothing but what Alice says or does", "they are the same as yours", "they are shown to you"),
        0,
        "Both have values of their own, which the other does not see.",
    ),
)
"""Ours: the paper says that there was a short one (Appendix B), and not what it asked."""
