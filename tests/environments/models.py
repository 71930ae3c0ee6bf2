"""Language models that tests stand in for a server."""

from apportion.llm_client.request import ChatReply, ChatRequest


class Asked(list[ChatRequest]):
    """A model that gives these replies in turn, the last of them again and again, and keeps what it is asked."""

    def __init__(self, *replies: str) -> None:
        super().__init__()
        self.replies = replies

    def __call__(self, request: ChatRequest) -> ChatReply:
        self.append(request)
        return ChatReply(self.replies[min(len(self), len(self.replies)) - 1], "m")


def nobody(request: ChatRequest) -> ChatReply:
    """Where scripts play, and where requests are looked at alone."""
    raise AssertionError("nobody is asked")
