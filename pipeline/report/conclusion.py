"""What a run's figures mean, in words: each sentence by a rule over a few figures, none by a table as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apportion.evaluation.confidence_intervals.bootstrap import Estimate, Figure, Missing
from apportion.evaluation.error_slices.result import FAMILIES, LONGEST, Slice
from apportion.evaluation.figures.trust import ASKED, Trust
from apportion.evaluation.methods.controls import ControlVerdict
from apportion.foundation.html.text import clean, number, plain, signed
from apportion.foundation.intervals.estimate import IntervalEstimate

SMALL, LARGE = 0.25, 1.0
"""Spread between seeds over spread between turns: up to the one it hardly counts, from the other on it is all there is.
"""


@dataclass(frozen=True)
class Rival:
    """The other method that agrees best with people's labels.

    ``ahead``: its agreement less that of the run's method, paired.
    """

    method: str
    ahead: Estimate


@dataclass(frozen=True)
class SeedSpread:
    """How much a turn's reward moves between ``seeds`` trainings, and how much turns of a session differ: both sd."""

    seeds: int
    within: float
    between: float


NOT_EVALUATED = Missing("nothing was evaluated")


@dataclass(frozen=True)
class Facts:
    """The figures that the sentences are made of.

    ``method``, ``title``: the run's method and what it is; ``compared``: the others. ``orders``: whether its rewards
    of a session differ. ``sums_to``: what the rewards of a session add up to.
    ``people_weigh``: what people's labels of training sessions weigh in the method. ``agreement``: its Spearman with
    people's labels of held-out turns; ``annotator``: that of one annotator with the others; ``gain``: the Mean's global
    loss less that of its reward model; ``beside``: that model beside what judges no turn. ``disputed``: share of
    pairs of turns that two methods order the other way round. ``dearest``: the kind of turn that is paid least beside
    the rest of its dialogues, if one surely is.
    ``failed``: units of work without a result.
    """

    rating: str
    scale: tuple[float, float]
    target: str
    sessions: int
    scored: int
    turns: int
    method: str
    title: str
    described: int = 0
    held_out: int = 0
    compared: Sequence[str] = ()
    orders: bool = True
    agreement: Figure = NOT_EVALUATED
    annotator: Figure = NOT_EVALUATED
    rival: Rival | None = None
    gain: Figure = NOT_EVALUATED
    beside: ControlVerdict | None = None
    disputed: float | None = None
    spread: SeedSpread | None = None
    dearest: Slice | None = None
    failed: int = 0
    aligned: bool = False
    sums_to: str = ""
    people_weigh: float = 0.0

    @property
    def labelled(self) -> bool:
        """Whether people's labels say how good the order of the turns is."""
        return self.orders and isinstance(self.agreement, Estimate)

    @property
    def holds(self) -> bool:
        """Whether the order of the turns is surely that of people's labels, more or less."""
        return self.orders and isinstance(self.agreement, Estimate) and self.agreement.above_zero

    @property
    def foretells(self) -> bool:
        """Whether the reward model surely does better than the mean score."""
        return isinstance(self.gain, Estimate) and self.gain.above_zero

    @property
    def teaches(self) -> bool:
        """Whether a policy may be trained on the reward model, as far as the figures say."""
        return self.foretells and (self.beside is None or self.beside.beats)


def asked(facts: Facts) -> list[str]:
    """What was asked, and of how many sessions."""
    whom = f"{_many(facts.turns, 'turn')} of {facts.target}"
    if not facts.turns:
        told = [f"No session has a score, so no turn of {_many(facts.sessions, 'session')} has a reward."]
    elif facts.scored:
        low, high = facts.scale
        told = [
            f"What was each turn worth? The score “{facts.rating}” ({plain(low)} to {plain(high)}) of "
            f"{_many(facts.scored, 'session')} was shared out among {whom}."
        ]
        if unscored := facts.sessions - facts.scored:
            told.append(f"{_many(unscored, 'more session')} without a score.")
    else:
        told = [
            f"What was each turn worth? No session has a score: the rewards of {whom} in "
            f"{_many(facts.sessions, 'session')} are what a model foretells that was learnt elsewhere."
        ]
    if facts.described:
        told.append(f"{_many(facts.described, 'turn')} with behaviour in words.")
    if facts.held_out:
        told.append(
            f"{_many(facts.held_out, 'session')} held out from all learning: figures "
            "and turns to look at are of these. [low, high] is where a figure lies with 95 % confidence."
        )
    return told


