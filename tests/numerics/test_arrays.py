"""Where the memory of arrays is from."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

ASKED = """
import resource
import numpy as np
import hockeystick.numerics.arrays

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def some():
    return [np.ones(1 << 17) for _ in range(4)]

some()
before = faults()
some()
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_the_memory_of_arrays_that_are_gone_is_used_again() -> None:
    """Four arrays of a mebibyte, made a second time, touch no new page of the thousand that they have."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MALLOC_", "GLIBC_"))}
    done = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=True, env=environment)
    assert int(done.stdout) < 100
