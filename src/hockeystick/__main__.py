"""``python -m hockeystick`` runs the command ``hockeystick``."""

from hockeystick.cli import main

if __name__ == "__main__":
    main()
