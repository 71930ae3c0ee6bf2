"""What a person can change about the behaviour features and their rendering in words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from apportion.foundation.files import found_from
from apportion.foundation.settings import Preset, PresetSettings, PublishedValue, Settings, within

PRESETS: Mapping[str, Preset] = {
    "paper": {
        "jitter": PublishedValue("disvoice", "section 5.1: jitter as DisVoice has it"),
        "detector": PublishedValue("haar", "section 5.1: OpenCV's CascadeClassifier, of smiles"),
        "nod_crossings": PublishedValue(2, "section 5.1: zero crossings >= 2"),
        "nod_range": PublishedValue(0.1, "section 5.1: scaled face range > 0.1"),
    }
}
"""LLM-GELI. Its code of gaze and nods is not public; its emotions ask for a model of AffectNet's classes."""


AUTO: Final = "auto"
NONE = "none"
AutoDetector = Literal["haar", "mesh"]
"""What `auto` can be."""
MESH_SETTINGS = (
    "head_rate_hz",
    "mesh_rate_hz",
    "iris_rate_hz",
    "smile_level",
    "eyes_closed_opening",
    "gaze_angle_deg",
)
"""Settings that only the back-end `mesh` reads."""
MESH_DEFINITIONS = 9
"""Grows when the mesh's points come to tell something else; what other back-ends measured stays what it is."""


