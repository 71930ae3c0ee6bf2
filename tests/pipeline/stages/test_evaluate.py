from pipeline.stages.declared import STAGES


def test_people_s_turn_labels_are_shown_to_the_evaluation_alone():
    assert [stage.name for stage in STAGES if stage.turn_labels] == ["evaluate"]
    assert not any("turn_labels" in stage.reads for stage in STAGES)
