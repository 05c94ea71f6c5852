"""What ``--help`` says: a whole first sentence of every command, and an example that is one."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from command import run
from hockeystick.cli import main


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command by the words that call it."""
    for name, command in group.commands.items():
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


ALL = [((), main), *commands(main)]


@pytest.mark.parametrize(("path", "command"), ALL, ids=[" ".join(path) or "hockeystick" for path, _ in ALL])
def test_every_help_has_an_example_whose_flags_exist(path: tuple[str, ...], command: click.Command) -> None:
    """The example calls this command, by flags that it has."""
    said = run(*path, "--help")
    assert said.exit_code == 0
    _, found, example = " ".join(said.stdout.split("Options:")[0].split("Commands:")[0].split()).partition("Example: ")
    assert found, "no example"
    words = shlex.split(example.partition(" > ")[0])
    assert words[: len(path) + 1] == ["hockeystick", *path]
    called: click.Command = main
    rest = words[1:]
    while isinstance(called, click.Group):
        called = called.commands[rest.pop(0)]
    known = {option for item in called.params if isinstance(item, click.Option) for option in item.opts}
    assert {word for word in rest if word.startswith("-")} <= known


@pytest.mark.parametrize("path", [(), ("plot",)], ids=["hockeystick", "plot"])
@pytest.mark.parametrize("columns", ["60", "100"])
def test_summaries_are_whole(path: tuple[str, ...], columns: str) -> None:
    """In a process of its own: click's runner for tests has a width that nothing changes."""
    line = [sys.executable, "-m", "hockeystick", *path, "--help"]
    text = subprocess.run(
        line, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": columns}
    ).stdout
    listed = text.partition("Commands:")[2]
    assert "..." not in listed
    assert all(len(line) <= int(columns) for line in text.splitlines())
    group = main.commands["plot"] if path else main
    assert isinstance(group, click.Group)
    for name, command in group.commands.items():
        first = " ".join((command.help or "").split()).partition(". ")[0].rstrip(".")
        assert first in " ".join(listed.split()), name


def test_plot_alone_shows_its_help() -> None:
    assert run("plot").exit_code == 0
    assert run("plot").stdout == run("plot", "--help").stdout


@pytest.mark.parametrize(
    ("shell", "begins"),
    [
        ("bash", "_hockeystick_completion() {"),
        ("zsh", "#compdef hockeystick"),
        ("fish", "function _hockeystick_completion;"),
    ],
)
def test_the_shells_of_the_page_are_told_how_to_complete(shell: str, begins: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    assert f"_HOCKEYSTICK_COMPLETE={shell}_source hockeystick" in page
    asked = {**os.environ, "_HOCKEYSTICK_COMPLETE": f"{shell}_source"}
    program = "import sys; sys.argv[0] = 'hockeystick'; from hockeystick.cli import main; main()"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=asked)
    assert said.stdout.lstrip().startswith(begins), said.stderr


@pytest.mark.parametrize("words", ["epsilon ex", "report plan.toml -o re", "verify re", "budget show le", "sweep pl"])
def test_the_shell_is_asked_for_names_of_files(words: str) -> None:
    """By the protocol of click: the kind of what is completed, and the word so far."""
    word = words.split()[-1]
    typed = {"COMP_WORDS": f"hockeystick {words}", "COMP_CWORD": str(len(words.split()))}
    asked = {**os.environ, "_HOCKEYSTICK_COMPLETE": "bash_complete", **typed}
    program = "import sys; sys.argv[0] = 'hockeystick'; from hockeystick.cli import main; main()"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=asked)
    assert said.stdout.split() == [f"file,{word}"], said.stderr


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("epsilon --sampling po", ["poisson"]),
        ("epsilon --accountant ch", ["characteristic-function"]),
        ("epsilon --adjacency re", ["remove", "replace-one"]),
        ("epsilon --unit u", ["user"]),
        ("calibrate noise-", ["noise-multiplier"]),
        ("supported sta", ["staircase"]),
        ("budget init a.db --filter c", ["currency"]),
        ("budget spend a.db --mechanism gaussian-t", ["gaussian-threshold"]),
        ("reproduce do", ["dots", "dots-pictures"]),
    ],
)
def test_the_shell_completes_names(words: str, names: list[str]) -> None:
    typed = {"COMP_WORDS": f"hockeystick {words}", "COMP_CWORD": str(len(words.split()))}
    asked = {**os.environ, "_HOCKEYSTICK_COMPLETE": "bash_complete", **typed}
    program = "import sys; sys.argv[0] = 'hockeystick'; from hockeystick.cli import main; main()"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=asked)
    assert said.stdout.split() == [f"plain,{name}" for name in names], said.stderr
