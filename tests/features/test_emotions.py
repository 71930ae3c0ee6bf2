from pathlib import Path

from apportion.features.emotions import EMOTIONS
from apportion.features.names import EMOTION_FEATURES

PAGE = Path(__file__).parents[2] / "docs" / "features.md"


def test_the_emotions_are_affectnets_eight_in_the_order_of_their_columns():
    names = ["anger", "contempt", "disgust", "fear", "happiness", "neutral", "sadness", "surprise"]
    assert [emotion.feature for emotion in EMOTIONS] == list(EMOTION_FEATURES) == names


def test_every_face_has_words_of_its_own():
    words = [phrase for emotion in EMOTIONS for phrase in (emotion.look.plain, emotion.look.more, emotion.look.less)]
    assert len(set(words)) == 3 * len(EMOTIONS)


def test_the_page_gives_every_emotion_its_signs():
    page = PAGE.read_text(encoding="utf-8")
    for emotion in EMOTIONS:
        assert f"| `{emotion.feature}` | {emotion.signs} |" in page
