import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator

import pytest

from colbench.cli import COMMANDS, main, parser
from colbench.cli.examples import EXAMPLES
from colbench_leaderboard.cli.examples import LEADERBOARD, SUBMIT, VERIFY
from sweet_rl_trainer.cli import parser as trainer_parser
from sweet_rl_trainer.cli.examples import EXAMPLES as TRAINER

COMMAND_EXAMPLES = {**EXAMPLES, **LEADERBOARD, **SUBMIT, **VERIFY}
LINES = [
    line for name, lines in COMMAND_EXAMPLES.items() if name for line in lines.strip().splitlines()
]
TRAINER_LINES = [
    line for name, lines in TRAINER.items() if name for line in lines.strip().splitlines()
]
OTHERS = ("leaderboard", "submit", "verify")


def commands_of(top: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield top
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from commands_of(inner)


def words_of(line: str) -> list[str]:
    return shlex.split(line.partition(" > ")[0])[1:]


@pytest.mark.parametrize("line", LINES)
def test_every_example_of_the_help_is_a_valid_command_line(line):
    words = words_of(line)
    assert parser(words[0]).parse_args(words).run


@pytest.mark.parametrize("line", TRAINER_LINES)
def test_every_example_of_the_trainers_help_is_a_valid_command_line(line):
    assert trainer_parser().parse_args(words_of(line)).run


@pytest.mark.parametrize("name", [*COMMANDS, *OTHERS])
def test_every_command_has_a_description_and_examples(name):
    top = parser(name)
    command = next(each for each in commands_of(top) if each.prog == f"colbench {name}")
    for each in commands_of(command):
        assert each.description, each.prog
        assert each.epilog, each.prog
        assert each.epilog.startswith("examples:\n  colbench "), each.prog


def test_a_usage_line_with_many_flags_is_shortened(capsys):
    with pytest.raises(SystemExit):
        main(["eval", "--help"])
    assert capsys.readouterr().out.startswith("usage: colbench eval [options]\n\n")


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_help_fits_the_terminal_except_for_examples(columns):
    done = subprocess.run(
        [sys.executable, "-m", "colbench.cli", "eval", "--help"],
        env={**os.environ, "COLUMNS": str(columns)},
        capture_output=True,
        text=True,
        check=True,
    )
    text = done.stdout.partition("examples:")[0]
    assert max(map(len, text.splitlines())) <= columns


def test_the_list_of_commands_imports_no_command():
    code = (
        "import sys; from colbench.cli import COMMANDS, parser; parser();"
        "heavy = {'rich', 'colbench.evaluation', *(f'colbench.cli.{m}' for m, _ in COMMANDS.values())};"
        "print(heavy & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
