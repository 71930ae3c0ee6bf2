"""Which decompositions are made, and how each of them works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from apportion.decompose.method import LabelStudent, LLMMethod, Method, RolloutMethod, RubricMethod, StudentMethod
from apportion.decompose.method_settings import (
    AffectSettings,
    BlendSettings,
    GELISettings,
    InfluenceSettings,
    IntensitySettings,
    MixSettings,
    RRDSettings,
    RubricSettings,
    RudderSettings,
    SavoirSettings,
    SentimentSettings,
    SotopiaRLSettings,
    ZeroShotSettings,
)
from apportion.decompose.methods import METHODS, section_classes, unknown_method
from apportion.foundation.errors import InputError
from apportion.foundation.files import found_from
from apportion.foundation.settings import Preset, PresetSettings, PublishedValue, Settings
from apportion.llm_client.prompts.prompt_file import is_path
from apportion.llm_client.settings import LLMSettings

PRESETS: Mapping[str, Preset] = {
    "paper": {
        "method": PublishedValue("llm-multimodal", "section 4.1: Multimodal-LLM-GELI (Eq. 2)"),
        "compare": PublishedValue(("llm",), "section 4.1: LLM-GELI (Eq. 3)"),
        "target": PublishedValue("score", "Eq. 4: the rewards are asked to sum to the score itself"),
        "constraint": PublishedValue("soft", "section 4.1: a soft constraint in the prompt"),
        "llm": {
            "prompt": PublishedValue("paper", "section 4.1: its wording"),
            "model": PublishedValue("o3-mini", "section 4.1"),
            "samples": PublishedValue(1, "section 5: a single run; appendix J asks twice for its check alone"),
        },
        "rrd": {
            "k": PublishedValue(32, "Table 4: K = 32; `rrd-160` is its other row"),
            "corrected": PublishedValue(
                False, "section 5.2: RRD as in Ren et al. (2021), whose loss has no correction"
            ),
        },
        "geli": {
            "weight": PublishedValue(0.5, "section 5.2, GELI (Lee et al., 2024): equal parts in its code"),
        },
    },
    "savoir": {
        "method": PublishedValue("savoir-paper", "algorithm 1; section 3.5 learns its values, from 0 to 10"),
        "compare": PublishedValue((), "no other"),
        "savoir": {
            "rollouts": PublishedValue(2, "appendix D: J = 2"),
            "weights": PublishedValue(
                {"GOAL": 0.5, "REL": 0.3, "KNO": 0.2}, "appendix D: w_d; a judge has to score all three"
            ),
            "scaled": PublishedValue(False, "Eq. 3: on the ranges of the dimensions"),
        },
    },
}
"""LLM-GELI. The language model takes no temperature (o3-mini has none); appendix J names one, of 1, for its check.
SAVOIR's number of coalitions, min(12n + 2, 200), is what `decompose.savoir.budget` is where nothing is set."""


class LLMMethodSettings(LLMSettings):
    """The model that is asked, and the wording of the question."""

    prompt: str = Field(
        default="default",
        min_length=1,
        description="default (judged as the rating means it: the rater's feeling or the utterance's quality), quality, "
        "paper (LLM-GELI's own wording), attribution (Sotopia-RL's), or the path of a text file of your own",
    )
    question: str | None = Field(
        default=None,
        description="what the rating tells, e.g. 'how satisfied {{ rater }} was with {{ target }}'; "
        "none takes it from the rating's name",
    )
    max_reply_attempts: int = Field(
        default=3,
        ge=1,
        le=10,
        description="times a model is asked, its mistake shown to it, before a session is given up",
    )
    context_tokens: int = Field(
        default=32_768,
        ge=1024,
        description="tokens that the model takes in and gives out at once (Ollama's default is 4096); a longer "
        "dialogue is asked about in overlapping parts",
    )
    overlap_turns: int = Field(
        default=8,
        ge=1,
        le=100,
        description="target turns that two parts share, at most half of a part; they bring the parts to one scale",
    )

    max_sessions: int | None = Field(
        default=None,
        ge=3,
        description="sessions that llm, llm-multimodal and llm-rubric judge, spread over scores and over what "
        "reactions leave uncertain; llm-student carries that to the others; none judges all",
    )
    selection_seed: int = Field(default=0, ge=0, description="decides which, where max_sessions leaves a choice")
    pseudonyms: bool = Field(
        default=False,
        description="show the model other names than the speakers', also in the texts; results have the real ones",
    )
    speaker_names: tuple[str, ...] = Field(
        default=(),
        description="further names to replace with pseudonyms = true: of people who are talked about, or of speakers "
        "whose ids are numbers",
    )


