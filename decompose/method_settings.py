"""The settings of single methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from apportion.decompose.method import SessionMethod
from apportion.decompose.methods import METHODS
from apportion.environments.role_assignment import BY_RULES, SELF
from apportion.foundation.did_you_mean import did_you_mean
from apportion.foundation.files import found_from, last_name, remembered_digest
from apportion.foundation.model_hub.names import model_digest, model_found_from
from apportion.foundation.settings import Settings
from apportion.foundation.truncate import listed


class SentimentSettings(Settings):
    """The sentiment of the rater's next reply, or of the utterance itself."""

    classifier: str = Field(
        default="vader",
        min_length=1,
        description="vader (rules, English, embedded) or the name of a Hugging Face text-classification model",
    )


class AffectSettings(Settings):
    """How happy the rater looks."""

    feature: Literal["auto", "happiness", "smile"] = Field(
        default="auto",
        description="happiness (needs an emotion model), smile, or auto: smile where nothing measured happiness",
    )
    window: Literal["during", "reply", "both"] = Field(
        default="during",
        description="when the rater's face is looked at: during the turn, during the reply to it, or the mean of both",
    )


class IntensitySettings(Settings):
    """How strongly the rater replies, by a model that is trained on labelled speech of one's own."""

    model: Path | None = Field(
        default=None, description="the folder of the model; make one with `apportion train intensity FOLDER`"
    )
    of: Literal["reply", "utterance"] = Field(
        default="reply",
        description="whose voice is listened to: the rater's in the reply, or the target's in the utterance",
    )


class SotopiaRLSettings(Settings):
    """Sotopia-RL's reward: attributions of several dimensions, each of its own score, as one weighted mean."""

    weights: dict[str, float] = Field(
        default={"GOAL": 1.0, "REL": 1.0, "KNO": 1.0},
        min_length=1,
        description="by dimension, a rating of the same target by the same rater, its weight w; section 2.2 of SAVOIR "
        "names none, so that all count the same",
    )


class RubricSettings(Settings):
    """Signals of satisfaction and dissatisfaction in words that a language model judges by (SPUR, Lin et al., 2024)."""

    file: Path | None = Field(
        default=None,
        description="a TOML file of signals, written by hand or kept from a run; none has the language model write it "
        "from scored training sessions",
    )
    dialogues: int = Field(
        default=10, ge=1, le=100, description="scored dialogues that it reads of each end of the scale, to write them"
    )


class RRDSettings(Settings):
    """Randomized return decomposition (Ren et al., 2021).

    What a method's name says goes first: rrd-published is not corrected, rrd-160 has k = 160.
    """

    k: int = Field(
        default=32, ge=1, description="turns drawn of a dialogue to estimate its return; of one with fewer, all"
    )
    corrected: bool = Field(
        default=True, description="take away the bias that sampling fewer than all turns adds to the loss"
    )


class RudderSettings(Settings):
    """RUDDER (Arjona-Medina et al., 2019)."""

    auxiliary: float = Field(
        default=0.5, ge=0, le=100, description="weight of predicting the return after every turn, not at the end alone"
    )


class GELISettings(Settings):
    """Global and local feedback in one loss (GELI, Lee et al., 2024)."""

    weight: float = Field(
        default=0.5, ge=0, le=1, description="share of the global part of the loss; the rest is the local values'"
    )


class PlayersSettings(Settings):
    """Who plays on: an agent by its name (conceding, base, base@MODEL, …), or self."""

    target: str = Field(
        default=SELF,
        min_length=1,
        description="in the seat whose acts are credited; self is who made the session. base, react and refine ask the "
        "model of decompose.llm, base@MODEL another one of its server",
    )
    partner: str = Field(default=SELF, min_length=1, description="in every other seat; a fixed partner, or self")


