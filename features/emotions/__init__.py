"""The eight emotions of AffectNet, one file each, in the order of their columns."""

from __future__ import annotations

from features.emotions.anger import ANGER
from features.emotions.contempt import CONTEMPT
from features.emotions.disgust import DISGUST
from features.emotions.fear import FEAR
from features.emotions.happiness import HAPPINESS
from features.emotions.neutral import NEUTRAL
from features.emotions.sadness import SADNESS
from features.emotions.surprise import SURPRISE

EMOTIONS = (ANGER, CONTEMPT, DISGUST, FEAR, HAPPINESS, NEUTRAL, SADNESS, SURPRISE)
