"""Exit of the command: status 0, or one line on standard error with status 2 for bad input and 1 for other errors."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from hockeystick.values.errors import HockeystickError
from hockeystick.values.words import choice, cut, nearest, one_line, shown

PROGRAM = "hockeystick"
"""Name of the command and of the package that ``python -m`` runs."""

BAD_INPUT, FAILURE = 2, 1  # exit statuses

INTERRUPTED = 130
"""Exit status of an interrupted command: 128 plus the number of the signal, as in shells."""

UNREAD = 141
"""Exit status if the reader of the output stops early, as in ``hockeystick compare | head -1``.

It equals the status of a program that SIGPIPE ends, such as grep. Scripts can thereby distinguish it from a failure."""

MESSAGE_LENGTH = 1000
"""Longest error message, in characters. It exceeds every list of names; click's messages may repeat long arguments."""


class OneLineGroup(click.Group):
    """Group of commands in which every error, including click's own, is one line and never a traceback."""

    def __init__(self, name: str | None = None, **settings: Any) -> None:
        super().__init__(name, invoke_without_command=True, **settings)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command, then exit the interpreter with the status of the command."""
        name = prog_name or PROGRAM
        if not standalone_mode:
            return super().main(args, name, complete_var, standalone_mode=False, **extra)
        for stream in (sys.stdout, sys.stderr):  # file names may hold characters that the terminal cannot encode
            with contextlib.suppress(AttributeError, ValueError):
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        sys.exit(self._status(args, name, complete_var, extra))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the named command; without a name, print the help."""
        found = super().invoke(ctx)
        if ctx.invoked_subcommand is None:
            click.echo(ctx.get_help())
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List each command with the whole first sentence of its help, which click would cut to fit the line."""
        named = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(MESSAGE_LENGTH)) for name, command in named if command is not None]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the named command, or raise an error that suggests the nearest one."""
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            line = choice("command", args[0], self.list_commands(ctx))
            raise click.UsageError(f"{line}; `{PROGRAM} new` writes a first plan" if "." in args[0] else line, ctx)
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not isinstance(command, click.Group) and not ctx.resilient_parsing:
            _refuse_repeated(click.Context(command, info_name=name, parent=ctx), rest)
        return name, command, rest

    def _status(self, args: Sequence[str] | None, name: str, complete_var: str | None, extra: dict[str, Any]) -> int:
        try:
            status = super().main(args, name, complete_var, standalone_mode=False, **extra)
        except click.NoSuchOption as error:
            return _say(_no_such_option(error), BAD_INPUT)
        except click.UsageError as error:
            text = error.format_message()
            if isinstance(error, click.MissingParameter) or "extra argument" in text:
                text = f"{text.rstrip('.')}.{_example(error.ctx)}"
            return _say(text, BAD_INPUT)
        except (click.ClickException, HockeystickError) as error:
            return _say(str(error), BAD_INPUT)
        except (click.exceptions.Abort, KeyboardInterrupt):
            return INTERRUPTED
        except MemoryError:
            return _say("out of memory", FAILURE)
        except OSError as error:
            _abandon_output()
            return _say(str(error), FAILURE)
        except SystemExit as end:
            if end.code != FAILURE:
                raise  # the end of a completion for the shell
            _abandon_output()  # click's answer to a broken pipe
            return UNREAD
        except Exception as error:
            return _say(f"unexpected {type(error).__name__}: {error}; please report this", FAILURE)
        return status if isinstance(status, int) else 0


def _refuse_repeated(context: click.Context, args: list[str]) -> None:
    """Refuse an option that is given twice, even by two of its names; click would silently use the last value.

    Raises:
        click.UsageError: an option is repeated.
    """
    seen = set()
    for item in context.command.make_parser(context).parse_args(list(args))[2]:
        if not isinstance(item, click.Option) or item.multiple or item.is_flag:
            continue
        if item.name in seen:
            said = dict.fromkeys(name for arg in args if (name := arg.partition("=")[0]) in item.opts)
            line = f"{item.opts[0]} is given twice" if len(said) == 1 else f"{' and '.join(said)} are the same option"
            raise click.UsageError(f"{line}; give it once", context)
        seen.add(item.name)


def _say(message: str, status: int) -> int:
    with contextlib.suppress(OSError):
        click.echo(f"error: {cut(one_line(message), MESSAGE_LENGTH)}", err=True)
    return status


def _example(context: click.Context | None) -> str:
    """The example in a command's help, as text to append to the error about a missing or extra argument.

    The text is empty if the help has no example.
    """
    text = "" if context is None else one_line(context.command.help or "")
    return f" For example: {text.partition('Example: ')[2]}" if "Example: " in text else ""


def _no_such_option(error: click.NoSuchOption) -> str:
    """Error message for an unknown option: it suggests a similar option, or lists all options if none is similar."""
    given, context = error.option_name, error.ctx
    if context is None:
        return f"No such option {shown(given)}"
    options = [item for item in context.command.get_params(context) if isinstance(item, click.Option)]
    named = [option for item in options for option in item.opts]
    names = sorted(option.removeprefix("--") for option in named if option.startswith("--"))
    bare = given.lstrip("-")  # dashes would make all options similar
    begun = [name for name in names if name.startswith(bare)] if len(bare) > 2 else []
    close = begun[0] if begun else nearest(bare, names)
    others = ", ".join(f"--{name}" for name in names if name != "help")
    hint = f"its options are {others or 'none'}" if close is None else f"did you mean '--{close}'?"
    if bare == "epsilon" and "--epsilon" not in named:  # somebody without a plan gave a target
        hint = "`hockeystick new --epsilon NUMBER` writes a plan that meets it, `hockeystick calibrate` changes one"
    return f"No such option {shown(given)} of `{context.command_path}`; {hint}"


def _abandon_output() -> None:
    """Redirect standard output to the null device, so that the interpreter can flush its buffer at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
