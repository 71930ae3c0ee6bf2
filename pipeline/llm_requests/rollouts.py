"""What playing sessions on would ask a language model: plays, acts, questions to a judge, and what they would cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from apportion.decompose.methods import METHODS
from apportion.decompose.session_methods.llm_requests import histories_of
from apportion.environments.agents.language_model import ATTEMPTS
from apportion.environments.rollout_preview import PlannedRollouts, PredictedRequests, Prompt, kept_alone
from apportion.environments.sotopia.evaluation.language_model import ATTEMPTS as JUDGE_ATTEMPTS
from apportion.foundation.errors import UnitError
from apportion.llm_client.cost.estimate import RUN_PRICES, cost_text
from apportion.llm_client.cost.prices import Price, find_price
from apportion.llm_client.errors import prefixed
from apportion.llm_client.request import ChatReply, ChatRequest
from apportion.pipeline.llm_requests.pricing import kept_of
from apportion.pipeline.stages.rollout_context import played_session
from apportion.pipeline.stages.shared import models_played

if TYPE_CHECKING:
    from apportion.pipeline.engine.engine import Engine
    from apportion.pipeline.engine.stage import Unit

JUDGING = "judge"
"""The stage whose units play sessions on."""
TRIES = max(ATTEMPTS, JUDGE_ATTEMPTS)
"""Times that one act, or one verdict, is asked for at most."""
REPLY_S = 5.0
"""Seconds that a reply is taken to be waited for, where nothing is known of the server."""
BASIS = (
    "plays are taken to be as long as their sessions were, and prompts as long as those of the session's own acts; of "
    "what is kept already nothing is counted"
)


class Play(NamedTuple):
    """One play of a session: the history's turns of the target that are kept, and the seed (None: it is scored)."""

    session_id: str
    target: str
    kept: frozenset[int]
    seed: int | None


@dataclass(frozen=True)
class Needs:
    """What one play still needs: by model requests, input and output tokens; acts, questions to a judge."""

    acts: int = 0
    most_acts: int = 0
    judged: int = 0
    tokens: tuple[tuple[str, int, int], ...] = ()
    first: ChatRequest | None = field(default=None, repr=False)


@dataclass(frozen=True)
class PlayPrice:
    """What the plays of one method would take, or those of all together, equal ones once.

    ``plays`` of ``histories`` in ``sessions``, of which ``kept`` need no reply that is not kept already (they have
    ended, or scripts end them); the others have ``acts`` to play, ``most_acts`` where the rules alone end them, and ask
    ``requests``, ``judged`` of them of a judge. ``usd`` is None where a model's price is not known; ``hours`` at the
    concurrency that is set, `REPLY_S` a reply.
    """

    method: str
    sessions: int
    histories: int
    plays: int
    kept: int
    acts: int
    most_acts: int
    judged: int
    requests: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    hours: float

    def text(self) -> str:
        """Two lines for a person."""
        kept = f", {self.kept:,} of them need no reply" if self.kept else ""
        sessions = f"{self.sessions:,} session{'s' * (self.sessions != 1)}"
        cost = cost_text(self.usd, "about", RUN_PRICES)
        return (
            f"{self.method}: {sessions}, {self.histories:,} histories, {self.plays:,} plays{kept}; "
            f"about {self.acts:,} acts to play (at most {self.most_acts:,}), {self.judged:,} questions to a judge\n"
            f"  {self.requests:,} requests, about {self.input_tokens:,} input tokens and {self.output_tokens:,} output "
            f"tokens (an estimate): {cost}; about {self.hours:.2g} h at {REPLY_S:g} s a reply"
        )


