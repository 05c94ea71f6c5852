"""How the command ends: status 0, or one line on standard error with status 2 (bad input) or 1 (anything else)."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from hockeystick.domains import choice, one_line
from hockeystick.errors import HockeystickError

PROGRAM = "hockeystick"
BAD_INPUT, FAILURE, INTERRUPTED = 2, 1, 130


class OneLineGroup(click.Group):
    """A group of commands whose errors, click's own among them, are one line each and never a traceback."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command and leave the interpreter with its status."""
        name = prog_name or PROGRAM
        if not standalone_mode:
            return super().main(args, name, complete_var, standalone_mode=False, **extra)
        for stream in (sys.stdout, sys.stderr):  # names of files and sources may hold what the terminal cannot encode
            with contextlib.suppress(AttributeError, ValueError):
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        sys.exit(self._status(args, name, complete_var, extra))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is named, or an error with the nearest one."""
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise click.UsageError(choice("command", args[0], self.list_commands(ctx)), ctx)
        return super().resolve_command(ctx, args)

    def _status(self, args: Sequence[str] | None, name: str, complete_var: str | None, extra: dict[str, Any]) -> int:
        try:
            status = super().main(args, name, complete_var, standalone_mode=False, **extra)
        except click.ClickException as error:
            return _say(error.format_message(), BAD_INPUT)
        except HockeystickError as error:
            return _say(str(error), BAD_INPUT)
        except (click.exceptions.Abort, KeyboardInterrupt):
            return INTERRUPTED
        except MemoryError:
            return _say("out of memory", FAILURE)
        except OSError as error:
            _abandon_output()
            return FAILURE if error.errno == errno.EPIPE else _say(str(error), FAILURE)
        except Exception as error:
            return _say(f"unexpected {type(error).__name__}: {error}: please report", FAILURE)
        return status if isinstance(status, int) else 0


def _say(message: str, status: int) -> int:
    with contextlib.suppress(OSError):
        click.echo(f"error: {one_line(message)}", err=True)
    return status


def _abandon_output() -> None:
    """Send what is left in the buffer nowhere, so that the interpreter does not complain when it cannot be written."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
