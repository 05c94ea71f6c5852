"""The 100 plans of the conformance set, one line each: group, title, adjacency, rounds, question."""

from __future__ import annotations

from typing import Any

Round = dict[str, Any]
BOTH, ADD, REMOVE, REPLACE = ({"adjacency": name} for name in ("add-or-remove", "add", "remove", "replace-one"))


def user(records: int) -> dict[str, Any]:
    """All records of one user, at most so many, are added or removed."""
    return {**BOTH, "unit": "user", "records_per_unit": records}


def kind(mechanism: str, count: int = 1, /, **keys: Any) -> Round:
    """So many rounds of one mechanism; a rate means Poisson sampling."""
    sampling = {"sampling": "poisson"} if "sample_rate" in keys else {}
    return {"mechanism": mechanism, **sampling, **keys, "count": count}


def gauss(noise: float, count: int = 1, rate: float | None = None, **keys: Any) -> Round:
    """Gaussian rounds, Poisson-sampled where a rate is given."""
    return kind("gaussian", count, noise_multiplier=noise, **({} if rate is None else {"sample_rate": rate}), **keys)


def batch(size: int, records: int) -> dict[str, Any]:
    """Batches of a fixed size, drawn without replacement."""
    return {"sampling": "without-replacement", "batch_size": size, "dataset_size": records}


def allocated(steps: int, **keys: Any) -> dict[str, Any]:
    """Each record in one step of each epoch, drawn uniformly."""
    return {"sampling": "random-allocation", "steps_per_epoch": steps, **keys}


def eps(delta: float) -> dict[str, float]:
    """What is epsilon at this delta?"""
    return {"epsilon_at_delta": delta}


def dlt(epsilon: float) -> dict[str, float]:
    """What is delta at this epsilon?"""
    return {"delta_at_epsilon": epsilon}


RESPONSE, PURE, LAPLACE, LATTICE, COUNTS = (
    "randomized-response",
    "approximate-dp",
    "laplace",
    "discrete-gaussian",
    "discrete-laplace",
)
SGD = gauss(1.0, 10_000, 0.01)
STEP = {**SGD, "count": 1000}