def trusted(facts: Facts) -> list[str]:
    """What can be trusted here."""
    told = []
    if facts.sums_to:
        told.append(f"The sums: the rewards of every session add up to {facts.sums_to}.")
    if facts.holds:
        agreement, alone = facts.agreement, facts.annotator
        assert isinstance(agreement, Estimate)
        beside = (
            f"; one annotator, whose labels are noisier than the mean of all, against the others: {_figure(alone)}"
            if isinstance(alone, Estimate)
            else ""
        )
        told.append(
            f"The order of the turns, as a tendency: {facts.method} agrees with people's labels (Spearman "
            f"{_figure(agreement)} over {_many(agreement.sessions, 'session')}; 0 is chance, 1 the same order{beside})."
        )
    if facts.foretells:
        told.append(
            "The reward model on new sessions: it foretells scores better than their mean does (squared error lower by "
            f"{_figure(facts.gain)})."
        )
    if facts.beside is not None and facts.beside.beats:
        told.append(f"The reward of single turns: {facts.beside.text(_signed(facts.beside.gain))}")
    return told or ["Nothing, by the figures of this run."]


def unknown(facts: Facts) -> list[str]:
    """What this corpus cannot show."""
    told = []
    agreement, gain = facts.agreement, facts.gain
    if not facts.turns:
        told.append("What any turn is worth.")
    elif not facts.orders:
        told.append(f"Which turn mattered: {facts.method} pays all turns of a session the same.")
    elif isinstance(agreement, Missing):
        told.append(f"Whether any single turn's reward is right: {agreement.reason}.")
    elif agreement.high is not None and agreement.high < 0:
        against = f"{facts.method} orders turns against people's labels"
        told.append(f"{against} (Spearman {_figure(agreement)}): do not use it.")
    elif not agreement.above_zero:
        told.append(
            f"Whether {facts.method} orders turns as people do: Spearman {_figure(agreement)} over "
            f"{_many(agreement.sessions, 'session')} can be chance.{_settles(agreement)}"
        )
    if isinstance(gain, Missing):
        told.append(f"What a new session would score: {gain.reason}.")
    elif not facts.foretells:
        told.append(
            "What a new session would score: the reward model is not shown to be better than the mean (the mean's "
            f"squared error less the model's is {_figure(gain)}). A policy that is trained on it may learn noise."
        )
    if facts.beside is not None and not facts.beside.beats:
        beside = facts.beside.text(_signed(facts.beside.gain))
        told.append(f"Whether a policy learns from the reward model what people like: {beside}")
    return told


def chosen(facts: Facts) -> list[str]:
    """Which method, and why."""
    told = [f"{facts.method} ({facts.title})."]
    if facts.people_weigh > 0:
        told.append(
            f"People's labels of training sessions taught it, too, and weigh {facts.people_weigh:.2f} in it; those of "
            "held-out sessions never reach it."
        )
    rival = facts.rival
    if not facts.turns:
        return [f"None: {facts.method}, which the configuration names, had no score to share out."]
    if not facts.compared:
        return [*told, "Nothing stands beside it, so nothing says whether another is better."]
    if not facts.labelled and facts.orders:
        told.append(f"The configuration names it; without labels nothing tells it from {', '.join(facts.compared)}.")
    elif not facts.orders and rival is None:
        told.append(f"The configuration names it; beside it {', '.join(facts.compared)}.")
    elif rival is None:
        told.append("No other method has an agreement with people's labels that could be compared with its own.")
    elif rival.ahead.above_zero:
        told.append(f"{rival.method} agrees better with people's labels, by {_figure(rival.ahead)}: take that one.")
    elif rival.ahead.high is not None and rival.ahead.high < 0:
        told.append(
            f"It agrees best with people's labels; {rival.method} comes next, with a Spearman lower by "
            f"{_figure(rival.ahead.negated())}."
        )
    else:
        lead = "has a higher" if rival.ahead.value > 0 else "comes next with a lower"
        told.append(
            f"{rival.method} {lead} agreement with people's labels ({_signed(rival.ahead)}), which these sessions "
            "cannot tell from none: no reason to change."
        )
    if facts.disputed is not None:
        told.append(f"Which of two turns is worth more: any two methods of this run disagree on {facts.disputed:.0%}.")
    return told


