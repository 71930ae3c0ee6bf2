"""What can be set of the training of a negotiator; the defaults are the notes' sizes and the paper's numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from apportion.foundation.settings import Settings

Rate = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(gt=0, le=1)]
Method = Literal["sl", "rl", "rl+sl", "acquisition"]
Novelty = Literal["likelihood", "entropy", "margin", "random"]
DATA_CONTEXTS = 4086


class NetworkSettings(Settings):
    """Sizes of the model of Lewis et al. (2017), with one embedding an act instead of one a word."""

    embedding: int = Field(256, ge=1, description="size of the embedding of an act")
    context: int = Field(64, ge=1, description="size of what is read of counts and own values")
    hidden: int = Field(128, ge=1, description="units of the GRU over acts")
    attention: int = Field(64, ge=1, description="units of the GRU of the selection, in each direction")
    selection: int = Field(256, ge=1, description="units of the layer before the selection's six heads")
    dropout: float = Field(0.5, ge=0, lt=1, description="share of units left out in supervised learning")
    spread: Rate = Field(0.1, description="weights begin between minus and plus this")


class SupervisedSettings(Settings):
    """Supervised learning (Eq. 1)."""

    epochs: int = Field(30, ge=0, description="passes at the first rate; 0: the model stays as it was drawn")
    batch: int = Field(16, ge=1, description="dialogues an update, of those between games (RL+SL), too")
    rate: Rate = Field(1.0, description="first rate of SGD")
    momentum: float = Field(0.1, ge=0, lt=1, description="Nesterov momentum")
    clip: Rate = Field(0.2, description="longest gradient, one seed's by itself")
    alpha: float = Field(0.5, ge=0, description="weight of the selection in Eq. 1")
    shrink: float = Field(5.0, gt=1, description="after the epochs the rate is divided by this, once an epoch")
    least_rate: Rate = Field(0.01, description="there training ends")


class ReinforceSettings(Settings):
    """Reinforcement learning (Eq. 2) of Alice with a fixed Bob."""

    games: int = Field(DATA_CONTEXTS, ge=1, description="games an epoch (N)")
    epochs: int = Field(1, ge=1, description="passes; after each, acquisition asks the expert")
    games_per_update: int = Field(1, ge=1, description="games of which one gradient is made; the paper's is 1")
    rate: Rate = Field(0.1, description="rate of SGD")
    clip: Rate = Field(1.0, description="longest gradient")
    discount: float = Field(0.95, ge=0, le=1, description="gamma in Eq. 2")
    temperature: Rate = Field(0.5, description="of both players' acts while it learns")
    normalised: bool = Field(
        True, description="divide by the rewards' standard deviation so far, as the reference code does; false: Eq. 2"
    )
    greedy: bool = Field(
        False, description="Alice takes her likeliest act while she learns, as the reference code does"
    )
    reward: Literal["points", "points+pareto", "normalised+pareto", "taken"] = Field(
        "points",
        description="r_A; r_A + p_A; r_A / 10 + p_A (section 7.3); taken, as the reference code: what Alice takes, "
        "also where no deal comes of it",
    )


class MixedSettings(Settings):
    """Supervised updates between those by reinforcement (RL+SL, section 4)."""

    after: int = Field(4, ge=1, description="games before each supervised update (n of Figure 6)")
    rate: Rate = Field(0.1, description="rate of the supervised updates")
    clip: Rate = Field(1.0, description="longest gradient of the supervised updates")


class AcquisitionSettings(Settings):
    """Targeted data acquisition (section 5)."""

    novelty: Novelty = Field("likelihood", description="what makes a game worth asking about (appendix C.1)")
    asked: int = Field(500, ge=1, description="games an epoch that are given to the expert (k)")
    order: Literal["second", "first"] = Field(
        "second", description="second: Bob alone learns of the expert; first: Alice too (section 7.4)"
    )
    expert: str = Field("sl", description="who answers: sl (learned on all the data), a script's name, or person")
    again: Literal["continued", "afresh"] = Field(
        "continued", description="Bob is trained again from his weights, or from new ones"
    )
    epochs: int = Field(2, ge=0, description="passes over the grown data at Bob's rate, when he is trained again")
    rate: Rate = Field(0.2, description="first rate when Bob is trained again from his weights")


class DataSettings(Settings):
    """The dialogues that are learned from."""

    dialogues: Path | None = Field(
        None, description="folder of Deal or No Deal (data, val, test and selfplay); none: `script`s play them"
    )
    scripted: int = Field(2000, ge=0, description="games that scripts play, where `dialogues` is not given")
    unique: Share = Field(1.0, description="share of unique acts at most (D_L: 0.5, 0.65, 0.78)")
    unique_of: Literal["data", "dialogue"] = Field(
        "data", description="share of the different acts in all the data, or of each dialogue's own acts"
    )
    scratch: bool = Field(False, description="begin without data and with new weights (section 7.1)")


class EvaluationSettings(Settings):
    """On what the agents are measured."""

    contexts: int = Field(500, ge=1, description="held-out contexts")
    partner: Literal["expert", "sl"] = Field("expert", description="who sits opposite (the paper: the expert)")
    temperature: float = Field(0.0, ge=0, description="of both players' acts; 0: the likeliest")


class NegotiatorSettings(Settings):
    """One cell of the study: a method, what it learns from, how many seeds at once."""

    method: Method = Field("rl", description="how Alice learns")
    seeds: tuple[int, ...] = Field((0,), min_length=1, description="trained at once")
    output: Path = Field(Path("negotiator"), description="folder that is written")
    kept_every: int = Field(
        500, ge=1, description="updates between two checkpoints; games of a seed, where it learns by reward"
    )
    data: DataSettings = DataSettings()
    network: NetworkSettings = NetworkSettings()
    supervised: SupervisedSettings = SupervisedSettings()
    reinforce: ReinforceSettings = ReinforceSettings()
    mixed: MixedSettings = MixedSettings()
    acquisition: AcquisitionSettings = AcquisitionSettings()
    evaluation: EvaluationSettings = EvaluationSettings()

    @model_validator(mode="after")
    def _fits(self) -> NegotiatorSettings:
        if len(set(self.seeds)) != len(self.seeds):
            raise ValueError(f"seeds {list(self.seeds)}: one of them stands twice; name each once")
        if self.method == "acquisition" and self.acquisition.asked > self.reinforce.games:
            raise ValueError(
                f"acquisition.asked = {self.acquisition.asked}: more than the {self.reinforce.games} games played an "
                "epoch (reinforce.games); ask about fewer, or play more"
            )
        if self.data.scratch and self.method in ("sl", "rl+sl"):
            raise ValueError(
                f'method = "{self.method}" learns from dialogues; data.scratch = true has none. Leave it out, '
                'or choose "rl" or "acquisition"'
            )
        if self.method == "sl" and not self.supervised.epochs:
            raise ValueError(
                'supervised.epochs = 0: method = "sl" would learn nothing; make it 1 at least, or choose another method'
            )
        return self