Case = tuple[str, str, dict[str, Any], list[Round], dict[str, float]]
CASES: list[Case] = [
    ("gaussian", "one release", BOTH, [gauss(1.0)], eps(1e-5)),
    ("gaussian", "delta of one release", BOTH, [gauss(1.0)], dlt(1.0)),
    ("gaussian", "little noise", BOTH, [gauss(0.4)], eps(1e-5)),
    ("gaussian", "much noise, epsilon just above 0", BOTH, [gauss(20.0)], eps(0.01)),
    ("gaussian", "delta above the total variation: epsilon is 0", BOTH, [gauss(20.0)], eps(0.05)),
    ("gaussian", "a thousand releases", BOTH, [gauss(5.0, 1000)], eps(1e-6)),
    ("gaussian", "a million releases", BOTH, [gauss(50.0, 10**6)], eps(1e-10)),
    ("gaussian", "a hundred million releases", BOTH, [gauss(1e4, 10**8)], eps(1e-5)),
    ("gaussian", "unequal noise", BOTH, [gauss(2.0, 10), gauss(5.0, 40), gauss(10.0, 100)], eps(1e-6)),
    ("gaussian", "delta at a large epsilon, about 1e-192", BOTH, [gauss(1.0)], dlt(30.0)),
    ("gaussian", "total variation: delta at epsilon 0", BOTH, [gauss(1.0)], dlt(0.0)),
    ("gaussian", "a record is replaced", REPLACE, [gauss(3.0)], eps(1e-6)),
    ("gaussian", "a tiny delta", BOTH, [gauss(4.0, 16)], eps(1e-30)),
    ("dp-sgd", "a thousand steps", BOTH, [STEP], eps(1e-5)),
    ("dp-sgd", "one step", BOTH, [gauss(1.0, 1, 0.01)], eps(1e-6)),
    ("dp-sgd", "one step, a record is added", ADD, [gauss(1.0, 1, 0.3)], eps(1e-3)),
    ("dp-sgd", "one step, a record is removed", REMOVE, [gauss(1.0, 1, 0.3)], eps(1e-3)),
    ("dp-sgd", "ten thousand steps, a large delta", BOTH, [SGD], eps(1e-2)),
    ("dp-sgd", "ten thousand steps", BOTH, [SGD], eps(1e-6)),
    ("dp-sgd", "ten thousand steps, a small delta", BOTH, [SGD], eps(1e-12)),
    ("dp-sgd", "ten thousand steps, a smaller delta", BOTH, [SGD], eps(1e-16)),
    ("dp-sgd", "ten thousand steps, a tiny delta", BOTH, [SGD], eps(1e-30)),
    ("dp-sgd", "ten thousand steps, a record is added", ADD, [SGD], eps(1e-6)),
    ("dp-sgd", "ten thousand steps, a record is removed", REMOVE, [SGD], eps(1e-6)),
    ("dp-sgd", "little noise, a small rate", BOTH, [gauss(0.4, 1000, 0.001)], eps(1e-5)),
    ("dp-sgd", "little noise, a high rate", BOTH, [gauss(0.4, 10, 0.1)], eps(1e-6)),
    ("dp-sgd", "little noise, epsilon in the thousands", BOTH, [gauss(0.4, 1000, 0.5)], eps(1e-5)),
    ("dp-sgd", "noise 0.5, rate 1e-4", BOTH, [gauss(0.5, 10**5, 1e-4)], eps(1e-7)),
    ("dp-sgd", "noise 0.6, rate 0.01", BOTH, [gauss(0.6, 5000, 0.01)], eps(1e-5)),
    ("dp-sgd", "noise 0.8, a tiny delta", BOTH, [gauss(0.8, 10**4, 1e-3)], eps(1e-30)),
    ("dp-sgd", "rate 1e-6, a million steps", BOTH, [gauss(0.7, 10**6, 1e-6)], eps(1e-8)),
    ("dp-sgd", "rate 1e-6, a hundred million steps", BOTH, [gauss(1.0, 10**8, 1e-6)], eps(1e-6)),
    ("dp-sgd", "rate 1e-4, a million steps", BOTH, [gauss(1.0, 10**6, 1e-4)], eps(1e-10)),
    ("dp-sgd", "rate 1e-3, a hundred million steps", BOTH, [gauss(10.0, 10**8, 1e-3)], eps(1e-5)),
    ("dp-sgd", "half of the records in each batch", BOTH, [gauss(2.0, 100, 0.5)], eps(1e-5)),
    ("dp-sgd", "a rate next to 1", BOTH, [gauss(8.0, 100, 0.999)], eps(1e-6)),
    ("dp-sgd", "rate 1 is no sampling", BOTH, [gauss(8.0, 100, 1.0)], eps(1e-6)),
    ("dp-sgd", "noise 20, rate 0.1", BOTH, [gauss(20.0, 10**4, 0.1)], eps(1e-5)),
    ("dp-sgd", "noise 20, rate 0.9, delta 1e-9", BOTH, [gauss(20.0, 10**4, 0.9)], eps(1e-9)),
    ("dp-sgd", "a million steps, delta 1e-12", BOTH, [gauss(5.0, 10**6, 0.01)], eps(1e-12)),
    ("dp-sgd", "an epsilon of a few millionths", BOTH, [gauss(20.0, 1000, 1e-6)], eps(1e-9)),
    ("dp-sgd", "epsilon is 0 at a large delta", BOTH, [gauss(20.0, 100, 1e-3)], eps(1e-2)),
    ("dp-sgd", "delta at epsilon 1", BOTH, [STEP], dlt(1.0)),
    ("dp-sgd", "delta at epsilon 10", BOTH, [STEP], dlt(10.0)),
    ("dp-sgd", "delta at epsilon 30, far in the tail", BOTH, [STEP], dlt(30.0)),
    ("dp-sgd", "total variation: delta at epsilon 0", BOTH, [STEP], dlt(0.0)),
    ("dp-sgd", "a record is replaced", REPLACE, [STEP], eps(1e-6)),
    ("dp-sgd", "a record is replaced, rate 0.2", REPLACE, [gauss(3.0, 500, 0.2)], eps(1e-8)),
    ("dp-sgd", "two phases", BOTH, [gauss(0.8, 500, 0.004), gauss(1.5, 5000, 0.01)], eps(1e-6)),
    (
        "dp-sgd",
        "ten noise levels",
        BOTH,
        [gauss(1.0 + level / 10, 200, 0.01) for level in range(10)],
        eps(1e-6),
    ),
    ("fixed-batch", "batches of 50 out of 1000", BOTH, [gauss(2.0, 100, **batch(50, 1000))], eps(1e-5)),
    ("fixed-batch", "batches of 256 out of 60000", BOTH, [gauss(1.0, 2000, **batch(256, 60_000))], eps(1e-6)),
    ("fixed-batch", "Laplace noise", BOTH, [kind(LAPLACE, 5, scale=2.0, **batch(10, 100))], eps(1e-4)),
    ("laplace", "one release", BOTH, [kind(LAPLACE, scale=1.0)], eps(1e-5)),
    ("laplace", "pure epsilon of ten releases", BOTH, [kind(LAPLACE, 10, scale=4.0)], eps(0.0)),
    ("laplace", "delta of ten releases at epsilon 2", BOTH, [kind(LAPLACE, 10, scale=1.0)], dlt(2.0)),
    ("laplace", "a tiny delta", BOTH, [kind(LAPLACE, 100, scale=1.0)], eps(1e-15)),
    ("laplace", "ten thousand releases", BOTH, [kind(LAPLACE, 10**4, scale=100.0)], eps(1e-6)),
    ("laplace", "a record is replaced", REPLACE, [kind(LAPLACE, 20, scale=4.0)], eps(1e-6)),
    ("laplace", "sampled", BOTH, [kind(LAPLACE, 20, scale=2.0, sample_rate=0.1)], eps(1e-6)),
    ("laplace", "sampled, a thousand rounds", BOTH, [kind(LAPLACE, 1000, scale=1.0, sample_rate=0.01)], eps(1e-5)),
    ("discrete-laplace", "one release", BOTH, [kind(COUNTS, scale=2.0)], eps(1e-2)),
    ("discrete-laplace", "sensitivity 3", BOTH, [kind(COUNTS, 10, scale=5.0, sensitivity=3)], eps(1e-6)),
    ("discrete-laplace", "a hundred releases", BOTH, [kind(COUNTS, 100, scale=20.0)], eps(1e-8)),
    ("discrete-laplace", "a record is replaced", REPLACE, [kind(COUNTS, 10, scale=8.0)], eps(1e-5)),
    ("discrete-laplace", "sampled", BOTH, [kind(COUNTS, 200, scale=1.0, sample_rate=0.05)], eps(1e-6)),
    ("discrete-gaussian", "one release", BOTH, [kind(LATTICE, noise_multiplier=1.0)], eps(1e-5)),
    ("discrete-gaussian", "little noise", BOTH, [kind(LATTICE, 5, noise_multiplier=0.4)], eps(1e-6)),
    (
        "discrete-gaussian",
        "a hundred releases of sensitivity 4",
        BOTH,
        [kind(LATTICE, 100, noise_multiplier=10.0, sensitivity=4)],
        eps(1e-8),
    ),
    ("discrete-gaussian", "a record is replaced", REPLACE, [kind(LATTICE, 10, noise_multiplier=4.0)], eps(1e-6)),
    ("discrete-gaussian", "sampled", BOTH, [kind(LATTICE, 500, noise_multiplier=1.0, sample_rate=0.02)], eps(1e-6)),
    ("response", "a thousand answers", REPLACE, [kind(RESPONSE, 1000, epsilon=0.1)], eps(1e-6)),
    ("response", "ten categories", REPLACE, [kind(RESPONSE, 20, epsilon=1.0, categories=10)], eps(1e-4)),
    ("response", "delta at an epsilon between two atoms", REPLACE, [kind(RESPONSE, 5, epsilon=3.0)], dlt(4.0)),
    ("response", "pure epsilon of three answers", REPLACE, [kind(RESPONSE, 3, epsilon=0.1)], eps(0.0)),
    ("guarantee", "a hundred pure guarantees", BOTH, [kind(PURE, 100, epsilon=0.1, delta=0.0)], eps(1e-6)),
    ("guarantee", "a million pure guarantees", BOTH, [kind(PURE, 10**6, epsilon=1e-3, delta=0.0)], eps(1e-6)),
    ("guarantee", "fifty approximate guarantees", BOTH, [kind(PURE, 50, epsilon=0.5, delta=1e-8)], eps(1e-6)),
    ("guarantee", "delta below the failures: infinite", BOTH, [kind(PURE, epsilon=1.0, delta=1e-5)], eps(1e-6)),
    (
        "guarantee",
        "unequal pure guarantees",
        BOTH,
        [kind(PURE, n, epsilon=e, delta=0.0) for e, n in ((0.1, 50), (0.3, 10), (1.0, 1))],
        eps(1e-5),
    ),
    ("mixed", "training, then counts", BOTH, [STEP, kind(LAPLACE, 5, scale=10.0)], eps(1e-6)),
    (
        "mixed",
        "four kinds of rounds",
        BOTH,
        [STEP, gauss(20.0, 10), kind(LAPLACE, 5, scale=10.0), kind(PURE, 3, epsilon=0.1, delta=0.0)],
        dlt(0.5),
    ),
    ("mixed", "Gaussian and Laplace noise", REPLACE, [gauss(6.0, 4), kind(LAPLACE, 3, scale=5.0)], eps(1e-7)),
    (
        "mixed",
        "noise on whole numbers",
        BOTH,
        [kind(LATTICE, 10, noise_multiplier=3.0), kind(COUNTS, 10, scale=4.0)],
        eps(1e-6),
    ),
    ("keys", "one key, Laplace noise", BOTH, [kind("laplace-threshold", scale=1.0, threshold=12.0, keys=1)], eps(1e-4)),
    (
        "keys",
        "five keys, Gaussian noise",
        BOTH,
        [kind("gaussian-threshold", 1, noise_multiplier=4.0, threshold=25.0, keys=5)],
        eps(1e-5),
    ),
    ("choice", "one choice by the exponential mechanism", BOTH, [kind("exponential", epsilon=1.0)], dlt(0.5)),
    ("choice", "ten choices", BOTH, [kind("exponential", 10, epsilon=0.5)], eps(1e-6)),
    ("allocation", "one epoch of 100 steps", BOTH, [gauss(1.0, 1, **allocated(100))], eps(1e-6)),
    ("allocation", "ten epochs of 1000 steps", BOTH, [gauss(1.0, 10, **allocated(1000))], eps(1e-6)),
    ("allocation", "two steps, a record is added", ADD, [gauss(2.0, 1, **allocated(2))], eps(1e-5)),
    (
        "allocation",
        "balls in bins: one assignment for five epochs",
        BOTH,
        [gauss(2.0, 1, **allocated(100, epochs_per_assignment=5))],
        eps(1e-6),
    ),
    (
        "cyclic",
        "ten groups take turns",
        BOTH,
        [gauss(1.0, 1000, sampling="cyclic-poisson", groups=10, sample_rate=0.1)],
        eps(1e-6),
    ),
    (
        "cyclic",
        "a record is replaced",
        REPLACE,
        [gauss(2.0, 500, sampling="cyclic-poisson", groups=4, sample_rate=0.05)],
        eps(1e-5),
    ),
    ("group", "four records of a user, each sampled and clipped", user(4), [gauss(2.0, 500, 0.1)], eps(1e-6)),
    (
        "group",
        "a random contribution, once",
        BOTH,
        [
            kind(
                "mixture-gaussian",
                sensitivities=[0, 1, 3],
                probabilities=[0.5, 0.4, 0.1],
                noise_multiplier=1.5,
            )
        ],
        eps(1e-5),
    ),
    ("group", "three records of a user, unsampled", user(3), [gauss(6.0, 4)], eps(1e-6)),
    ("other", "a binomial count", BOTH, [kind("binomial", 4, trials=100)], eps(1e-6)),
    ("other", "truncated Laplace noise", BOTH, [kind("truncated-laplace", scale=1.0, bound=12.0)], eps(1e-4)),
    (
        "other",
        "a table of probabilities",
        BOTH,
        [kind("pmf", 25, p=[0.6, 0.3, 0.1], q=[0.5, 0.3, 0.2])],
        eps(1e-5),
    ),
]
