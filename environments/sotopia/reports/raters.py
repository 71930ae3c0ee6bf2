"""Whose scores are compared: which annotators are judges, and which are people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from apportion.corpus.corpus import Corpus
from apportion.environments.episode_log import LOG, read_log, unusable_told
from apportion.environments.report_tables.report import is_human
from apportion.environments.role_assignment import BY_RULES
from apportion.environments.sotopia.evaluation.human_ratings.log import raters_in
from apportion.environments.sotopia.evaluation.scores import read_verdicts
from apportion.environments.sotopia.reports.episode_scores import NOT_NAMED, Seat, annotators, read_scored
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.errors import InputError
from apportion.foundation.files import check_path
from apportion.foundation.truncate import first_few, listed

RULES = BY_RULES.called
PLAY = "apportion world tournament sotopia CORPUS --agents base@MODEL,base@OTHER --model MODEL"
WITH_PERSON = "apportion world play sotopia CORPUS --with AGENT"
JUDGE = "apportion world evaluate CORPUS --model NAME"
PEOPLE = "apportion world evaluate CORPUS --rate NAME, then give CORPUS-rated and --people NAME"
SECOND = "apportion world evaluate CORPUS-rated --rate OTHER, then give --people OTHER, too"
HARD = "--hard FILE, as apportion world tasks sotopia hard CORPUS --model AGENT -o FILE writes it"
"""The commands that fill tables of social episodes."""


@dataclass(frozen=True)
class ReportChoice:
    """What is reported.

    ``corpora``: Simulated episodes with ratings. ``judge``: The annotator whose scores the tables are of; None: the one
    with the most, people and ``rules`` apart. ``people``: Annotators that are people, or folders of corpora: whoever
    rates there, and in none of ``corpora``, is one. Whose ratings
    `apportion.environments.sotopia.evaluation.human_ratings` keeps is one anyway. ``humans``: Names of further agents
    that are people, beside those that the log names and `apportion.environments.report_tables.report.HUMANS`.
    ``called``: What a caller calls these, for errors.
    """

    corpora: tuple[Path, ...]
    judge: str | None = None
    people: tuple[str, ...] = ()
    humans: tuple[str, ...] = ()
    called: Callable[[str], str] = str

    @property
    def is_empty(self) -> bool:
        """Whether nothing is given that anybody could have played, judged or rated."""
        return not (self.corpora or self.judge or self.people or self.humans)


@dataclass(frozen=True)
class RatedEpisodes:
    """Episodes with their ratings, and who gave them.

    ``seats``: Everybody who took part. ``judge``: The annotator whose scores the tables are of. ``judges``: All
    annotators that are no people, ``judge`` first; ``rules`` is one of them where it is ``judge``. ``people``:
    Annotators that are people. ``humans``: As in `ReportChoice`. ``notes``: What a reader should know.
    """

    seats: tuple[Seat, ...]
    judge: str
    judges: tuple[str, ...]
    people: tuple[str, ...] = ()
    humans: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def none(cls) -> RatedEpisodes:
        """Before anybody has played."""
        return cls((), "", ())

    def played_by_people(self, seat: Seat) -> bool:
        """Whether a person played."""
        return seat.human or is_human(seat.agent, self.humans)

    def by_people(self, seat: Seat, dimension: str) -> list[float]:
        """What people gave somebody in a dimension."""
        scores = (seat.score(person, dimension) for person in self.people)
        return [score for score in scores if score is not None]

    def judged(self, seat: Seat, dimension: str) -> float | None:
        """The judge's score of a part."""
        return seat.score(self.judge, dimension)

    def human_score(self, seat: Seat, dimension: str) -> float | None:
        """The mean over people (section 5.1); None where nobody rated it."""
        scores = self.by_people(seat, dimension)
        return sum(scores) / len(scores) if scores else None


def titled(judge: str) -> str:
    """An annotator in a title; what rules say is never called SOTOPIA-EVAL, and nobody's name is that of nobody."""
    if not judge:
        return "(nobody yet)"
    return f"{judge!r} (rules; not SOTOPIA-EVAL)" if judge == RULES else repr(judge)


