"""Arrays that come from outside and belong together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hockeystick.values.errors import InvalidInputError

Array = npt.NDArray[np.float64]


def of_one_length(**arrays: Array) -> None:
    """Refuse arrays, given by name, that are not all of shape (n,) with one n.

    Raises:
        InvalidInputError: they are not; the message names their shapes.
    """
    first = next(iter(arrays.values()))
    if first.ndim != 1 or any(each.shape != first.shape for each in arrays.values()):
        *names, last = arrays
        *shapes, shape = (str(each.shape) for each in arrays.values())
        raise InvalidInputError(
            f"{', '.join(names)} and {last} must be one-dimensional and of one length; received {', '.join(shapes)} "
            f"and {shape}",
            names[0],
        )