@dataclass(frozen=True)
class PlaysPriced:
    """What playing on would take, by method and in all; ``unplayable`` sessions are left out, and why is told then."""

    models: tuple[str, ...]
    methods: tuple[PlayPrice, ...]
    total: PlayPrice
    concurrency: int
    recorded: bool
    unplayable: int = 0

    def text(self) -> str:
        """Lines for a person."""
        shown = (*self.methods, self.total) if len(self.methods) > 1 else self.methods
        lines = [f"played on       by {', '.join(self.models)}, {self.concurrency:,} requests at once"]
        lines += [f"  {line}" for price in shown for line in price.text().splitlines()]
        lines += [f"  {self.unplayable:,} sessions cannot be played on and are left out"] if self.unplayable else []
        return "\n".join([*lines, f"  {'replies are recorded; ' if self.recorded else ''}{BASIS}"])

    def to_json(self) -> dict[str, Any]:
        """The same for other programs."""
        return {**asdict(self), "seconds_a_reply": REPLY_S, "basis": BASIS}


def playing_units(engine: Engine, stages: Collection[str]) -> list[Unit]:
    """The units of ``stages`` whose sessions a language model plays on or scores, by what their environment says."""
    if JUDGING not in stages:
        return []
    return [
        unit
        for unit in engine.plan.units[JUDGING]
        if not METHODS[str(unit.method)].asks
        and models_played(engine.config, unit, engine.sessions[str(unit.session_id)], engine.corpus.root)
    ]


@dataclass
class PendingRollouts:
    """The plays of all units that are not finished, each looked at once.

    ``find`` gives the reply to a request that is kept already.
    """

    engine: Engine
    units: list[Unit]
    find: Callable[[ChatRequest], ChatReply | None]
    unplayable: set[str] = field(default_factory=set)
    _needs: dict[Play, Needs] = field(default_factory=dict)

    @cached_property
    def by_method(self) -> dict[str, list[Play]]:
        """The plays of each method, as often as it asks for them."""
        asking = {unit.method for unit in self.units}
        found: dict[str, list[Play]] = {name: [] for name in self.engine.config.decompose.methods if name in asking}
        for unit in self.units:
            if self.engine.artifact(JUDGING, unit) is not None:
                continue
            try:
                found[str(unit.method)] += self._plays(unit)
            except UnitError:
                self.unplayable.add(str(unit.session_id))
        return found

    def needs(self, plays: Iterable[Play]) -> list[Needs]:
        """What each needs."""
        assert self.by_method is not None
        return [self._needs[play] for play in plays]

    def first_requests(self) -> list[ChatRequest]:
        """What would be asked next of each play, equal requests once."""
        asked = [need.first for plays in self.by_method.values() for need in self.needs(plays)]
        return list({request.key(): request for request in asked if request is not None}.values())

    def _plays(self, unit: Unit) -> list[Play]:
        engine, method = self.engine, METHODS[str(unit.method)]
        session = engine.sessions[str(unit.session_id)]
        opened = played_session(method, session, engine.corpus.root, engine.config.decompose, kept_alone(self.find))
        if not isinstance(opened, PredictedRequests):
            return []
        plays = []
        for episode in session.episodes(engine.config.rating):
            prompts, judged = opened.prompts(episode.rating.target), opened.judged()
            for history in histories_of(method, episode, engine.config.decompose):
                for seed in history.seeds or (None,):
                    play = Play(session.session_id, history.target, history.kept, seed)
                    plays.append(play)
                    if play not in self._needs:
                        ahead = opened.ahead(history.target, history.kept, seed)
                        self._needs[play] = needs_of(ahead, prompts, judged)
        return plays


def needs_of(ahead: PlannedRollouts, prompts: Sequence[Sequence[Prompt]], judged: Sequence[Prompt]) -> Needs:
    """What a play still needs that is kept as far as ``ahead`` says.

    ``ahead``: How far it is kept, and what it asks next. ``prompts``: By step of the session, what its acts would ask.
    ``judged``: What the judge would ask of the session.
    """
    if ahead.request is None:
        return Needs()
    if ahead.over:
        return Needs(judged=len(judged), tokens=tuple(_counted(judged)), first=ahead.request)
    last = max(len(prompts), ahead.reached + 1)
    here = prompts[ahead.reached] if ahead.reached < len(prompts) else []
    times, output = (here[0].times, here[0].output_tokens) if here else (1, 0)
    asked = [Prompt(ahead.request, output, times), *(one for step in prompts[ahead.reached + 1 :] for one in step)]
    most = last if ahead.most is None else max(last, ahead.most)
    tokens = (*_counted(asked), *_counted(judged))
    return Needs(last - ahead.reached, most - ahead.reached, len(judged), tokens, ahead.request)