class SavoirSettings(Settings):
    """Credit by playing on (SAVOIR): sessions of simulated dialogues, of whose acts some are left out."""

    NOT_IN_KEY: ClassVar[frozenset[str]] = frozenset({"agents", "scorer", "temperature"})
    """Who plays on and who scores; they enter the cache key with the environment that makes them."""

    agents: PlayersSettings = PlayersSettings()
    scorer: str = Field(
        default=BY_RULES.called,
        min_length=1,
        description="who scores each play: rules, or a language model by the name of its prompt: paper (SOTOPIA-EVAL), "
        "paper@MODEL",
    )
    temperature: float | None = Field(
        default=None, ge=0, le=2, description="of agents that are language models; none is that of the corpus (1)"
    )

    rollouts: int = Field(
        default=2, ge=1, le=1000, description="J: times that each history is played on to its end (SAVOIR's is 2)"
    )
    weights: dict[str, float] | None = Field(
        default=None,
        min_length=1,
        description="by dimension its weight in a play's utility; SAVOIR's are { GOAL = 0.5, REL = 0.3, KNO = 0.2 }, "
        "which takes a judge that scores them. None is the rating that is credited, alone",
    )
    scaled: bool = Field(
        default=False, description="bring each dimension from its range to 0 to 10 before it is weighted"
    )
    budget: int | None = Field(
        default=None,
        ge=4,
        description="coalitions of acts, at most; none is SAVOIR's min(12n + 2, 200) for n acts. As many as there are "
        "(2^n) make the values exact",
    )
    seed: int = Field(default=0, ge=0, description="of the coalitions drawn, and of everything drawn in play")
    common_random_numbers: bool = Field(
        default=True, description="draw the same in play j of every history, so that luck does not look like credit"
    )


PLEASED = ("Got", "Thanks", "Will", "Very", "Good", "Cool", "Great", "Fine", "Thank", "Now")
DISPLEASED = ("Still", "Wait", "Right", "Sorry", "Not", "You", "No", "But", "This", "Are")
"""First words of the user's replies in the made-up dialogues that taught `reactions-en`: of those that begin replies in
at least 5 dialogues and are one token, the ten that follow the turns judged best and worst on average."""


class MeasurerSettings(Settings):
    """The language model that tells how probable words are."""

    model: str | None = Field(
        default=None,
        min_length=1,
        description="a causal language model on this machine: smollm2 (fetched), a folder or a name on the Hugging "
        "Face Hub; `apportion train measurer CORPUS` makes a small one. The -served method asks decompose.llm.model",
    )
    device: Literal["cpu", "cuda"] = Field(default="cpu", description="where that model runs; results differ by bits")
    dtype: Literal["float32", "bfloat16"] = Field(default="float32", description="number format of its weights")
    endpoint: Literal["chat", "completions"] = Field(
        default="chat",
        description="of the -served method: how the server is asked, chat (prompt_logprobs: vLLM) or completions "
        "(echo: vLLM, SGLang)",
    )
    tokenizer: str | None = Field(
        default=None,
        min_length=1,
        description="of the -served method, endpoint completions: the model's tokenizer, a folder or a name on the "
        "Hub, whose chat template writes the prompt; none writes lines that begin with the role",
    )
    context_tokens: int | None = Field(
        default=None, ge=32, description="most tokens of a prompt with its reply; none is as many as the model reads"
    )
    context_turns: int | None = Field(
        default=None, ge=1, description="most turns that the follower reads before the reply; none is all"
    )

    def found_from(self, base: Path) -> Self:
        """A copy whose folders and files are found from ``base``."""
        given = {"model": self.model, "tokenizer": self.tokenizer}
        return self.model_copy(update={key: name and model_found_from(base, name) for key, name in given.items()})

    def shown(self) -> dict[str, Any]:
        """What of it is a place by its last name: paths say nothing about results."""
        given = {name: getattr(self, name, None) for name in ("model", "tokenizer", "intents")}
        return self.plain() | {name: last_name(value) for name, value in given.items() if value}

    def identity(self, *, served: bool) -> dict[str, Any]:
        """What of it decides a value, for an artifact's key: a model and a file count by what they hold."""
        values: dict[str, Any] = self.model_dump(mode="json")
        for name in ("model", "tokenizer"):
            values[name] = values[name] and model_digest(values[name])
        unused = ("model", "device", "dtype", "context_tokens") if served else ("endpoint", "tokenizer")
        return {name: value for name, value in values.items() if name not in unused}


class ZeroShotSettings(MeasurerSettings):
    """Which beginnings of the user's next turn tell that they are pleased, and which that they are not."""

    pleased: tuple[str, ...] = Field(
        default=PLEASED,
        min_length=1,
        description="what the next turn of a user who is pleased begins with: words, or replies, which cost more; for "
        "a language other than English give both lists",
    )
    displeased: tuple[str, ...] = Field(default=DISPLEASED, min_length=1, description="the same of one who is not")

    @property
    def in_english(self) -> bool:
        """Whether the words are those that come with this package."""
        return (self.pleased, self.displeased) == (PLEASED, DISPLEASED)

    @model_validator(mode="after")
    def _two_lists(self) -> Self:
        said = [text.strip() for text in (*self.pleased, *self.displeased)]
        if "" in said or len(set(said)) != len(said):
            raise ValueError("pleased, displeased: a text is empty or named twice; each begins one kind of reply")
        if (self.pleased == PLEASED) != (self.displeased == DISPLEASED):
            raise ValueError("pleased, displeased: one list is yours and one English as shipped; give both")
        return self