class ReactionSettings(Settings):
    """What is read of the rater's reaction to a turn, and how a session's score is made of its turns."""

    backbone: str = Field(
        default="minilm",
        min_length=1,
        description="reads the replies, always frozen: minilm (embedded), e5-small or smollm2 (fetched), or a "
        "Hugging Face model by name or folder",
    )
    max_tokens: int = Field(default=128, ge=8, le=8192, description="tokens of an utterance that are read")
    inputs: Literal["reply", "exchange", "both"] = Field(
        default="reply",
        description="what the backbone is given: the reply by itself, in exchange the reply after the turn that it "
        "answers, so that its words are read in that light, or both, side by side",
    )
    replies: int = Field(
        default=1,
        ge=1,
        le=2,
        description="how many of the rater's next replies are read; the second's embedding stands beside the first's",
    )
    recency_weights: tuple[float, ...] = Field(
        default=(0.0, 1.0, 2.0),
        min_length=1,
        description="how much more later turns weigh in the score (0: all alike), tried one after the other; "
        "the leave-one-out error of the training sessions' scores decides",
    )

    pretrained: Path | None = Field(
        default=None,
        description="what was learnt of reactions on other corpora, a file for the method prior; make one with "
        "`apportion train reactions CORPUS --out FILE`",
    )
    target: str = Field(
        default="second",
        min_length=1,
        description="whose turns are credited by the methods prior and reactions-en where a corpus has no ratings at "
        "all: a speaker's name, or first or second, by who speaks first in a session",
    )

    @field_validator("recency_weights")
    @classmethod
    def _powers(cls, powers: tuple[float, ...]) -> tuple[float, ...]:
        wrong = [power for power in powers if not 0 <= power <= 8]
        if wrong:
            raise ValueError(f"{wrong[0]:g} is not from 0 to 8")
        return powers

    def reading(self) -> dict[str, Any]:
        """What decides what is read of a reply, as plain JSON values.

        What came later is named where it is not as it always was: what was read or learnt before stays of use.
        """
        values = self.model_dump(mode="json", exclude=set(self.NOT_IN_KEY))
        defaults = type(self).model_fields
        later = {name for name in ("inputs", "replies") if values[name] == defaults[name].default}
        return {name: value for name, value in values.items() if name not in later}

    NOT_IN_KEY: ClassVar[frozenset[str]] = frozenset({"recency_weights", "pretrained", "target"})
    """What decides how reactions are put together, and who is credited: what is read of them depends on all others."""


class AuditSettings(Settings):
    """Asking a language model the same in several ways, to see whether its order of the turns holds."""

    sessions: int = Field(
        default=0, ge=0, description="sessions that are asked about again, changed in several ways; 0 means no audit"
    )
    method: str | None = Field(
        default=None,
        description="the method that is audited; none takes the run's, or the last of decompose.compare that asks",
    )
    seed: int = Field(
        default=0, ge=0, description="decides which sessions, which turns, where words are planted, and the other order"
    )

    NOT_IN_KEY: ClassVar[frozenset[str]] = frozenset({"sessions", "method"})
    """What decides who is asked about which sessions: the key of one session's answers is made of all other fields."""