def moved(facts: Facts) -> list[str]:
    """How much a turn's reward moves between seeds; nothing where there is one, or nothing was trained."""
    spread = facts.spread
    if spread is None:
        return []
    share = spread.within / spread.between if spread.between else LARGE
    verdict = "read the largest differences between turns alone"
    if share <= SMALL:
        verdict = "little beside the differences between turns"
    elif share >= LARGE:
        verdict = "as much as turns differ: the order is the seed's"
    return [
        f"Between {spread.seeds} seeds a turn's reward moves by {number(spread.within)}, and turns of a session differ "
        f"by {number(spread.between)} (standard deviations): {verdict}."
    ]


def costs(facts: Facts) -> list[str]:
    """Which kind of turn is paid least, and what the scores say to that; nothing where none surely is."""
    kind = facts.dearest
    if kind is None:
        return []
    less, gap = kind.difference.negated(), kind.score
    if not facts.scored:
        scores = "Nobody gave a score that could say whether that is right."
    elif gap is None:
        scores = "Scores cannot say whether that is right: all scored sessions have such a turn, or none has."
    elif gap.high is not None and gap.high < 0:
        scores = f"Sessions with one score lower, too: by {_figure(gap.negated())}."
    else:
        scores = f"Scores do not show it (sessions with one: {_signed(gap)}): read examples first, page What costs us."
    return [
        f"{FAMILIES[kind.family].capitalize()}: turns of the kind “{clean(kind.name, LONGEST)}” are paid "
        f"{_figure(less)} less by {facts.method} than the other turns of their dialogues "
        f"({_many(kind.turns, 'such turn')}, in the half of all sessions that did not suggest the kind). {scores}"
    ]


def next_step(facts: Facts) -> tuple[str, str]:
    """One command, and what it is for; CONFIG, CORPUS and RUN are the run's own."""
    if facts.failed:
        return "apportion run CONFIG", "does again what has failed, and nothing else."
    if facts.rival is not None and facts.rival.ahead.above_zero:
        return "apportion run CONFIG", f'with decompose.method = "{facts.rival.method}" in CONFIG, which agrees better.'
    if not facts.turns:
        return "apportion run CONFIG", 'with decompose.method = "reactions-en" in CONFIG (English), or with scores.'
    if not facts.orders:
        return (
            "apportion run CONFIG",
            'with decompose.method = "llm" in CONFIG, which tells turns apart in any language. It sends the texts to '
            "the language model that decompose.llm names; `--dry-run` says what that costs and sends nothing.",
        )
    if not facts.labelled:
        return (
            "apportion view RUN",
            "page Label: labels of four turns or more in each of 20 held-out sessions say whether the rewards hold.",
        )
    if not facts.holds:
        return "apportion benchmark CORPUS", "compares all methods by the labels that are there."
    if not facts.teaches:
        page = "every session with its rewards." if facts.dearest is None else "page What costs us: what is paid less."
        return "apportion view RUN", f"{page} Train no policy on this reward model."
    if not facts.aligned:
        return "apportion run CONFIG", "with align.enabled = true in CONFIG: a policy learns from these rewards."
    return "apportion view RUN", "every session with its rewards, and the policy's replies."


def _settles(agreement: Estimate) -> str:
    """Whether `ASKED` labelled sessions or more are enough to tell, or how many more would be."""
    given = agreement.sessions
    if given < ASKED:
        return ""
    found = Trust("", agreement.value, agreement.low, agreement.high, given, given)
    if found.settled is False:
        return " Even the upper end is too little to go by."
    return f" Labels of about {_many(found.more, 'more session')} would settle it."


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _figure(figure: Figure | IntervalEstimate) -> str:
    """A value with its interval as on the rest of the page."""
    assert isinstance(figure, IntervalEstimate)
    return number(figure.value) + _ends(figure)


def _signed(figure: IntervalEstimate) -> str:
    return signed(figure.value) + _ends(figure)


def _ends(figure: IntervalEstimate) -> str:
    return "" if figure.low is None or figure.high is None else f" [{number(figure.low)}, {number(figure.high)}]"
