"""One person's sitting at a terminal: consent, rules, quiz, a practice game, the games, ten questions after each.

Everything is on the disk before the next thing is shown: stopped or killed at any moment, the same call goes on, and
nothing is asked twice. The agents are called Alice, whichever they are, and no message of theirs is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from apportion.environments.agents.agent import Agent
from apportion.environments.collect_episodes import EpisodePlan, simulate
from apportion.environments.environment import Observation
from apportion.environments.episode_log import LOG
from apportion.environments.negotiation.game import NAMES, Negotiation
from apportion.environments.negotiation.human_study import progress_log
from apportion.environments.negotiation.human_study.design import PRACTICE, StudyGame, games_of
from apportion.environments.negotiation.human_study.progress_log import ParticipantSession, checked
from apportion.environments.negotiation.human_study.settings import StudySettings
from apportion.environments.negotiation.human_study.survey import HIGH, LOW, QUIZ, SURVEY, Question, QuizQuestion
from apportion.environments.negotiation.observation import rules_in_words
from apportion.environments.negotiation.text_rendering import NegotiationRenderer
from apportion.environments.terminal.console import LineError, Screen
from apportion.environments.terminal.human_agent import HumanAgent
from apportion.foundation.errors import InputError, StoppedError, UnitError
from apportion.foundation.files import locked, make_folder

ALICE, PERSON = NAMES
"""Seat 0 is the agent's, seat 1 the person's."""
STOP = "/stop"
STOPS = f"{STOP} stops; the same command goes on from here another time."


def episode_name(game: StudyGame) -> str:
    """What a game is called in the log: its number, and no agent's name."""
    return "practice" if game.number == PRACTICE else f"game-{game.number}"


@dataclass(frozen=True)
class Study:
    """A study at a terminal.

    ``settings``: What is asked, and with whom people negotiate. ``agents``: By the names of the study, those who play
    Alice. ``folder``: Where everybody's folder is. ``screen``: Where the person reads and types.
    """

    settings: StudySettings
    agents: Mapping[str, Agent]
    folder: Path
    screen: Screen

    def sit(self, participant: str) -> ParticipantSession:
        """Let somebody take part, from where they have stopped.

        Raises InputError: Their folder is another study's or damaged or cannot be made, or they sit at another
        terminal. Raises EOFError: The person stops, or the input has ended. Raises UnitError: The agent of a game
        failed; the same call goes on with it. Raises StoppedError: The budget of an agent is spent.
        """
        folder = self.folder / participant
        make_folder(folder, "Give another folder.")
        with locked(folder / ".lock", f"{participant} takes part at another terminal", InputError):
            sitting = ParticipantSession.open(folder, participant)
            if sitting.study not in (None, self.settings.digest):
                raise InputError(f"{folder}: begun with another study file. Give another folder, or that file")
            if sitting.study is None:
                sitting.add(progress_log.BEGUN, study=self.settings.digest)
            if not self._consents(sitting):
                return sitting
            self._rules(sitting)
            games = games_of(self.settings, participant)
            for game in games:
                self._game(sitting, game, len(games) - 1)
            if not sitting.ended:
                self.screen.show("")
                self.screen.show("", self.settings.debriefing or "Thank you. That was all.")
                sitting.add(progress_log.ENDED)
        return sitting

    def _consents(self, sitting: ParticipantSession) -> bool:
        if sitting.consented is None:
            self.screen.show(self.settings.title)
            self.screen.show("", self.settings.consent)
            agrees = self._choice("Do you agree to take part?", ("yes", "no")) == 0
            sitting.add(progress_log.CONSENTED if agrees else progress_log.DECLINED)
        return bool(sitting.consented)

    def _rules(self, sitting: ParticipantSession) -> None:
        if len(sitting.tries) == len(QUIZ):
            return
        self.screen.show("")
        self.screen.show("The rules: ", rules_in_words(("Alice", "you"), (2, 3, 1), self.settings.most_acts))
        self.screen.show("", f"Items and values differ from game to game. {STOPS}")
        for number, question in enumerate(QUIZ):
            if number not in sitting.tries:
                sitting.add(progress_log.QUIZZED, question=number, tries=self._quiz(question))

    def _quiz(self, question: QuizQuestion) -> int:
        """How often it was answered until it was right."""
        tries = 1
        while self._choice(question.text, question.choices) != question.right:
            self.screen.show("! ", f"That is not right: {question.why} Please answer it again.")
            tries += 1
        self.screen.show("", f"Right: {question.why}")
        return tries

    def _game(self, sitting: ParticipantSession, game: StudyGame, total: int) -> None:
        if game.number not in sitting.played:
            self.screen.show("")
            practice = "A practice game, which counts for nothing"
            self.screen.show(f"===== {practice if game.number == PRACTICE else f'Game {game.number} of {total}'} =====")
            self._play(sitting, game)
            sitting.add(progress_log.PLAYED, game=game.number, agent=game.agent)
        if game.number == PRACTICE:
            return
        for number, question in enumerate(SURVEY, 1):
            if (game.number, question.name) not in sitting.answers:
                answer = self._answer(question, number)
                sitting.add(progress_log.ANSWERED, game=game.number, question=question.name, answer=answer)

    def _play(self, sitting: ParticipantSession, game: StudyGame) -> None:
        person = HumanAgent(self.screen, NegotiationRenderer(), "person")
        plan = plan_of(game, self.settings.most_acts, self.agents[game.agent], person)
        # What has failed may name the agent.
        failed = "Alice could not go on. What was done is kept; the same command goes on with this game"
        try:
            simulated = simulate([plan], sitting.folder / LOG)
        except StoppedError:
            raise StoppedError(failed) from None
        if simulated.failed:
            raise UnitError(failed)
        environment = simulated.played[0].environment
        person.see_the_end(Observation(environment, PERSON))
        points = environment.outcome()[PERSON]["points"]
        self.screen.show("", f"The game is over. Your points: {points:g}.")

    def _answer(self, question: Question, number: int) -> int | str:
        scale = f" ({LOW}: {question.low}, {HIGH}: {question.high})" if question.scaled else " (may be empty)"
        self.screen.show(f"{number} of {len(SURVEY)}. ", question.text + scale)
        while True:
            line = self._line(f"{LOW} to {HIGH}> " if question.scaled else "> ").strip()
            try:
                return checked(question.name, int(line) if question.scaled and line.isdecimal() else line)
            except ValueError as error:
                self.screen.show("! ", f"{error}. {STOPS}")

    def _choice(self, text: str, choices: tuple[str, ...]) -> int:
        self.screen.show("", text)
        for number, choice in enumerate(choices, 1):
            self.screen.show(f"  {number}: ", choice)
        while True:
            line = self._line("> ").strip().casefold()
            for number, choice in enumerate(choices):
                if line in (str(number + 1), choice.casefold()):
                    return number
            self.screen.show("! ", f"type a number from 1 to {len(choices)}. {STOPS}")

    def _line(self, prompt: str) -> str:
        while True:
            try:
                line = self.screen.ask(prompt)
            except LineError as error:
                self.screen.show("! ", f"{error}.")
                continue
            if line.strip().casefold() == STOP:
                raise EOFError("the person stops")
            return line


def plan_of(game: StudyGame, most_acts: int, alice: Agent, person: Agent) -> EpisodePlan:
    """A game as an episode; its log names the agent, and no screen does."""
    make = partial(Negotiation, game.context, most_acts)
    return EpisodePlan(episode_name(game), make, {ALICE: alice, PERSON: person}, game.seed, {"agent": game.agent})
