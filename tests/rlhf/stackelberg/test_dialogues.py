from apportion.rlhf.stackelberg.dialogues import follower_episodes, prompt_episodes, warmup_episodes, words_said
from apportion.rlhf.stackelberg.questions import refine_chat, speech_chat
from tests.rlhf.stackelberg.round_table import ROLES, round_table


def test_no_prompt_of_the_refiner_holds_the_followers_role():
    turns = round_table(20)
    for stages in ("two", "one"):
        for episode in (*prompt_episodes(turns, stages), *warmup_episodes(turns, stages)):
            told = " ".join(turn.text for turn in episode.turns)
            assert not any(f"You are player 2, the {role}" in told for role in ROLES)


def test_a_prompt_is_one_message_that_is_answered():
    (turn,) = round_table(1)
    for stages, chat in (("two", refine_chat(turn.leader_sees, turn.said)), ("one", speech_chat(turn.leader_sees))):
        (episode,) = prompt_episodes([turn], stages)
        assert episode.session_id == turn.name and [one.speaker for one in episode.turns] == ["user", "assistant"]
        assert episode.turns[0].text == "\n\n".join(message.content for message in chat) and episode.turns[1].text == ""


def test_what_a_warm_up_teaches_is_read_as_what_was_said():
    (turn,) = round_table(1)
    for stages in ("two", "one"):
        (episode,) = warmup_episodes([turn], stages)
        assert words_said(episode.turns[1].text, "other words", stages) == turn.said


def test_a_small_measurer_is_warmed_up_on_what_followers_read_and_said():
    turns = round_table(3)
    for turn, episode in zip(turns, follower_episodes(turns), strict=True):
        assert turn.after(turn.said) in episode.turns[0].text
        assert episode.turns[1].text == f"<response>{turn.answered}</response>"