class InfluenceSettings(MeasurerSettings):
    """How far an utterance moved the reply that came (the Stackelberg Speaker's Measurer, section 3.3)."""

    negatives: int = Field(
        default=3,
        ge=0,
        le=32,
        description="other replies of the same session, drawn, beside which the one that came is measured (the paper's "
        "K); 0 measures it alone",
    )
    baseline: Literal["silence", "others"] = Field(
        default="silence",
        description="what stands in the utterance's place for comparison: nothing said, or other utterances of the "
        "same speaker, drawn",
    )
    candidates: int = Field(
        default=3, ge=1, le=32, description="how many other utterances, where they are what stands there"
    )
    tokens: Literal["sum", "mean"] = Field(
        default="sum",
        description="a reply's log-probability over its tokens: their sum (Eq. 6), or their mean, as the released code",
    )
    signed: bool = Field(
        default=True,
        description="what moved the replies of a dialogue counts for it above the middle of the scale and against it "
        "below, by how far; false, whichever way the dialogue went",
    )
    intents: Path | None = Field(
        default=None,
        description="a JSON Lines file of desired and undesired replies by session and turn; where a turn has them, "
        "its value is how far it moved the follower from those to these (Eq. 5), whatever came and whatever the score",
    )
    seed: int = Field(default=0, ge=0, description="of what is drawn")

    def found_from(self, base: Path) -> Self:
        """A copy whose folders and files are found from ``base``."""
        intents = self.intents and found_from(base, self.intents)
        return super().found_from(base).model_copy(update={"intents": intents})

    def identity(self, *, served: bool) -> dict[str, Any]:
        """What of it decides a value, for an artifact's key: a model and a file count by what they hold."""
        values = super().identity(served=served)
        if self.intents is not None:
            # A file that is not there is told where it is read.
            values["intents"] = remembered_digest(self.intents) if self.intents.is_file() else ""
        return values


MADE_HERE = ("reaction", "prior", "reactions-en", "behaviour", "llm-student", "people-student")
"""The components of a mix that are no method's judgements, but made of what was read of the replies."""


class BlendSettings(Settings):
    """How reactions and a language model's judgements are put together."""

    weight: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="what the judgements weigh, the rest is the reactions'; none lets the training scores decide",
    )


class MixSettings(Settings):
    """Which components are put together, and by what."""

    components: tuple[str, ...] = Field(
        default=("reaction", "prior", "reactions-en", "behaviour", "llm-student", "people-student", "llm", "sentiment"),
        min_length=1,
        description="what is mixed, as far as the run has it: reaction (what this corpus's scores tell of replies), "
        "prior (what others' do, where decompose.reaction.pretrained names it), reactions-en (what a language model's "
        "judgements of made-up English dialogues do, where decompose.reaction reads replies as it ships), behaviour "
        "(the rater's face and voice alone), llm-student (what llm's judgements of some sessions tell of replies), "
        "people-student (what people's labels of training sessions tell of them), and methods that judge by their "
        "names, llm, sentiment, ...",
    )
    weights: dict[str, float] | None = Field(
        default=None,
        description="what each component weighs, a component that is not named nothing; none lets the training scores "
        "decide",
    )
    skip_reply_only: bool = Field(
        default=True,
        description="leave out what reads the rater's replies alone where the rating's name tells of quality",
    )

    @field_validator("components")
    @classmethod
    def _known_and_unique(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        judging = [name for name, method in METHODS.items() if isinstance(method, SessionMethod)]
        allowed = [*MADE_HERE, *judging]
        for name in names:
            if name not in allowed:
                raise ValueError(f"{name!r} is no component; {did_you_mean(name, allowed, listed(allowed))}")
        if len(set(names)) != len(names):
            raise ValueError(f"{', '.join(names)}: name each component once")
        return names

    @model_validator(mode="after")
    def _weights_of_components(self) -> MixSettings:
        for name, weight in (self.weights or {}).items():
            if name not in self.components:
                raise ValueError(
                    f"weights: {name!r} is not among components ({', '.join(self.components)}); add it there"
                )
            if not 0 <= weight <= 1e6:
                raise ValueError(f"weights: {name} = {weight:g} is not from 0 to 1e6")
        if self.weights is not None and not any(self.weights.values()):
            raise ValueError("weights: none is above 0; leave weights out to let the training scores decide")
        return self
