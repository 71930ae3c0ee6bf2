"""What judging would take."""

from pathlib import Path

from apportion.environments.sotopia.evaluation.judging import JudgingChoice, judge_corpus, preview, price
from apportion.llm_client.model_spec import ModelSpec
from tests.environments.sotopia.evaluation.judges import judge, played
from tests.llm_client.openai_server import OpenAIServer, serving


def test_every_question_is_counted_shown_and_sent_to_nobody(tmp_path: Path) -> None:
    corpus = played(tmp_path / "one")
    out, sessions = tmp_path / "two", len(corpus.session_ids())
    with serving(OpenAIServer(judge())) as server:
        chosen = ModelSpec("m", base_url=server.url)
        choice = JudgingChoice(corpus, ("paper", "fine-grained", "paper@other"), chosen=chosen)
        assert [(one.model, one.requests) for one in price(choice, out)] == [("m", 2 * sessions), ("other", sessions)]
        shown = preview(choice, out, 2)
        assert [len(one.requests) for one in shown] == [2, 2] and shown[0].in_all == 2 * sessions
        assert server.requests == [] and not out.exists()
        judge_corpus(JudgingChoice(corpus, chosen=chosen), out)
        sent = {body["messages"][1]["content"] for body in server.requests}
        assert {request.messages[1].content for request in shown[0].requests} & sent
        assert [one.remaining for one in price(choice, out)] == [sessions, sessions]
        assert [one.in_all for one in preview(choice, out, 1)] == [sessions, sessions]
