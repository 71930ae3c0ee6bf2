"""`apportion world simulate`: episodes of simulated environments as a corpus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from apportion.commands.shared.options import PATH, with_options
from apportion.commands.world.deduction import DEDUCTION, GAME_OPTIONS, SIMULATE, deduction_of
from apportion.commands.world.games import ABOUT, PAIR_OPTIONS, pairs_of
from apportion.commands.world.playing import EPISODE_OPTIONS, choice_of, simulate

if TYPE_CHECKING:
    from apportion.environments.simulation import Simulation


@click.group("simulate")
def simulate_group() -> None:
    """Play simulated dialogues; what was played becomes a corpus like any other.

    Nobody spoke in it: sessions are marked as simulated wherever they show.
    """


def _add(
    kind: str, text: str, choose: Callable[..., Simulation], options: Sequence[Any], agents: str = "conceding"
) -> None:
    """Add the command that plays ``kind`` into a corpus, or says what would be asked."""

    @simulate_group.command(kind, help=text)
    @click.argument("out", metavar="CORPUS", type=PATH)
    @click.option("--agents", default=agents, show_default=True, help="Who plays, by name, with commas between.")
    @partial(with_options, options)
    def command(**given: Any) -> None:
        simulate(choose, **given)


_SOTOPIA = """Play social episodes (SOTOPIA), scored by the judge `rules`.

--agents: `conceding`, `random`, `moody`, talking@STEP (scripts), recorded@LOG#EPISODE, `smollm2` (once fetched),
policy@FOLDER, planners (ppdpp@, epo@, dat@FOLDER), or `base`, `react`, `refine`, `recon`, `metamind` (the language
model --model; base@OTHER is another one). Every ordered pair plays every task. GOAL, FIN and SEC are scored where rules
can tell; that is not SOTOPIA-EVAL. The same command goes on after a kill, and pays for no reply twice.
"""
_NEGOTIATION = """Play negotiations: two share out books, hats and balls that are worth something else to each.

--agents are `random`, `greedy`, `conceding`, `fair` and `tit-for-tat` (scripts), learned@FOLDER (trained by
`apportion train negotiator`), recorded@LOG#EPISODE, and `base` and `react` (the language model --model; base@OTHER
names another one of the same server). A script with a ~ behind its name (fair~) is put into words by --model; else
it has sentences of our own. Every ordered pair of them plays every context. Ratings are `points` and `advantage`,
by the rules. The same command goes on after a kill, and pays for no reply twice.
"""
_BARGAINING = """Play bargains: a buyer with a budget and a seller with a cost come to a price, or to none.

--agents are `random`, `greedy`, `conceding`, `fair` and `tit-for-tat` (scripts), recorded@LOG#EPISODE, and `base`
(the language model --model; base@OTHER names another one of the same server). Every ordered pair of them plays
every bargain, the first buying; --scenarios plays those of a file, the first --games of them. Ratings are `points`,
`advantage`, `snp` and `share`, by the rules. The same command goes on after a kill, and pays for no reply twice.
"""
_CASINO = """Play CaSiNo's game: two share out food, water and firewood; without a deal both have 5 points of 36.

--agents are those of `simulate bargaining`. Every ordered pair of them plays every context. Ratings are `points`
and `advantage`, by the rules. The same command goes on after a kill, and pays for no reply twice.
"""
_add("sotopia", _SOTOPIA, choice_of, EPISODE_OPTIONS)
for _kind, _text in (("negotiation", _NEGOTIATION), ("bargaining", _BARGAINING), ("casino", _CASINO)):
    _add(_kind, _text, partial(pairs_of, _kind), (*ABOUT[_kind], *PAIR_OPTIONS))
for _kind, _title in DEDUCTION.items():
    _add(_kind, SIMULATE.format(title=_title), partial(deduction_of, _kind), GAME_OPTIONS, "claims")
