"""The command ``hockeystick doctor``: measurements of this machine against the assumptions of the certificate."""

from __future__ import annotations

import click

from hockeystick import __version__
from hockeystick.cli.documents import UNSOUND
from hockeystick.cli.plans import flag_names
from hockeystick.cli.printed import as_json as with_json
from hockeystick.cli.printed import print_json
from hockeystick.cli.progress import progress


@click.command()
@with_json
@click.option("--points", type=float, metavar="NUMBER", help="Points of each range of each function.  [default: 200]")
@click.option("--seed", type=float, metavar="NUMBER", help="Of the points, for others than the usual.  [default: 1]")
def doctor(as_json: bool, points: float | None, seed: float | None) -> None:
    """Check this machine against the certificate's assumptions: elementary functions, rounding, versions.

    Functions are compared with Python's decimals. Status 0: all assumptions hold. Status 3: some do not, with a line
    for each.

    Example: hockeystick doctor
    """
    from hockeystick.numerics.doctor import POINTS
    from hockeystick.numerics.doctor import doctor as examined
    from hockeystick.report.diagnosis import diagnosis_answer
    from hockeystick.report.tables import print_answer

    with flag_names(), progress("measuring elementary functions"):
        found = examined(POINTS if points is None else points, 1 if seed is None else seed)
    if as_json:
        print_json({"version": __version__, **found.to_json()})
    else:
        print_answer(diagnosis_answer(found))
    if not found.sound:
        click.get_current_context().exit(UNSOUND)