class FeatureSettings(PresetSettings):
    """How behaviour is measured in audio and video."""

    NOT_IN_KEY: ClassVar[frozenset[str]] = frozenset({"preset", "auto_detector"})
    SET_BY_THE_RUN: ClassVar[frozenset[str]] = frozenset({"auto_detector"})
    PRESETS: ClassVar[Mapping[str, Preset]] = PRESETS

    preset: Literal["paper"] | None = Field(
        default=None, description="Settings by name, which the other keys go before: paper is LLM-GELI's (section 5.1)."
    )
    pitch_floor_hz: float | None = Field(
        default=None,
        ge=30.0,
        le=300.0,
        description="Lowest pitch looked for, in Hz (default: by each person's own quartiles, in two passes).",
    )
    pitch_ceiling_hz: float | None = Field(
        default=None, ge=100.0, le=2000.0, description="Highest pitch looked for, in Hz (default: as the floor)."
    )
    jitter: Literal["praat", "disvoice"] = Field(
        default="praat",
        description='"praat": local jitter of the glottal periods, a fraction, as `jitter_local`; '
        '"disvoice": the formula of the paper, change of f0 between 20 ms frames in %, as `jitter_disvoice`.',
    )
    series_rate_hz: float = Field(
        default=10.0, gt=0.0, le=100.0, description="Rows a second of the voice features in the `frames` table."
    )
    video_rate_hz: float = Field(
        default=10.0,
        gt=0.0,
        le=60.0,
        description="Pictures looked at a second; nods up to a quarter of this are seen well.",
    )
    face_width_px: int = within(320, 64, 4096, "Width of the smaller picture in which faces are found and followed.")
    skip_unused_frames: bool = Field(
        default=True,
        description="Leave out the decoder's deblocking filter (H.264, HEVC; hardly coarser) and pictures that "
        "nobody looks at (H.264).",
    )
    detector: Literal["auto", "haar", "yunet", "mesh", "mediapipe"] = Field(
        default="auto",
        description='What finds faces: "auto" ("mesh" where it is here, else "haar" with a warning), "mesh" (what '
        '`apportion models fetch mesh` got), "haar" (bundled), "yunet" (an ONNX file) or "mediapipe" (extra and .task '
        "file).",
    )
    auto_detector: AutoDetector | None = Field(
        default=None,
        description="What detector = 'auto' is in this run: set when it begins, so that all who measure for it agree.",
    )
    yunet_model: Path | None = Field(default=None, description="YuNet's ONNX file, for detector = 'yunet'.")
    landmarker_model: Path | None = Field(
        default=None, description="MediaPipe's FaceLandmarker file (.task), for detector = 'mediapipe'."
    )
    detector_rate_hz: float = Field(
        default=2.0,
        gt=0.0,
        le=60.0,
        description="How often a second the face detector runs; optical flow follows in between.",
    )
    face_min_fraction: float = Field(
        default=0.1, gt=0.0, le=1.0, description="Smallest face that counts, as a fraction of the picture's width."
    )
    face_scale: float = Field(default=1.2, gt=1.0, le=3.0, description="Scale step of the face cascade.")
    face_neighbours: int = within(6, 1, 50, "Overlapping hits that make a face (Haar minNeighbors); more is stricter.")
    face_patience: int = within(3, 1, 100, "Runs of the detector without the face before it counts as gone.")
    face_return_s: float = within(
        5.0, 0.0, 3600.0, "Seconds for which a lost face's place is kept: until then nobody else's face is taken."
    )
    expression_rate_hz: float = Field(
        default=10.0, gt=0.0, le=60.0, description="How often a second smile and gaze are read."
    )
    expression_smooth_s: float = within(
        0.6, 0.0, 5.0, "Smile and gaze are decided on the median of their scores over this many seconds."
    )
    nod_window_s: float = Field(
        default=2.0, gt=0.0, le=10.0, description="Length of the window in which a nod is looked for."
    )
    nod_hop_s: float = Field(default=0.2, gt=0.0, le=10.0, description="Step between two such windows.")
    nod_crossings: int = within(
        2, 1, 20, "Zero crossings of the head's position in a window that make a nod (LLM-GELI: 2)."
    )
    nod_range: float = Field(
        default=0.1,
        gt=0.0,
        le=1.0,
        description="Range of the head's position, in face heights, above which it is a nod.",
    )
    nod_hysteresis: float = Field(
        default=0.25,
        ge=0.0,
        lt=0.5,
        description="A crossing counts once the head is this fraction of its range beyond the middle.",
    )
    nod_axis_ratio: float = within(
        1.5, 0.0, 10.0, "The movement must be this many times the one along the other axis; 0 switches this off."
    )
    smile_scale: float = Field(default=1.7, gt=1.0, le=3.0, description="Scale step of the smile cascade.")
    smile_neighbours: int = within(20, 1, 200, "Overlapping hits that make a smile.")
    smile_width_px: int = within(160, 40, 640, "Width to which every face is scaled before the smile cascade.")
    gaze_ratio: float = Field(
        default=1.5,
        gt=1.0,
        le=10.0,
        description="White of the eye left to right (or right to left) that is still on screen.",
    )
    emotion_model: str = Field(
        default="auto",
        min_length=1,
        description='ONNX file of the eight emotions; "auto": what `apportion models fetch emotion` got, else seven by '
        'what `apportion models fetch mesh` got; "none".',
    )
    emotion_rate_hz: float = Field(
        default=2.0, gt=0.0, le=60.0, description="Faces a second that the emotion model looks at."
    )
    smile_blendshape: float = Field(
        default=0.4, gt=0.0, lt=1.0, description="With mediapipe: mean of both mouthSmile blendshapes that is a smile."
    )
    gaze_look: float = Field(
        default=0.3, gt=0.0, lt=1.0, description="With mediapipe: how far the eyes turn aside that is off screen."
    )
    mesh_rate_hz: float = Field(
        default=5.0, gt=0.0, le=60.0, description="With mesh: how often a second the points of the face are found."
    )
    head_rate_hz: float = Field(
        default=15.0,
        gt=0.0,
        le=60.0,
        description="With mesh: pictures looked at a second where video_rate_hz is less; nods of 4.5 Hz need 15.",
    )
    iris_rate_hz: float = within(
        2.5, 0.0, 60.0, "With mesh: how often a second the eyes are looked at, at most mesh_rate_hz; 0 leaves them out."
    )
    smile_level: float = Field(
        default=0.55,
        gt=0.0,
        lt=1.0,
        description="With mesh: probability of a smile from which on it is one.",
    )
    eyes_closed_opening: float = Field(
        default=0.22,
        gt=0.0,
        lt=1.0,
        description="With mesh: height over width of the eyes below which they are not open.",
    )
    gaze_angle_deg: float = Field(
        default=15.0, gt=0.0, lt=90.0, description="With mesh: degrees to the side that are still on screen."
    )
    reply_max_s: float = Field(
        default=10.0,
        gt=0.0,
        le=3600.0,
        description="Seconds of a person's next reply that count as a reaction to a turn.",
    )
    missing_tolerance_s: float = within(
        1.0, 0.0, 60.0, "Seconds of a recording that may be missing before it counts as damaged."
    )

    @model_validator(mode="after")
    def _check(self) -> FeatureSettings:
        floor_hz, ceiling_hz = self.pitch_floor_hz, self.pitch_ceiling_hz
        if floor_hz is not None and ceiling_hz is not None and ceiling_hz <= floor_hz:
            raise ValueError(f"pitch_ceiling_hz = {ceiling_hz:g} must be above pitch_floor_hz = {floor_hz:g}")
        return self

    def found_from(self, base: Path) -> Self:
        """A copy whose model files are found from ``base``."""
        paths = {"yunet_model": self.yunet_model, "landmarker_model": self.landmarker_model}
        changes: dict[str, Any] = {name: found_from(base, path) for name, path in paths.items() if path is not None}
        if self.emotion_model not in (AUTO, NONE):
            changes["emotion_model"] = str(found_from(base, self.emotion_model))
        return self.model_copy(update=changes)

    def shown(self) -> dict[str, Any]:
        """As plain JSON values, the detector's files by their last names."""
        paths = {"yunet_model": self.yunet_model, "landmarker_model": self.landmarker_model}
        return self.plain() | {name: path.name for name, path in paths.items() if path is not None}


