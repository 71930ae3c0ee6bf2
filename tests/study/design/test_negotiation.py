from apportion.environments.negotiation.human_study.survey import HIGH, LOW, SURVEY
from apportion.study.design.criteria import shipped


def test_the_ten_questions_are_those_of_the_study_in_the_terminal():
    criteria = shipped("negotiation")
    asked = [criterion.question for criterion in criteria.criteria] + [criteria.reason.question]
    assert asked == [question.text for question in SURVEY] and len(asked) == 10
    for criterion, question in zip(criteria.criteria, SURVEY, strict=False):
        assert (criterion.kind, criterion.about, criterion.scale) == ("rating", "dialogue", (LOW, HIGH))
        assert criterion.anchors == {LOW: question.low, HIGH: question.high}
