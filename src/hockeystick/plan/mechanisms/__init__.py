"""Mechanisms: one frozen dataclass per mechanism, one mechanism per file."""

from hockeystick.plan.mechanisms.base import Claim as Claim
from hockeystick.plan.mechanisms.base import Mechanism as Mechanism
from hockeystick.plan.mechanisms.base import Property as Property
from hockeystick.plan.mechanisms.base import Status as Status
