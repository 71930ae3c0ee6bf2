"""A report whose names and words try to be markup: of policies, of the title, of the questions, of annotators."""

from dataclasses import replace

from apportion.study.report.make import report_of
from apportion.study.report.results import StudyReport
from tests.study.made_up import answered, made_study

SCRIPT = "<script>alert(1)</script>"
POLICY = r"p_1 & $x$ | <b>\input{secret}%#"
REASON = "=HYPERLINK(1)"


def hostile_report(folder) -> StudyReport:
    policies = ("base", "grpo", POLICY)
    study, key = made_study(folder / "study", "geli", policies, items_per_annotator=12, checks_every=4)
    criteria = [
        one.model_copy(update={"question": f"{SCRIPT} \\end{{table}} | `{one.question}`"})
        for one in study.criteria.criteria
    ]
    settings = study.settings.model_copy(update={"title": f"{SCRIPT}\x00 # _title_ \u202e"})
    study = replace(study, settings=settings, criteria=study.criteria.model_copy(update={"criteria": tuple(criteria)}))
    rows = [replace(row, reason=REASON) for row in answered(study, key, careless=1, effects={POLICY: 0.8})]
    judged = [replace(row, annotator=f"judge:{SCRIPT}") for row in {row.item: row for row in rows}.values()]
    return report_of(study, key, rows, judged, resamples=50, mixed=False)
