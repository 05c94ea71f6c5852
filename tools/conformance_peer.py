"""What dp_accounting, which has to be installed, answers to the cases of the conformance set.

    python tools/conformance_peer.py conformance/cases.json > answers.jsonl

Each answer is a line of JSON. There are four ways to ask: the two accountants with their defaults, and the functions
of the module ``pld.privacy_loss_distribution`` with their default grid, pessimistic and optimistic. Each question has
a process of its own, which is stopped after a minute.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import dp_accounting as events
from dp_accounting.pld import PLDAccountant, common
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant

LIMIT = 60.0  # seconds for one question
RELATION = {
    "add-or-remove": events.NeighboringRelation.ADD_OR_REMOVE_ONE,
    "replace-one": events.NeighboringRelation.REPLACE_ONE,
}


class InexpressibleError(Exception):
    """There is no way to say it."""


def single_records(plan: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rounds, with cyclic steps and users written as rounds that dp_accounting knows; see conformance/README.md."""
    for entry in plan["round"]:
        made = dict(entry)
        sampling, records = made.pop("sampling", "none"), plan.get("records_per_unit", 1)
        if sampling == "cyclic-poisson":
            made["count"], sampling = -(-made["count"] // made.pop("groups")), "poisson"
        if records > 1 and sampling == "poisson":
            rate = made.pop("sample_rate")
            shares = [math.comb(records, k) * rate**k * (1 - rate) ** (records - k) for k in range(records + 1)]
            made |= {"mechanism": "mixture-gaussian", "sensitivities": range(records + 1), "probabilities": shares}
        elif records > 1:
            made["noise_multiplier"] /= records
        if sampling not in ("none", "poisson", "without-replacement"):
            raise InexpressibleError(f"sampling {sampling}")
        yield made


def response(entry: Mapping[str, Any]) -> tuple[float, int]:
    """The noise parameter of randomised response, k / (e^epsilon + k - 1), and k."""
    answers = entry.get("categories", 2)
    return answers / (math.exp(entry["epsilon"]) + answers - 1), answers


EVENTS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "gaussian": lambda e: events.GaussianDpEvent(e["noise_multiplier"]),
    "laplace": lambda e: events.LaplaceDpEvent(e["scale"]),
    "discrete-laplace": lambda e: events.dp_event.DiscreteLaplaceDpEvent(1 / e["scale"], e.get("sensitivity", 1)),
    "randomized-response": lambda e: events.dp_event.RandomizedResponseDpEvent(*response(e)),
    "mixture-gaussian": lambda e: events.dp_event.MixtureOfGaussiansDpEvent(
        e["noise_multiplier"], list(e["sensitivities"]), e["probabilities"]
    ),
}