def _counted(prompts: Iterable[Prompt]) -> Iterator[tuple[str, int, int]]:
    for prompt in prompts:
        for _ in range(prompt.times):
            yield prompt.request.model, prompt.input_tokens, prompt.output_tokens


def price_plays(engine: Engine, stages: Collection[str]) -> PlaysPriced | None:
    """Count and price what the units of ``stages`` that play on would ask; None where none asks. Asks nobody.

    Raises InputError: A price table or the file of recorded replies cannot be read; no such agent or judge.
    """
    units = playing_units(engine, stages)
    if not units:
        return None
    config = engine.config
    with prefixed("decompose.llm"), kept_of(config) as kept:
        looked = PendingRollouts(engine, units, kept)
        by_method = looked.by_method
    prices = _Prices(engine)
    methods = tuple(_price(looked, prices, method, plays) for method, plays in by_method.items())
    together = list(dict.fromkeys(play for plays in by_method.values() for play in plays))
    models = dict.fromkeys(
        model
        for unit in units
        for model in models_played(config, unit, engine.sessions[str(unit.session_id)], engine.corpus.root)
    )
    return PlaysPriced(
        models=tuple(models),
        methods=methods,
        total=_price(looked, prices, "in all, equal plays once", together),
        concurrency=config.decompose.llm.concurrency,
        recorded=config.decompose.llm.provider == "recorded",
        unplayable=len(looked.unplayable),
    )


class _Prices(dict[str, Price | None]):
    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self.llm, self._table = engine.config.decompose.llm, engine.config.run.prices

    def __missing__(self, model: str) -> Price | None:
        with prefixed("decompose.llm"):
            self[model] = find_price(model, self._table)
        return self[model]

    def usd(self, tokens: Iterable[tuple[str, int, int]]) -> float | None:
        by_model: Counter[tuple[str, int]] = Counter()
        for model, input_tokens, output_tokens in tokens:
            by_model[model, 0] += input_tokens
            by_model[model, 1] += output_tokens
        usd = [
            None if price is None else price.usd(by_model[model, 0], by_model[model, 1])
            for model in {model for model, _ in by_model}
            for price in [self[model]]
        ]
        return None if None in usd else sum(one for one in usd if one is not None)

    def hours(self, chains: Collection[int]) -> float:
        """The longest chain of replies that wait for each other, or all of them as many at once as there may be."""
        seconds = REPLY_S * max(max(chains, default=0), sum(chains) / self.llm.concurrency)
        minutes = sum(chains) / self.llm.requests_per_minute if self.llm.requests_per_minute else 0.0
        return max(seconds / 3600, minutes / 60)


def _price(looked: PendingRollouts, prices: _Prices, method: str, plays: list[Play]) -> PlayPrice:
    needs = looked.needs(plays)
    tokens = [one for need in needs for one in need.tokens]
    return PlayPrice(
        method=method,
        sessions=len({play.session_id for play in plays}),
        histories=len({play[:3] for play in plays}),
        plays=len(plays),
        kept=sum(need.first is None for need in needs),
        acts=sum(need.acts for need in needs),
        most_acts=sum(need.most_acts for need in needs),
        judged=sum(need.judged for need in needs),
        requests=len(tokens),
        input_tokens=sum(one[1] for one in tokens),
        output_tokens=sum(one[2] for one in tokens),
        usd=prices.usd(tokens),
        hours=prices.hours([len(need.tokens) for need in needs]),
    )


def most_played(engine: Engine, unit: Unit) -> tuple[int, int]:
    """How many plays a unit asks for, and the most requests that one of them makes, second and third tries included."""
    looked = PendingRollouts(engine, [unit], lambda request: None)
    needs = looked.needs(looked.by_method[str(unit.method)])
    longest = max((len(need.tokens) + 2 * (need.most_acts - need.acts) for need in needs), default=0)
    return len(needs), TRIES * max(1, longest)
