import pytest

from apportion.decompose.session_methods.sentiment import judge, judge_utterance, load_classifier
from apportion.decompose.settings import DecomposeSettings
from apportion.foundation.errors import InputError
from apportion.llm_client.session import LLMSession
from tests.decompose.sessions import session

LABELS = {
    "signs": ("NEGATIVE", "Neutral", "pos"),
    "stars": ("1 star", "3 stars", "5 stars"),
    "none": ("LABEL_0", "LABEL_1"),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Tiny BERT classifiers with random weights and the words of our texts, one a set of labels."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("models")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "great", "terrible", "rome", "hate", "this", ",", ".", "!"]
    (folder / "vocab.txt").write_text("\n".join(words))
    for name, labels in LABELS.items():
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=len(words),
            hidden_size=8,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=8,
            max_position_embeddings=16,
            id2label=dict(enumerate(labels)),
            label2id={text: i for i, text in enumerate(labels)},
            initializer_range=1.0,
        )
        BertForSequenceClassification(config).save_pretrained(folder / name)
        BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=16).save_pretrained(folder / name)
    return folder


def judged(classifier="vader", session_=None):
    settings = DecomposeSettings(sentiment={"classifier": classifier})
    return judge((session_ or session()).episodes()[0], None, settings, LLMSession(settings.llm))


def test_a_turn_is_as_good_as_the_reply_to_the_whole_floor():
    great, terrible, last = judged()
    assert (great.turn, terrible.turn, last.turn) == (1, 3, 5)
    assert great.value > 0.5
    assert terrible.value < -0.5
    assert last.value is None
    said = (("SYSTEM", "a"), ("USER", "Tuesday"), ("SYSTEM", "b"), ("USER", " "), ("SYSTEM", "c"))
    assert [judgement.value for judgement in judged(session_=session(turns=said))] == [0.0, None, None]
    said = (("SYSTEM", "a"), ("SYSTEM", "b"), ("USER", "great"), ("USER", "wonderful"))
    one, two = judged(session_=session(turns=said))
    assert one.value == two.value == load_classifier("vader")(["great wonderful"])[0]


def test_a_turn_can_be_as_good_as_it_sounds_itself():
    said = (
        ("SYSTEM", "This is terrible."),
        ("USER", "Great!"),
        ("SYSTEM", " "),
        ("USER", "?"),
        ("SYSTEM", "I love it"),
    )
    settings = DecomposeSettings()
    (episode,) = session(turns=said).episodes()
    found = judge_utterance(episode, None, settings, LLMSession(settings.llm))
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    oracle = SentimentIntensityAnalyzer()
    alone = [oracle.polarity_scores(text)["compound"] for speaker, text in said if speaker == "SYSTEM"]
    assert [(judgement.turn, judgement.value) for judgement in found] == [(0, alone[0]), (2, None), (4, alone[2])]
    assert alone[0] < 0 < alone[2] and judge(episode, None, settings, LLMSession(settings.llm))[0].value > 0


def test_a_hugging_face_classifier_is_used_by_name(models):
    from transformers import pipeline

    great, terrible, last = judged(str(models / "signs"))
    raw = pipeline("text-classification", model=str(models / "signs"), top_k=None)("Rome, great!")
    scores = {item["label"]: item["score"] for item in (raw[0] if isinstance(raw[0], list) else raw)}
    assert great.value == pytest.approx(scores["pos"] - scores["NEGATIVE"])
    assert -1 <= terrible.value <= 1
    assert terrible.value != great.value
    assert last.value is None


def test_stars_are_spread_from_bad_to_good(models):
    values = load_classifier(str(models / "stars"))(["great", "terrible " * 100])
    assert all(-1 <= value <= 1 for value in values)
    assert load_classifier(str(models / "stars"))([]) == []


def test_labels_or_a_model_that_say_nothing_are_refused(models, tmp_path):
    with pytest.raises(InputError, match=r"its labels LABEL_0, LABEL_1 do not say what is good and bad"):
        load_classifier(str(models / "none"))
    with pytest.raises(InputError, match=r"decompose\.sentiment\.classifier = .*cannot be loaded"):
        load_classifier(str(tmp_path / "nothing"))


def test_pickled_weights_are_not_read(models, tmp_path):
    import shutil

    import torch

    copy = tmp_path / "pickled"
    shutil.copytree(models / "signs", copy)
    (copy / "model.safetensors").unlink()
    torch.save({}, copy / "pytorch_model.bin")
    with pytest.raises(InputError, match="cannot be loaded"):
        load_classifier(str(copy))


def test_code_in_its_folder_is_not_run(models, tmp_path, monkeypatch):
    import json
    import shutil

    monkeypatch.setattr("sys.stdin", None)  # Nobody is asked whether to trust it.
    copy, ran = tmp_path / "code", tmp_path / "ran"
    shutil.copytree(models / "signs", copy)
    (copy / "mine.py").write_text(f"open({str(ran)!r}, 'w').close()\nclass C: pass\n")
    config = json.loads((copy / "config.json").read_text())
    own = {"AutoConfig": "mine.C", "AutoModelForSequenceClassification": "mine.C"}
    (copy / "config.json").write_text(json.dumps(config | {"auto_map": own, "model_type": "mine"}))
    with pytest.raises(InputError, match="cannot be loaded"):
        load_classifier(str(copy))
    assert not ran.exists()