def read_rated(choice: ReportChoice) -> RatedEpisodes:
    """Read corpora, and find out who is who.

    Raises InputError: A folder that is no corpus, nothing is rated, an unknown annotator or player, a corpus of people
    that shares no episode with the others or has nobody new; what `read_scored` raises.
    """
    if not choice.corpora:
        raise InputError("no corpus: name at least one, of simulated episodes with ratings.")
    corpora = [Corpus.open(path) for path in choice.corpora]
    seats = read_scored(corpora)
    if not annotators(seats):
        raise InputError(
            f"{', '.join(map(str, choice.corpora))}: nobody's scores of {choice.called('corpora')} are ratings by the "
            "environment in the dimensions of SOTOPIA (GOAL, BEL, KNO, SEC, REL, SOC, FIN), so there is nothing to "
            f"report. Have the episodes judged: {JUDGE.replace('CORPUS', str(choice.corpora[0]))}"
        )
    first = set(annotators(seats))
    people = {name: None for corpus in corpora for name in raters_in(corpus.root) if name in first}
    notes: list[str] = []
    for name in choice.people:
        if name == RULES:
            raise InputError(f"{choice.called('people')}: {RULES!r} is no person")
        if name in first:
            people[name] = None
            continue
        check_path(Path(name))
        if Path(name).exists():
            theirs = Corpus.open(name)
            people |= dict.fromkeys(_new_people(theirs, first, choice))
            seats, note = _with_theirs(corpora, theirs, seats)
            corpora.append(theirs)
            notes += note
        else:
            raise InputError(_unknown(name, first, f"{choice.called('people')}: neither an annotator nor a folder"))
    players = {seat.agent for seat in seats if seat.agent is not None}
    for name in choice.humans:
        if name not in players:
            raise InputError(_unknown(name, players, f"{choice.called('humans')}: nobody plays who is called"))
    judge, judges = _judges(annotators(seats), people, choice)
    unknown = sum(seat.agent is None for seat in seats)
    if unknown:
        notes.append(
            f"{unknown:,} of {len(seats):,} parts are in episodes that do not tell who played, and in no table by agent"
        )
    if judge == NOT_NAMED:
        notes.append("the judge is not named in the corpus")
    notes += filter(None, (unusable_told(read_log(corpus.root / LOG).values()) for corpus in corpora))
    notes += _causes(corpora, judge)
    return RatedEpisodes(tuple(seats), judge, judges, tuple(people), choice.humans, tuple(notes))


def _causes(corpora: Sequence[Corpus], judge: str) -> list[str]:
    """Why scores of the judge are missing, where its verdicts lie beside the tables."""
    missing = {
        (verdict.session_id, verdict.target, dimension): verdict.given[dimension].cause or "not told"
        for corpus in corpora
        for verdict in read_verdicts(corpus.root)
        if verdict.judge == judge
        for dimension in verdict.missing
    }
    causes = [f"{times:,} x {cause:.200}" for cause, times in Counter(missing.values()).most_common()]
    return (
        [f"why scores of {judge!r} are missing, by its verdicts: {listed(causes, 5, separator='; ')}"] if causes else []
    )


def _new_people(theirs: Corpus, known: Collection[str], choice: ReportChoice) -> list[str]:
    named = annotators(read_scored([theirs]))
    new = [name for name in named if name not in known and name != RULES]
    if not new:
        there = (
            f"it has {first_few(list(named))}, who rate in the other corpora, too" if named else "nobody rates there"
        )
        raise InputError(f"{theirs.root}: nobody there is a person of {choice.called('people')}: {there}. Name people")
    return new


def _with_theirs(corpora: Sequence[Corpus], theirs: Corpus, seats: Sequence[Seat]) -> tuple[list[Seat], list[str]]:
    """The same episodes with the ratings of a corpus by people; episodes that are only there are left out."""
    there = {(seat.episode, seat.name) for seat in seats}
    both = [seat for seat in read_scored([*corpora, theirs]) if (seat.episode, seat.name) in there]
    own = read_scored([theirs])
    strange = sum((seat.episode, seat.name) not in there for seat in own)
    if strange == len(own):
        raise InputError(
            f"{theirs.root}: none of its {theirs.sessions.num_rows:,} sessions is an episode of the other corpora (the "
            "same id and the same words); give the ratings of these"
        )
    return both, [f"{theirs.root}: {strange:,} parts in episodes of no other corpus left out"] if strange else []


def _judges(named: Mapping[str, int], people: Collection[str], choice: ReportChoice) -> tuple[str, tuple[str, ...]]:
    if choice.judge is not None and (choice.judge not in named or choice.judge in people):
        others = [name for name in named if name not in people]
        what = "is one of the people" if choice.judge in people else "no ratings by"
        raise InputError(_unknown(choice.judge, others, f"{choice.called('judge')}: {what}"))
    models = [name for name in named if name not in people and name != RULES]
    if not models and RULES not in named:
        raise InputError(f"every annotator is one of the people; leave the judge out of {choice.called('people')}")
    judge = choice.judge or (models[0] if models else RULES)
    return judge, (judge, *(name for name in models if name != judge))


def _unknown(name: str, there: Collection[str], what: str) -> str:
    known = f"there are {first_few(sorted(there), 10)}" if there else "there are none"
    return f"{what}: {name!r}; {did_you_mean(name, there, known)}"