def replaced_once(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A round whose noise is relative to what replacing a record changes, as RdpAccountant takes it.

    PLDAccountant takes the noise relative to what one record contributes, and moves the sum twice as far itself.
    """
    made = dict(entry)
    for key in ("noise_multiplier", "scale"):
        if key in made and made["mechanism"] != "discrete-laplace":
            made[key] /= 2
    if made["mechanism"] == "discrete-laplace":
        made["sensitivity"] = 2 * made.get("sensitivity", 1)
    return made


def by_events(kind: Callable[..., Any], plan: Mapping[str, Any]) -> Any:
    """The accountant with all rounds composed."""
    accountant = kind(neighboring_relation=RELATION[plan["adjacency"]])
    for entry in single_records(plan):
        if entry["mechanism"] not in EVENTS:
            raise InexpressibleError(f"no event of {entry['mechanism']}")
        if kind is RdpAccountant and plan["adjacency"] == "replace-one" and "sample_rate" not in entry:
            entry = replaced_once(entry)
        event = EVENTS[entry["mechanism"]](entry)
        if "batch_size" in entry:
            event = events.SampledWithoutReplacementDpEvent(entry["dataset_size"], entry["batch_size"], event)
        elif "sample_rate" in entry:
            event = events.PoissonSampledDpEvent(entry["sample_rate"], event)
        if not accountant.supports(event):
            raise InexpressibleError(f"{kind.__name__} does not take {type(event).__name__} of {entry['mechanism']}")
        accountant.compose(event, entry["count"])
    return accountant


def table(entry: Mapping[str, Any], upper: bool) -> Any:
    """A finite mechanism by its outcomes; adding the record is the other half of an asymmetric distribution."""
    p, q = ({i: math.log(mass) for i, mass in enumerate(entry[key])} for key in "pq")
    return pld.from_two_probability_mass_functions(q, p, pessimistic_estimate=upper, symmetric=False)


def distribution(entry: Mapping[str, Any], replaced: bool, upper: bool) -> Any:
    """The privacy loss distribution of one round; a replaced record moves a sum twice as far."""
    if "batch_size" in entry:
        raise InexpressibleError("no function of batches without replacement")
    kind, rate, twice = entry["mechanism"], entry.get("sample_rate", 1.0), 2 if replaced else 1
    ask: dict[str, Any] = {"pessimistic_estimate": upper}
    own = {**ask, "sampling_prob": rate}
    if kind in ("gaussian", "mixture-gaussian", "laplace"):
        own["use_connect_dots"] = upper
        ask["use_connect_dots"] = upper
    if replaced and "sample_rate" in entry and kind != "gaussian":
        raise InexpressibleError("sampled rounds are for added and removed records")
    if kind == "gaussian":
        relation = RELATION["replace-one" if replaced else "add-or-remove"]
        if "sample_rate" not in entry:  # at one distance either relation is the same
            return pld.from_gaussian_mechanism(entry["noise_multiplier"], twice, **own)
        return pld.from_gaussian_mechanism(entry["noise_multiplier"], neighboring_relation=relation, **own)
    if kind == "laplace":
        return pld.from_laplace_mechanism(entry["scale"], twice, **own)
    if kind == "discrete-laplace":
        size = entry.get("sensitivity", 1)
        return pld.from_discrete_laplace_mechanism(1 / entry["scale"], twice * size, **own)
    if kind == "discrete-gaussian":
        size = entry.get("sensitivity", 1)
        return pld.from_discrete_gaussian_mechanism(entry["noise_multiplier"] * size, twice * size, **own)
    if kind == "randomized-response":
        return pld.from_randomized_response(*response(entry), **ask)
    if kind == "mixture-gaussian":
        return pld.from_mixture_gaussian_mechanism(
            entry["noise_multiplier"], list(entry["sensitivities"]), entry["probabilities"], **ask
        )
    if kind == "pmf":
        return table(entry, upper)
    if kind == "approximate-dp" and upper:
        return pld.from_privacy_parameters(common.DifferentialPrivacyParameters(entry["epsilon"], entry["delta"]))
    raise InexpressibleError(f"no function of {kind}")


def by_functions(plan: Mapping[str, Any], upper: bool) -> Any:
    """The composed privacy loss distribution."""
    replaced = plan["adjacency"] == "replace-one"
    rounds = (distribution(e, replaced, upper).self_compose(e["count"]) for e in single_records(plan))
    return reduce(lambda one, other: one.compose(other), rounds)


def answer(way: str, plan: Mapping[str, Any], question: Mapping[str, float]) -> float:
    """What it says."""
    if plan["adjacency"] not in RELATION:
        raise InexpressibleError(f"no relation {plan['adjacency']}")
    ((asked, at),) = question.items()
    if way in ("PLDAccountant", "RdpAccountant"):
        accountant = by_events({"PLDAccountant": PLDAccountant, "RdpAccountant": RdpAccountant}[way], plan)
        return float(accountant.get_epsilon(at) if asked == "epsilon_at_delta" else accountant.get_delta(at))
    composed = by_functions(plan, way == "pld, pessimistic")
    ask = composed.get_epsilon_for_delta if asked == "epsilon_at_delta" else composed.get_delta_for_epsilon
    return float(ask(at))


def put(where: Any, *asked: Any) -> None:
    """Answer in a process of its own; what it raises is its answer, too."""
    started = time.process_time()
    try:
        found = {"value": repr(answer(*asked))}
    except InexpressibleError as error:
        found = {"inexpressible": str(error)}
    except Exception as error:
        found = {"failed": f"{type(error).__name__}: {str(error)[:150]}"}
    where.send({**found, "seconds": round(time.process_time() - started, 3)})


def main() -> int:
    """Ask in every way about every case."""
    processes = multiprocessing.get_context("fork")
    for case in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["cases"]:
        for way in ("PLDAccountant", "RdpAccountant", "pld, pessimistic", "pld, optimistic"):
            mine, theirs = processes.Pipe(duplex=False)
            process = processes.Process(target=put, args=(theirs, way, case["plan"], case["question"]))
            process.start()
            theirs.close()
            try:
                reply = mine.recv() if mine.poll(LIMIT) else {"failed": f"no answer in {LIMIT:.0f} s", "seconds": LIMIT}
            except EOFError:
                reply = {"failed": "the process died", "seconds": 0.0}
            process.kill()
            process.join()
            side = "lower" if way.endswith("optimistic") else "upper"
            print(json.dumps({"id": case["id"], "accountant": way, "side": side, **reply}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