class DecomposeSettings(PresetSettings):
    """From one score a dialogue to one reward a turn; a package's method may bring a section of its own.

    >>> DecomposeSettings(method="llm", llm={"model": "qwen3"}).llm.model
    'qwen3'
    """

    # Sections that are no fields are those of packages' methods; anything else is refused by `_sections_of_packages`.
    model_config = ConfigDict(extra="allow")
    PRESETS: ClassVar[Mapping[str, Preset]] = PRESETS

    preset: Literal["paper", "savoir"] | None = Field(
        default=None,
        description="settings by name, which the other keys go before: paper is LLM-GELI's (section 4.1), savoir is "
        "SAVOIR's (appendix D)",
    )
    method: str = Field(
        default="mix",
        description="the method of the run, whose rewards reward model, policy, viewer and report go by: uniform, "
        "sentiment, sentiment-utterance, affect, intensity, llm, llm-multimodal, rrd, rrd-published, rrd-160, "
        "rrd-160-published, ircr, rudder, rrd-va, rrd-ls, ircr-va, rudder-va, reaction, reaction-llm, mix, "
        "llm-student, llm-rubric, people-student, prior, reactions-en; sentiment-raw, sentiment-utterance-raw, "
        "affect-raw and intensity-raw are signals alone; savoir, savoir-paper, savoir-paper-raw, shapley-hindsight, "
        "expected-utility and leave-one-out play sessions of simulated dialogues on; episode-score is the score on "
        "every act; sotopia-rl asks for attributions of several dimensions; influence and influence-served measure how "
        "an utterance moved the reply that came, by a model here or at a server; zero-shot and zero-shot-served have "
        "it foretell whether the user's next words are pleased",
    )
    compare: tuple[str, ...] = Field(default=(), description="methods that stand beside it, to be compared with it")
    target: Literal["relative", "score"] = Field(
        default="relative",
        description="what a dialogue's rewards sum to: relative, its score less the training mean (of attributions, "
        "less the lower end of the scale); score, the score itself (the paper's)",
    )
    constraint: Literal["exact", "soft"] = Field(
        default="exact",
        description="exact, rewards are made to sum to that; soft, they are the method's own numbers as they come, "
        "and only what is missing from the sum is told (the paper's)",
    )
    attribution: Literal["share", "fraction"] = Field(
        default="share",
        description="how attributions a (prompt attribution) become rewards: share, a / sum of a of the score; "
        "fraction, a / 3 of the score as in Sotopia-RL, what is missing from the sum spread evenly",
    )
    sentiment: SentimentSettings = SentimentSettings()
    affect: AffectSettings = AffectSettings()
    intensity: IntensitySettings = IntensitySettings()
    llm: LLMMethodSettings = LLMMethodSettings()
    savoir: SavoirSettings = SavoirSettings()
    rubric: RubricSettings = RubricSettings()
    sotopia_rl: SotopiaRLSettings = SotopiaRLSettings()
    influence: InfluenceSettings = InfluenceSettings()
    zero_shot: ZeroShotSettings = ZeroShotSettings()
    rrd: RRDSettings = RRDSettings()
    rudder: RudderSettings = RudderSettings()
    geli: GELISettings = GELISettings()
    reaction: ReactionSettings = ReactionSettings()
    stack_two: BlendSettings = BlendSettings()
    stacking: MixSettings = MixSettings()
    audit: AuditSettings = AuditSettings()

    def found_from(self, base: Path) -> Self:
        """A copy whose files and folders are found from ``base``."""
        voice, learnt, prompt = self.intensity.model, self.reaction.pretrained, self.llm.prompt
        changes: dict[str, Any] = {}
        for name in {"influence", "zero_shot"} & self.model_fields_set:
            changes[name] = getattr(self, name).found_from(base)
        if voice is not None:
            changes["intensity"] = self.intensity.model_copy(update={"model": found_from(base, voice)})
        if learnt is not None:
            changes["reaction"] = self.reaction.model_copy(update={"pretrained": found_from(base, learnt)})
        if "llm" in self.model_fields_set and is_path(prompt):
            changes["llm"] = self.llm.model_copy(update={"prompt": str(found_from(base, prompt))})
        if self.rubric.file is not None:
            changes["rubric"] = self.rubric.model_copy(update={"file": found_from(base, self.rubric.file)})
        return self.model_copy(update=changes)

    def shown(self) -> dict[str, Any]:
        """As plain JSON values, files and folders by their last names."""
        shown = self.plain() | {"influence": self.influence.shown(), "zero_shot": self.zero_shot.shown()}
        for section, key in (("intensity", "model"), ("reaction", "pretrained"), ("rubric", "file"), ("llm", "prompt")):
            path = shown[section][key]
            if path is not None and (section != "llm" or is_path(path)):
                shown[section][key] = Path(path).name
        return shown

    @property
    def methods(self) -> tuple[str, ...]:
        """All methods of the run; the run's own comes last."""
        return (*(name for name in self.compare if name != self.method), self.method)

    def choosing(self, methods: Sequence[str]) -> Self:
        """A copy with these methods, of which the last is the run's own."""
        return self.model_copy(update={"method": methods[-1], "compare": tuple(methods[:-1])})

    @property
    def judging(self) -> tuple[str, ...]:
        """The methods, and those that they are taught by."""
        methods = (METHODS[name] for name in self.methods)
        taught = ((m, m.teacher) if isinstance(m, StudentMethod) else (m,) for m in methods)
        return tuple(dict.fromkeys(method.name for pair in taught for method in pair))

    @property
    def reads_labels(self) -> bool:
        """Whether people's labels of training sessions teach any of the methods."""
        mixed = "people-student" in self.stacking.components
        methods = [METHODS[name] for name in self.methods]
        return any(isinstance(m, LabelStudent) or (mixed and m.reads("stacking")) for m in methods)

    @property
    def some_judge(self) -> tuple[str, ...]:
        """Those of ``judging`` that judge chosen sessions alone; none where all sessions are judged."""
        return tuple(n for n in self.judging if METHODS[n].judges_subset) if self.llm.max_sessions is not None else ()

    @property
    def writes_rubric(self) -> bool:
        """Whether a run has a rubric written to judge by."""
        return self.rubric.file is None and any(isinstance(METHODS[name], RubricMethod) for name in self.judging)

    @property
    def audited_method(self) -> str | None:
        """The method that the audit asks by; None where no method asks a language model about a session as it is."""
        asking = [name for name in self.methods if isinstance(METHODS[name], LLMMethod)]
        return self.audit.method or (asking[-1] if asking else None)

    def section_of(self, method: Method) -> Any:
        """The settings that ``method`` reads, a package's own at their defaults where none are given; None for none.

        Raises InputError: The method declares a section that is neither one of ours nor described by a class of its
        own.
        """
        if method.section is None:
            return None
        brought, name = method.settings_class(), method.section.name
        known = name in OUR_SECTIONS if brought is None else name not in type(self).model_fields
        if not known:
            raise InputError(
                f"method {method.name!r}: section {name!r} with settings {method.section.settings!r}. Without "
                f"settings it is one of ours, {', '.join(OUR_SECTIONS)}; with settings another name, a class as "
                "module:Class. The method's declaration must be corrected."
            )
        given = getattr(self, name, None)
        section: Any = brought() if given is None and brought is not None else given
        return section.model_copy(update=dict(method.section.fixed)) if method.section.fixed else section

    @classmethod
    def brought_sections(cls) -> dict[str, type[Settings]]:
        """The sections of packages' methods, by name."""
        return section_classes()

    @model_validator(mode="wrap")
    @classmethod
    def _sections_of_packages(cls, values: Any, handler: ModelWrapValidatorHandler[DecomposeSettings]) -> Any:
        if not isinstance(values, Mapping) or values.keys() <= cls.model_fields.keys():
            return handler(values)  # Without asking every installed package for its methods.
        brought = section_classes()
        checked: dict[str, Any] = {}
        problems: list[InitErrorDetails] = []
        for name, value in values.items():
            if name in cls.model_fields:
                checked[name] = value
            elif name not in brought:
                problems.append(InitErrorDetails(type="extra_forbidden", loc=(name,), input=value))
            else:
                try:
                    checked[name] = brought[name].model_validate(value)
                except ValidationError as error:
                    problems += [_placed(item, name) for item in error.errors()]
        try:
            settings = handler(checked)
        except ValidationError as error:
            problems = [*(_placed(item) for item in error.errors()), *problems]
        if problems:
            raise ValidationError.from_exception_data(cls.__name__, problems)
        return settings

    @field_validator("method", "compare")
    @classmethod
    def _known(cls, names: str | tuple[str, ...]) -> str | tuple[str, ...]:
        given = (names,) if isinstance(names, str) else names
        problems = [problem for name in given if (problem := unknown_method(name))]
        if problems:
            raise ValueError(" ".join(problems))
        return names

    @model_validator(mode="after")
    def _fit_together(self) -> DecomposeSettings:
        if len({*self.compare, self.method}) <= len(self.compare):
            given = f"method = {self.method}, compare = {', '.join(self.compare)}"
            raise ValueError(f"{given}: name each method once")
        for name in self.methods:
            if lacking := METHODS[name].missing(self.methods):
                raise ValueError(f"{name} reads what {lacking} has judged; add {lacking} to decompose.compare")
        audited = self.audit.method
        if audited is not None and audited not in self.methods:
            raise ValueError(
                f"audit.method = {audited!r} is not among the methods ({', '.join(self.methods)}); add it to "
                "decompose.compare"
            )
        if audited is not None and isinstance(METHODS[audited], RolloutMethod):
            raise ValueError(f"audit.method = {audited!r} plays sessions on, and a changed one was never played")
        if audited is not None and (isinstance(METHODS[audited], RubricMethod) or not METHODS[audited].asks):
            asking = ", ".join(name for name in METHODS if isinstance(METHODS[name], LLMMethod))
            raise ValueError(f"audit.method = {audited!r} asks no language model by decompose.llm.prompt; {asking} do")
        return self


OUR_SECTIONS = tuple(
    name
    for name, field in DecomposeSettings.model_fields.items()
    if name != "audit" and isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
)
"""The sections of ``DecomposeSettings`` that methods of ours read."""


def _placed(item: ErrorDetails, *where: str) -> InitErrorDetails:
    """A problem that was found already, to be told at its place below ``where``."""
    kind: str | PydanticCustomError = item["type"]
    if kind not in ("extra_forbidden", "missing"):  # Any other type wants its context again, and only says words.
        kind = PydanticCustomError("section", "{words}", {"words": item["msg"]})
    return InitErrorDetails(type=kind, loc=(*where, *item["loc"]), input=item["input"])
