from pathlib import Path

from features.emotions import EMOTIONS
from features.names import EMOTION_FEATURES

PAGE = Path(__file__).parents[2] / "docs" / "features.md"


def test_the_emotions_are_affectnets_eight_in_the_order_of_their_columns():
    names = ["anger", "contempt", "disgust", "fear", "happiness", "neutral", "sadness", "surprise"]
    assert [emotion.feature for emotion in EMOTIONS] == list(EMOTION_FEATURES) == names


def test_only_a_neutral_face_is_never_told():
    assert [emotion.feature for emotion in EMOTIONS if emotion.look is None] == ["neutral"]


def test_the_page_gives_every_emotion_its_signs():
    page = PAGE.read_text(encoding="utf-8")
    for emotion in EMOTIONS:
        assert f"| `{emotion.feature}` | {emotion.signs} |" in page
