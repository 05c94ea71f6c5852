"""The command ``hockeystick``.

Nothing heavy is imported here: each command imports what it needs when it runs.
"""

from hockeystick.cli.commands import main

__all__ = ["main"]
