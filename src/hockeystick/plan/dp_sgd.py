"""The plan of DP-SGD from its usual arguments."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING

from hockeystick.plan.keywords import named_arguments
from hockeystick.plan.mechanisms.gaussian import Gaussian
from hockeystick.plan.plan import Plan
from hockeystick.plan.round import Round
from hockeystick.plan.sampling.base import Sampling
from hockeystick.plan.sampling.poisson import Poisson
from hockeystick.values import domains
from hockeystick.values.adjacency import Adjacency
from hockeystick.values.errors import InvalidInputError, UnsupportedError

if TYPE_CHECKING:
    from hockeystick.plan.mechanisms.pmf import Pmf

NOISE_OR_NONE = domains.NOISE_OR_NONE.of("standard deviation of the noise / norm bound C of one record")


@named_arguments
def dp_sgd(
    noise_multiplier: float,
    sample_rate: float | None = None,
    steps: int | None = None,
    *,
    batch_size: int | None = None,
    dataset_size: int | None = None,
    steps_per_epoch: int | None = None,
    last_batch_size: int | None = None,
    check_in: float | str | None = None,
    drop_last: bool | None = None,
    draws: int | None = None,
    max_batch_size: int | None = None,
    groups: int | None = None,
    epochs: int | None = None,
    sampling: str = Poisson.name,
    adjacency: Adjacency | str = Adjacency.ADD_OR_REMOVE,
    delta: float | None = None,
    unit: str = "record",
    records_per_unit: int | None = None,
    partitions_per_unit: int | None = None,
) -> Plan:
    """Return the plan of DP-SGD: Gaussian rounds on sampled batches, by default Poisson samples.

    Args:
        noise_multiplier: standard deviation of the noise / clipping norm; 0 is training without noise.
        sample_rate: probability that a record is in a batch; ``batch_size`` and ``dataset_size`` can replace it.
        steps: number of optimiser steps; ``epochs`` can replace it. If a round of the scheme is an epoch, the steps
            must make up whole epochs; ``"random-allocation"`` accepts a partial last epoch, as a round of its own.
        batch_size: expected batch size; exact batch size if the sampling scheme fixes it.
        dataset_size: number of records.
        steps_per_epoch: for ``"shuffled"`` and ``"random-allocation"``; ``batch_size`` and ``dataset_size`` can replace
            it.
        last_batch_size: for ``"random-allocation"`` with ``batch_size`` and ``steps_per_epoch``: expected size of the
            last batch.
        check_in: for ``"random-allocation"``: probability that a record takes part in an epoch at all.
        drop_last: for ``"shuffled"`` with ``batch_size`` and ``dataset_size``: true if the loader drops an incomplete
            last batch.
        draws: for ``"with-replacement"`` with ``dataset_size``: number of draws per step.
        max_batch_size: for ``"truncated-poisson"`` with ``sample_rate`` and ``dataset_size``: larger batches are cut
            to this size.
        groups: for ``"cyclic-poisson"`` with ``sample_rate``: number of groups that take turns.
        epochs: passes over the data, stored in the plan. An epoch has ``ceil(dataset_size / batch_size)`` steps, or
            ``ceil(1 / sample_rate)`` without a batch size.
        sampling: name of a sampling scheme; ``hockeystick supported`` lists them.
        adjacency: neighbouring relation.
        delta: default delta.
        unit: protected unit, ``"record"`` or ``"user"``; ``"user"`` needs ``records_per_unit``. Each record is clipped
            separately.
        records_per_unit: maximum number of records of one user in the dataset, or in one partition of it.
        partitions_per_unit: maximum number of partitions that hold records of one unit, if the data are partitioned and
            every step runs on each partition separately; only with ``sampling="none"``. By default the data are not
            partitioned.

    Raises:
        InvalidInputError: a missing, superfluous or invalid argument.
        UnsupportedError: noise 0 with a sampling or an adjacency other than those named in the error.

    >>> dp_sgd(noise_multiplier=1.1, batch_size=256, dataset_size=60_000, epochs=60).steps
    14100
    >>> fixed = dp_sgd(2.0, batch_size=256, dataset_size=60_000, steps=14_100, sampling="without-replacement")
    >>> print(fixed.epsilon(1e-5))
    2.82671 to 2.82672 (certified)
    >>> bootstrap = dp_sgd(1.1, draws=256, dataset_size=60_000, steps=1000, sampling="with-replacement")
    >>> print(bootstrap.epsilon(1e-5))
    6.68977 to 6.68978 (certified)
    >>> users = dp_sgd(1.0, sample_rate=0.01, steps=1000, unit="user", records_per_unit=4)
    >>> print(f"{users.epsilon(1e-6):.4f}")
    10.0153
    """
    scheme = _scheme(
        sampling,
        sample_rate=sample_rate,
        batch_size=batch_size,
        dataset_size=dataset_size,
        steps_per_epoch=steps_per_epoch,
        last_batch_size=last_batch_size,
        check_in=check_in,
        drop_last=drop_last,
        draws=draws,
        max_batch_size=max_batch_size,
        groups=groups,
    )
    if (steps is None) == (epochs is None):
        raise InvalidInputError(
            "give either steps or epochs; received " + ("neither" if steps is None else "both"), "steps"
        )
    mechanism = noised(noise_multiplier)
    if not isinstance(mechanism, Gaussian) and (
        sampling not in ("none", "poisson") or adjacency in ("replace-one", "zero-out")
    ):
        raise UnsupportedError(
            "noise_multiplier 0 protects nobody; epsilon, infinity, is stated with sampling 'poisson' or 'none' under "
            "adjacency 'add-or-remove'"
        )
    if steps is None:
        rounds = [Round(mechanism, scheme, epochs=epochs)]
    else:
        count, left = divmod(domains.whole(steps, "steps", "number of optimiser steps"), scheme.steps_per_round)
        rounds = [Round(mechanism, scheme, count)]
        last = scheme.broken_off(left) if left else None
        if last is not None:
            rounds.append(Round(mechanism, last))
        elif left:
            raise InvalidInputError(
                f"steps must make up whole epochs of {scheme.steps_per_round} steps with sampling {sampling!r}, "
                f"because a partial epoch counts in full; received {steps}; give epochs instead",
                "steps",
            )
    return Plan(
        rounds, adjacency, delta, unit=unit, records_per_unit=records_per_unit, partitions_per_unit=partitions_per_unit
    )


def noised(noise_multiplier: float) -> Gaussian | Pmf:
    """Return the Gaussian mechanism with this noise multiplier; at 0, a mechanism that reveals the dataset for sure.

    >>> print(dp_sgd(0, sample_rate=0.01, steps=10).epsilon(1e-5))
    inf (certified)
    """
    noise = NOISE_OR_NONE.check(noise_multiplier, "noise_multiplier")
    if noise:
        return Gaussian(noise)
    from hockeystick.plan.mechanisms.pmf import Pmf  # imported late, since training has noise

    return Pmf(p=(1, 0), q=(0, 1))  # type: ignore[arg-type]  # checked and kept as fractions


def _scheme(name: str, **keys: float | str | None) -> Sampling:
    """Return the sampling scheme of that name with these keys; keys with the value ``None`` count as not given.

    Raises:
        InvalidInputError: there is no scheme of that name, it does not have one of the keys, or a key is missing.
    """
    schemes: dict[str, type[Sampling]] = {Poisson.name: Poisson}
    if name != Poisson.name:
        from hockeystick.plan.sampling.registry import SAMPLINGS  # imported late, with all other schemes

        schemes = {scheme.name: scheme for scheme in SAMPLINGS}
    if name not in list(schemes):  # unhashable values are refused, too
        raise InvalidInputError(domains.choice("sampling", name, list(schemes)), "sampling")
    known = {item.name: item for item in fields(schemes[name])}  # type: ignore[arg-type]  # a scheme is a dataclass
    given = {key: value for key, value in keys.items() if value is not None}
    for key in given:
        if key not in known:
            takes = domains.listed(each for each in known if each in keys) if known else "none"
            line = f"{key} cannot be used with sampling {name!r}, whose keys are {takes}"
            raise InvalidInputError(line, key)
    for key, item in known.items():
        if key not in given and item.default is MISSING and item.default_factory is MISSING:
            raise InvalidInputError(f"{key} is missing; sampling {name!r} needs it", key)
    made: Sampling = schemes[name](**given)
    return made
