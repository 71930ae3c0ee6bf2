"""The commands that are groups of others, each with what belongs to it."""

from __future__ import annotations

from collections.abc import Iterable

import click

from apportion.commands import compare, export, generate, score, train_agent, train_model
from apportion.commands.reactions.reactions import learn_command
from apportion.commands.refine.instances import instances_command
from apportion.commands.refine.persuasion import persuasion_command
from apportion.commands.refine.train import refiner_command
from apportion.commands.shared.in_order import CommandsInOrder
from apportion.commands.view import label_serve, labels, score_serve
from apportion.commands.world import deduction
from apportion.commands.world.annotate import expert_command
from apportion.commands.world.judge import evaluate_command
from apportion.commands.world.label_exact import shapley_command
from apportion.commands.world.negotiate import PLAY_COMMANDS
from apportion.commands.world.play import play_group
from apportion.commands.world.simulate import simulate_group
from apportion.commands.world.stackelberg_tables import tables_stackelberg_command
from apportion.commands.world.tables import tables_group
from apportion.commands.world.task_sets.tasks import tasks_group
from apportion.commands.world.tournament import tournament_group
from apportion.commands.world.trained_tables import tables_people_command, tables_savoir_command


def _group(name: str, text: str, commands: Iterable[click.Command]) -> CommandsInOrder:
    group = CommandsInOrder(name, help=text)
    group.add_section("Commands", tuple(commands))
    return group


for _command in PLAY_COMMANDS:
    play_group.add_command(_command)
for kind, title in deduction.DEDUCTION.items():
    play_group.add_command(deduction.play_command(kind, title))
for _command in (tables_savoir_command, tables_people_command, tables_stackelberg_command):
    tables_group.add_command(_command)

policy_group = _group(
    "policy",
    "Sample responses of policies, compare them, merge adapters into a whole model; score turns by a reward model.",
    (
        generate.generate_command,
        compare.compare_command,
        export.merge_command,
        score.score_command,
        score_serve.serve_command,
    ),
)
world_group = _group(
    "world",
    "Simulate dialogues, take part in them, score them, and make tables of them.",
    (simulate_group, play_group, tournament_group, tasks_group, evaluate_command, tables_group),
)
label_group = _group(
    "label",
    "Labels of turns: by people, by an expert whom a training asks, or computed.",
    (
        label_serve.serve_command,
        labels.merge_command,
        labels.export_command,
        labels.import_command,
        expert_command,
        shapley_command,
    ),
)
train_group = _group(
    "train",
    "Train what a configuration or a world can use: players, Refiners, models of reactions, voices, texts.",
    (
        train_agent.train_negotiation_command,
        train_agent.train_player_command,
        refiner_command,
        instances_command,
        persuasion_command,
        learn_command,
        *train_model.TRAIN_COMMANDS,
    ),
)
