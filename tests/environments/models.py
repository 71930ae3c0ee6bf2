"""Language models that tests stand in for a server."""

from apportion.llm_client.request import ChatReply, ChatRequest


def nobody(request: ChatRequest) -> ChatReply:
    """Where scripts play, and where requests are looked at alone."""
    raise AssertionError("nobody is asked")
