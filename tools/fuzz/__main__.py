"""``python -m fuzz N SEED``."""

import os
import sys

if __name__ == "__main__":
    # the threads of a linear algebra library wait for each other at the expense of processor time, which is held to a
    # limit; this has to be said before numpy is imported
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from fuzz.run import main

    sys.exit(main())
