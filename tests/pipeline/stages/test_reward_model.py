from tests.pipeline.stages.planned import plan


def test_a_trained_backbone_needs_no_embeddings():
    assert plan(("rrd",), freeze_backbone=False).units["embed"] == ()
