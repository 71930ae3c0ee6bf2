"""Tables 1 to 4 of the Stackelberg Speaker: their rows, and the commands that fill them."""

from __future__ import annotations

from apportion.environments.report_tables.rows_to_play import PaperRow, PaperRows
from apportion.environments.sotopia.reports.raters import JUDGE
from apportion.environments.sotopia.reports.social_methods import TRAINED as SOCIAL

REFINED = "+refiner"
_PLAYER = {
    "sla": "react+sla@sla.json",
    "lspo": "react+lspo@lspo.json",
    "strategist": "strategist@strategist.json",
    "rl-ins": "llm-ins+rl-ins@rl-ins.json",
}
"""By method that is trained first, how it is named as an agent."""


def _refiner(game: str, folder: str, more: str = "") -> tuple[str, ...]:
    """The commands that train a Refiner; ``more``: further lines of its file."""
    how = "" if game == "sotopia" else " --games 500"
    return (
        f"apportion world simulate {game} play-{game} --agents base{how} --model MODEL",
        f"apportion train refiner-data play-{game} -o {game}.jsonl --model MODEL",
        rf"""printf 'instances = ["{game}.jsonl"]\noutput = "{folder}"\n{more}' > {folder}.toml""",
        f"apportion train refiner {folder}.toml",
    )


def _row(name: str, game: str) -> PaperRow:
    """A method in a game; "Ours" is ``+refiner``."""
    if name.endswith(REFINED):
        inner, folder = _row(name.removesuffix(REFINED), game), f"refiner-{game}"
        return PaperRow(name, f"{inner.agent}{REFINED}@{folder}", (*inner.made, *_refiner(game, folder)))
    if game == "sotopia":
        return SOCIAL.get(name, PaperRow(name, name))
    made = (f"apportion train player {name} {game} {name}.json",) if name in _PLAYER else ()
    return PaperRow(name, _PLAYER.get(name, name), made)


def _rows(game: str, *names: str) -> tuple[PaperRow, ...]:
    return tuple(_row(name, game) for name in names)


def _pool(game: str, *names: str) -> PaperRows:
    play = f"apportion world tournament {game} CORPUS --agents {{agents}} --model MODEL"
    return PaperRows(_rows(game, *names), (play, "apportion world tables stackelberg CORPUS"))


TABLE_1 = {
    "werewolf": _pool("werewolf", "react", "recon", "sla", "lspo", "react+refiner", "lspo+refiner"),
    "avalon": _pool("avalon", "react", "recon", "lasi", "strategist", "react+refiner", "strategist+refiner"),
    "onuw": _pool("onuw", "react", "belief", "llm-ins", "rl-ins", "react+refiner", "rl-ins+refiner"),
}
"""By game."""
SIDES = {"positive-only": "positive", "negative-only": "negative", "full": "both"}
"""By reward of Table 2, which answers it is of."""


def refined_by(reward: str) -> str:
    """What the row of a reward is called."""
    return f"react{REFINED} ({reward})"


def _by_reward(game: str) -> PaperRows:
    rows = [PaperRow("react", "react")]
    for reward, side in SIDES.items():
        folder = f"{reward}-{game}"
        made = _refiner(game, folder, rf"""impact.side = "{side}"\n""")
        told = f" --reward react@MODEL{REFINED}@{folder}={reward}"
        rows.append(PaperRow(refined_by(reward), f"react{REFINED}@{folder}", made, told))
    return PaperRows(
        tuple(rows),
        (
            f"apportion world tournament {game} CORPUS --teams --against react --matches 50 --agents {{agents}} "
            "--model MODEL",
            "apportion world tables stackelberg CORPUS --against react@MODEL{told}",
        ),
    )


TABLE_2 = {game: _by_reward(game) for game in TABLE_1}
"""By game: ReAct with Refiners of other rewards, against ReAct."""
TABLE_3 = PaperRows(
    _rows("sotopia", "react", "recon", "sotopia-pi", "dsi", "sdpo", "metamind", "react+refiner", "metamind+refiner"),
    (
        "apportion world tournament sotopia CORPUS --agents {agents} --partner react --model MODEL",
        JUDGE.replace("NAME", "JUDGE"),
        "apportion world tables stackelberg CORPUS-judged --against react@MODEL --hard FILE",
    ),
)
"""Social episodes beside ReAct; ``dsi`` is SOTOPIA-Omega."""
PERSON = "person"
TABLE_4 = PaperRows(
    (PaperRow(PERSON, ""), *TABLE_1["werewolf"].rows),
    (
        "apportion world play werewolf CORPUS --with {agents} --called NAME --seed 1 --model MODEL",
        "apportion world tables stackelberg CORPUS",
    ),
)
"""Werewolf with a person in one seat; another ``--seed`` is another game."""