class DescriptorThresholds(Settings):
    """From where on a behaviour is worth a word; `sd` is the person's own standard deviation in the session."""

    above_sd: float = within(1.0, 0.0, 10.0, "Above (or below) usual, in standard deviations.")
    far_above_sd: float = within(2.0, 0.0, 10.0, "Well above (or below) usual.")
    fraction_change: float = within(
        0.15, 0.0, 1.0, "Smile and gaze are told only where their share of the time differs from usual by this much."
    )
    smile_fraction: float = within(0.5, 0.0, 1.0, "Smiles half the time: from this fraction of the seen time on.")
    weak_smile: float = within(0.9, 0.0, 1.0, "Slight smile: mean probability of the smiles below this.")
    smile_most_fraction: float = within(0.75, 0.0, 1.0, "Smiles most of the time: from here on.")
    away_half_fraction: float = within(0.4, 0.0, 1.0, "Looks away (aside) half the time: from here on.")
    away_most_fraction: float = within(0.75, 0.0, 1.0, "Looks away (aside) most of the time: from here on.")
    eyes_closed_part_fraction: float = within(
        0.2, 0.0, 1.0, "Looks down, eyes closed part of the time (no blinks): from here on."
    )
    eyes_closed_most_fraction: float = within(0.5, 0.0, 1.0, "Looks down, eyes closed most of the time: from here on.")
    expression_half_fraction: float = within(
        0.4, 0.0, 1.0, "Brows lowered or raised, mouth open half the time: from here on."
    )
    expression_most_fraction: float = within(0.75, 0.0, 1.0, "Brows lowered or raised, mouth open most of the time.")
    throughout_fraction: float = within(0.9, 0.0, 1.0, "Smiles, looks away, ... throughout: from here on.")
    frame_s: float = within(
        0.4,
        0.0,
        60.0,
        "Seconds between two looks at a face: throughout is told only where so long a time of something "
        "else that no look saw would not change it.",
    )
    min_frames: int = within(
        4,
        0,
        1000,
        "A face is told as usual only in a window of so many times frame_s: what took half of the time is "
        "missed by two looks in one case of four, by four in one of sixteen.",
    )
    min_coverage: float = within(
        0.8, 0.0, 1.0, 'Below this coverage, what is told of most of the time or throughout is told as "while seen".'
    )
    blink_change: float = within(
        10.0, 0.0, 1000.0, "Blinks are told where they differ from usual by this many a minute, and by far_above_sd."
    )
    nod_count: int = within(1, 1, 1000, "Nods and shakes of the head are told from this many in the window on.")
    emotion_change: float = within(
        0.15, 0.0, 1.0, "An emotion is told as more or less than usual where its probability differs by this much."
    )
    emotion_probability: float = within(
        0.8, 0.0, 1.0, "Looks happy, sad, ...: mean probability from here on (disgust and fear are never told)."
    )
    emotion_throughout: float = within(
        0.9, 0.0, 1.0, "Looks happy, sad, ... throughout: mean probability from here on."
    )
    voice_coverage: float = within(0.1, 0.0, 1.0, "Voiced share a voice needs to be described.")
    face_coverage: float = within(0.5, 0.0, 1.0, "Share of the time in which the face must be seen.")
    baseline_utterances: int = within(3, 2, 1000, "Utterances needed to know what is usual.")


class DescriptorSettings(Settings):
    """How measured behaviour is rendered in words."""

    variant: Literal["words", "numeric", "json"] = Field(
        default="words",
        description='"words": short English; "numeric": the figures themselves; "json": the figures as a JSON object.',
    )
    thresholds: DescriptorThresholds = DescriptorThresholds()
