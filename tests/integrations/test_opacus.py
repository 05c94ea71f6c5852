"""Opacus, really training: what its engines are told is what the steps cost."""

from __future__ import annotations

import io
import itertools
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import opacus
import pytest
import torch
from opacus.accountants import GaussianAccountant, PRVAccountant, RDPAccountant, create_accountant
from opacus.accountants.utils import get_noise_multiplier
from opacus.distributed import DifferentiallyPrivateDistributedDataParallel
from opacus.schedulers import ExponentialNoise
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import nn
from torch.multiprocessing import start_processes
from torch.utils.data import (
    DataLoader,
    DistributedSampler,
    RandomSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

import hockeystick as hs
from hockeystick.integrations.draws import drawn
from hockeystick.integrations.history import plan_from_history
from hockeystick.integrations.opacus import HockeystickAccountant, PrivacyEngine, least_noise_multiplier
from hockeystick.questions.calibration import TOLERANCE

BATCHES = 75
DELTA = 1e-5

torch.set_num_threads(1)  # the tensors are tiny

pytestmark = pytest.mark.filterwarnings("ignore:the loader was not checked")  # but where a test is about that


def parts(batches: int = BATCHES) -> dict[str, Any]:
    """A model, an optimiser and a loader of that many batches."""
    torch.manual_seed(1)
    features = torch.randn(4 * batches, 6)
    loader = DataLoader(TensorDataset(features, (features.sum(dim=1) > 0).long()), batch_size=4)
    module = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    return {"module": module, "optimizer": optimizer, "data_loader": loader, "max_grad_norm": 1.0}


def train(module: Any, optimizer: Any, loader: Any, steps: int | None = None) -> int:
    """One pass over the loader, or as many steps; how many were made."""
    made = 0
    for features, labels in itertools.islice(loader, steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(features), labels).backward()
        optimizer.step()
        made += 1
    return made


@pytest.fixture(params=[opacus.PrivacyEngine, PrivacyEngine], ids=["their engine", "our engine"])
def engine(request: pytest.FixtureRequest) -> Any:
    return request.param(accountant="hockeystick")


def test_importing_registers_it_and_changes_nothing_else() -> None:
    assert isinstance(create_accountant("hockeystick"), HockeystickAccountant)
    for name, kind in (("rdp", RDPAccountant), ("prv", PRVAccountant), ("gdp", GaussianAccountant)):
        assert type(create_accountant(name)) is kind
    code = (
        "import opacus, opacus.accountants.utils as u, opacus.privacy_engine as e\n"
        "modules = [opacus, u, e, e.PrivacyEngine, opacus.accountants.IAccountant]\n"
        "before = [dict(vars(m)) for m in modules]\n"
        "import hockeystick.integrations.opacus\n"
        "assert before == [dict(vars(m)) for m in modules]\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("batches", [1, 2, 3, 4, 60, 64, 75, 235, 1000, 4097, 65537, 60_000, 999_983])
def test_the_rate_is_that_of_the_draws(batches: int) -> None:
    """Opacus compares multiples of 2^-24 with the rate in single precision: all of them around it are compared here."""
    assert float((torch.rand(100_000) * 2**24 % 1).max()) == 0.0
    middle = 2**24 // batches
    near = torch.arange(max(middle - 5, 0), min(middle + 5, 2**24), dtype=torch.float64)
    below = int(near[0]) + int(((near / 2**24).float() < 1 / batches).sum())
    assert drawn(1 / batches) * 2**24 == below


def test_training_counts_the_steps_and_gives_the_epsilon_of_their_plan(engine: Any) -> None:
    module, optimizer, loader = engine.make_private(**parts(), noise_multiplier=1.1)
    made = train(module, optimizer, loader)
    assert made == BATCHES
    assert len(engine.accountant) == made
    assert engine.accountant.history == [(1.1, 1 / BATCHES, made)]
    plan = hs.dp_sgd(noise_multiplier=1.1, sample_rate=drawn(1 / BATCHES), steps=made)
    (recorded,), (item,) = engine.accountant.plan.rounds, plan.rounds
    assert (recorded.mechanism, recorded.sampling, recorded.count) == (item.mechanism, item.sampling, item.count)
    assert (recorded.note is None) == engine.accountant.checked
    assert engine.get_epsilon(DELTA) == plan.epsilon(DELTA).upper
    assert engine.accountant.bound(DELTA).ends == plan.epsilon(DELTA).ends


def test_beside_their_accountants_on_the_same_history() -> None:
    """RDP and PRV are upper bounds; the Gaussian approximation falls below the certified lower end."""
    ours, rdp, prv, gdp = HockeystickAccountant(), RDPAccountant(), PRVAccountant(), GaussianAccountant()
    for accountant in (ours, rdp, prv, gdp):
        accountant.history = [(1.0, 0.01, 1000)]
    bound = ours.bound(DELTA)
    assert isinstance(bound, hs.Bound)
    assert bound.relative_gap < 1e-6
    assert ours.get_epsilon(DELTA) == bound.upper
    assert bound.upper < rdp.get_epsilon(DELTA)
    assert bound.upper < prv.get_epsilon(DELTA) < bound.upper + 0.02
    assert gdp.get_epsilon(DELTA) < 0.9 * bound.lower
    shown = [f"{accountant.get_epsilon(DELTA):.3f}" for accountant in (prv, rdp, gdp)]
    assert (f"{bound.estimate:.4f}", *shown) == ("1.8282", "1.838", "2.101", "1.618")  # docs/moving/opacus.md
    assert len(prv) == 1
    assert len(ours) == 1000


def test_their_calibration_takes_it_as_it_stands() -> None:
    engine = opacus.PrivacyEngine(accountant="hockeystick")
    kwargs = {"target_epsilon": 2.0, "target_delta": DELTA, "epochs": 2}
    module, optimizer, loader = engine.make_private_with_epsilon(**parts(), **kwargs)
    made = sum(train(module, optimizer, loader) for _ in range(2))
    assert made == 2 * BATCHES
    assert 1.98 < engine.get_epsilon(DELTA) <= 2.0


def test_their_calibration_is_one_step_short_and_ours_is_not() -> None:
    """Three epochs of 75 batches: ``int(3 / (1 / 75))`` is 224."""
    assert int(3 / (1 / BATCHES)) == 224
    target = 1.5
    theirs = get_noise_multiplier(
        target_epsilon=target,
        target_delta=DELTA,
        sample_rate=1 / BATCHES,
        epochs=3,
        accountant="hockeystick",
        epsilon_tolerance=1e-5,
    )
    assert plan_from_history([(theirs, 1 / BATCHES, 224)]).epsilon(DELTA).upper <= target
    assert plan_from_history([(theirs, 1 / BATCHES, 225)]).epsilon(DELTA).lower > target

    engine = PrivacyEngine()
    kwargs = {"target_epsilon": target, "target_delta": DELTA, "epochs": 3, "epsilon_tolerance": 0.01}
    module, optimizer, loader = engine.make_private_with_epsilon(**parts(), **kwargs)
    assert sum(train(module, optimizer, loader) for _ in range(3)) == len(engine.accountant) == 225
    assert engine.get_epsilon(DELTA) <= target
    missed = optimizer.noise_multiplier * (1 - 2 * TOLERANCE)
    assert plan_from_history([(missed, drawn(1 / BATCHES), 225)]).epsilon(DELTA).upper > target


def test_what_was_spent_before_counts_towards_the_target() -> None:
    engine = PrivacyEngine()
    module, optimizer, loader = engine.make_private(**parts(), noise_multiplier=1.5)
    train(module, optimizer, loader)
    kwargs = {"target_epsilon": 2.0, "target_delta": DELTA, "epochs": 1}
    with pytest.warns(UserWarning, match="new dataset object"):
        module, optimizer, loader = engine.make_private_with_epsilon(**parts(), **kwargs)
    train(module, optimizer, loader)
    assert len(engine.accountant.history) == 2
    assert 1.999 < engine.get_epsilon(DELTA) <= 2.0
    with pytest.raises(hs.InvalidInputError, match=r"greater than 1\.999.*recorded steps.*received 1\.0"):
        engine.make_private_with_epsilon(**parts(), **{**kwargs, "target_epsilon": 1.0})


def test_checkpoint_and_resume(engine: Any) -> None:
    """Stopped after 40 steps and gone on with elsewhere: bit for bit the epsilon of 75 steps."""
    module, optimizer, loader = engine.make_private(**parts(), noise_multiplier=1.1)
    train(module, optimizer, loader, 40)
    saved = io.BytesIO()
    engine.save_checkpoint(path=saved, module=module, optimizer=optimizer)

    other = type(engine)(accountant="hockeystick")
    resumed, resumed_optimizer, loader = other.make_private(**parts(), noise_multiplier=1.1)
    saved.seek(0)
    other.load_checkpoint(path=saved, module=resumed, optimizer=resumed_optimizer)
    assert all(torch.equal(a, b) for a, b in zip(module.parameters(), resumed.parameters(), strict=True))
    assert other.get_epsilon(DELTA) == engine.get_epsilon(DELTA)
    train(resumed, resumed_optimizer, loader, 35)
    assert other.accountant.history == [(1.1, 1 / BATCHES, 75)]
    assert other.get_epsilon(DELTA) == hs.dp_sgd(1.1, drawn(1 / BATCHES), 75).epsilon(DELTA).upper
    assert len(engine.accountant) == 40


def test_a_schedule_of_noise_is_recorded_step_by_step() -> None:
    engine = PrivacyEngine()
    module, optimizer, loader = engine.make_private(**parts(5), noise_multiplier=1.0)
    scheduler = ExponentialNoise(optimizer, gamma=1.25)
    for _ in range(3):
        train(module, optimizer, loader)
        scheduler.step()
    assert engine.accountant.history == [(1.0, 0.2, 5), (1.25, 0.2, 5), (1.5625, 0.2, 5)]
    plan = plan_from_history([(noise, drawn(0.2), 5) for noise in (1.0, 1.25, 1.5625)])
    assert engine.get_epsilon(DELTA) == plan.epsilon(DELTA).upper


@pytest.mark.parametrize("drawn", [iter, list], ids=["one by one", "ahead, as workers do"])
def test_a_batch_in_pieces_is_one_step(drawn: Any) -> None:
    engine = PrivacyEngine()
    module, optimizer, loader = engine.make_private(**parts(8), noise_multiplier=1.0)
    with BatchMemoryManager(data_loader=loader, max_physical_batch_size=2, optimizer=optimizer) as pieces:
        assert len(pieces) == 16
        assert sum(train(module, optimizer, drawn(pieces)) for _ in range(2)) > 16
    assert engine.accountant.history == [(1.0, 0.125, 16)]


def composed(chances: list[float], noise: float, rounds: int, delta: float, mesh: float = 1e-3) -> tuple[float, float]:
    """Two ends of epsilon where one removed record moved a sum by k clipping norms with the k-th chance, composed.

    The loss of a round increases with the sum, so that its law is read off the two mixtures between places on a grid
    of losses; rounded up it is an upper end, and down a lower one.
    """
    x = numpy.linspace(-12 * noise, len(chances) + 12 * noise, 400_001)
    shifts = numpy.arange(len(chances))[:, None]
    middle = (x[1:] + x[:-1]) / 2
    with numpy.errstate(divide="ignore"):
        terms = numpy.log(chances)[:, None] + (2 * shifts * x - shifts**2) / (2 * noise**2)
    loss = numpy.logaddexp.reduce(terms)
    normal = numpy.exp(-((middle - shifts) ** 2) / (2 * noise**2)) / (noise * math.sqrt(2 * math.pi))
    mass = (numpy.array(chances) @ normal) * (x[1] - x[0])  # of each interval, to well below the mesh
    found = []
    for ends, way in ((loss[:-1], numpy.floor), (loss[1:], numpy.ceil)):
        places = way(ends / mesh).astype(int)
        least = places.min()
        law = numpy.bincount(places - least, weights=mass)
        size = 1 << (rounds * len(law)).bit_length()
        total = numpy.fft.irfft(numpy.fft.rfft(law, size) ** rounds, size)
        losses = mesh * (rounds * least + numpy.arange(size))

        def excess(epsilon: float, losses: Any = losses, total: Any = total) -> float:
            above = losses > epsilon
            return float(-(numpy.expm1(epsilon - losses[above]) * total[above]).sum())

        low, high = 0.0, 100.0
        for _ in range(50):
            middle_epsilon = (low + high) / 2
            low, high = (middle_epsilon, high) if excess(middle_epsilon) > delta else (low, middle_epsilon)
        found.append(low)
    return found[0], found[1]


def accumulating(module: Any, optimizer: Any, loader: Any, several: int, drawn: Any) -> None:
    """Two passes with one noisy step after several batches, by Opacus' own signal."""
    count = itertools.count(1)
    for _ in range(2):
        for features, labels in drawn(loader):
            nn.functional.cross_entropy(module(features), labels).backward()
            optimizer.signal_skip_step(next(count) % several != 0)
            optimizer.step()
            optimizer.zero_grad()


@pytest.mark.parametrize("drawn", [iter, list], ids=["one by one", "ahead, as workers do"])
@pytest.mark.parametrize(("batches", "several"), [(40, 4), (4, 4), (4, 8), (40, 2)])
def test_a_step_on_several_batches_is_refused(batches: int, several: int, drawn: Any) -> None:
    """Also where the whole pass is drawn before the first step, and where a step takes more than a pass."""
    engine = PrivacyEngine()
    module, optimizer, loader = engine.make_private(**parts(batches), noise_multiplier=1.0)
    before = [weight.clone() for weight in module.parameters()]
    with pytest.raises(hs.UnsupportedError, match=r"(one|a) record may be in") as caught:
        accumulating(module, optimizer, loader, several, drawn)
    assert "BatchMemoryManager" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert engine.accountant.history == []
    assert all(torch.equal(*weights) for weights in zip(before, module.parameters(), strict=True))  # nothing was said


def test_what_steps_on_several_batches_really_cost() -> None:
    """Twenty steps on four batches each, at the rate 0.025: 1.097 was certified; and docs/integrations.md."""
    chances = [math.comb(4, k) * 0.025**k * 0.975 ** (4 - k) for k in range(5)]
    lower, upper = composed(chances, 1.0, 20, DELTA)
    assert upper - lower < 0.05
    truth = hs.Plan([hs.Round(hs.MixtureGaussian((0.0, 1.0, 2.0, 3.0, 4.0), tuple(chances), 1.0), count=20)]).epsilon(
        DELTA
    )
    assert lower < truth.lower <= truth.upper < upper
    assert (f"{truth:.5f}", f"{hs.dp_sgd(1.0, 0.025, 20).epsilon(DELTA):.3f}") == ("4.76743", "1.097")
    assert hs.dp_sgd(1.0, 0.1, 20).epsilon(DELTA).upper < lower  # nor does the rate of four batches stand for it


def test_gradients_of_several_backward_passes_are_refused(engine: Any) -> None:
    """Opacus multiplies the rate by them, which is too little."""
    module, optimizer, loader = engine.make_private(**parts(4), noise_multiplier=1.0)
    module.allow_grad_accumulation()
    for features, labels in itertools.islice(loader, 2):
        nn.functional.cross_entropy(module(features), labels).backward()
    with pytest.raises(hs.UnsupportedError, match="this step accumulates 2 batches; a record may be in several"):
        optimizer.step()
    assert engine.accountant.history == []


def test_a_step_that_no_batch_was_drawn_for_is_refused() -> None:
    """On the loader that was given to make_private, which is shuffled; and twice on one batch, by one or two models."""
    engine, given = PrivacyEngine(), parts(20)
    module, optimizer, loader = engine.make_private(**given, noise_multiplier=1.0)
    with pytest.raises(hs.UnsupportedError, match="from another loader than make_private returned"):
        train(module, optimizer, given["data_loader"])
    assert engine.accountant.history == []
    again, other, _ = engine.make_private(**{**parts(), "data_loader": given["data_loader"]}, noise_multiplier=1.0)
    for twice in (module, optimizer), (again, other):
        batches = list(itertools.islice(loader, 1))
        train(module, optimizer, batches)
        with pytest.raises(hs.UnsupportedError, match="or repeats a batch"):
            train(*twice, batches)
    assert engine.accountant.history == [(1.0, 0.05, 2)]


@pytest.mark.parametrize("drawn", [iter, list], ids=["one by one", "ahead, as workers do"])
def test_a_pass_that_is_left_within_a_batch_leaves_no_gradients_to_the_next(drawn: Any) -> None:
    """They would be added to those of another batch, perhaps of the same record, below one noise."""
    given = shuffled(4, batch_size=8)
    engine = PrivacyEngine()
    module, optimizer, loader = engine.make_private(**given, noise_multiplier=1.0)
    with BatchMemoryManager(data_loader=loader, max_physical_batch_size=1, optimizer=optimizer) as pieces:
        train(module, optimizer, drawn(pieces), 1)
        with pytest.raises(hs.UnsupportedError, match=r"await their step.*make_private again"):
            train(module, optimizer, pieces)
    assert engine.accountant.history == []
    given = {**given, "module": module, "optimizer": optimizer}
    module, optimizer, loader = engine.make_private(**given, noise_multiplier=1.0)
    train(module, optimizer, loader)
    assert engine.accountant.history == [(1.0, 0.5, 2)]


@pytest.mark.filterwarnings("default:the loader was not checked")
def test_a_loader_that_nobody_looked_at_has_no_certified_number() -> None:
    """Their engine does not say that batches are shuffled: 1.027 for what costs 5.2 and more.

    One large sum tells nearly as much: the record moves one of the 40 sums by 2 C, where the others of its batch are
    opposed. A sum above c comes with at least the normal tail at (c - 2) / noise where the record is there, and with at
    most 40 times that at c / noise where it is not.
    """

    def tail(z: float) -> float:
        return math.erfc(z / math.sqrt(2)) / 2

    engine = opacus.PrivacyEngine(accountant="hockeystick")
    module, optimizer, loader = engine.make_private(**shuffled(40), noise_multiplier=1.1, poisson_sampling=False)
    assert train(module, optimizer, loader) == 40
    with pytest.warns(UserWarning, match="the loader was not checked.*opacus.PrivacyEngine checks it"):
        bound = engine.accountant.bound(DELTA)
    assert str(bound) == "1.02744 to 1.02745 (if batches are Poisson)"
    for adjacency in ("add-or-remove", "replace-one"):
        ran = hs.Round(hs.Gaussian(1.1), hs.Shuffled(batch_size=4, dataset_size=160))
        assert bound.upper < 0.2 * hs.Plan([ran], adjacency).epsilon(DELTA).ends["lower"]
    assert max(math.log((tail((c - 2) / 1.1) - DELTA) / (40 * tail(c / 1.1))) for c in (5.8, 6.0, 6.2, 6.4)) > 4.8


def test_a_loader_that_was_looked_at_has_a_certified_number() -> None:
    """Also after its state has gone through a checkpoint; a state of an unseen loader stays one."""
    engine = PrivacyEngine()
    module, optimizer, loader = engine.make_private(**parts(8), noise_multiplier=1.0)
    train(module, optimizer, loader)
    assert engine.accountant.bound(DELTA).guarantee == "certified"
    again = PrivacyEngine()
    again.accountant.load_state_dict(engine.accountant.state_dict())
    assert again.accountant.bound(DELTA).guarantee == "certified"
    unseen = HockeystickAccountant()
    unseen.load_state_dict(engine.accountant.state_dict())
    assert not unseen.checked
    again.accountant.load_state_dict(unseen.state_dict())
    assert not again.accountant.checked


def test_a_sampler_that_is_replaced_is_named() -> None:
    """Batches of 16 by weight become Poisson batches of a quarter of the data set."""
    data = parts(50)["data_loader"].dataset
    for sampler, name in (
        (WeightedRandomSampler(torch.ones(200), num_samples=64), "WeightedRandomSampler"),
        (SubsetRandomSampler(range(64)), "SubsetRandomSampler"),
        (RandomSampler(data, num_samples=64), "RandomSampler"),
    ):
        found = {**parts(50), "data_loader": DataLoader(data, batch_size=16, sampler=sampler)}
        with pytest.warns(UserWarning, match=f"replaces {name} by Poisson batches of all 200 records, 50 on average"):
            PrivacyEngine().make_private(**found, noise_multiplier=1.0)


def one_of_two(rank: int, folder: str, size: int) -> None:
    """What one of two processes that train together draws and records; its loss is 0, so that it learns noise alone."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    given = parts(size)
    given["module"] = DifferentiallyPrivateDistributedDataParallel(given["module"])
    given["optimizer"] = torch.optim.SGD(given["module"].parameters(), lr=1.0)
    data = given["data_loader"].dataset
    given["data_loader"] = DataLoader(data, batch_size=size, sampler=DistributedSampler(data))
    engine = PrivacyEngine()
    module, optimizer, loader = engine.make_private(**given, noise_multiplier=1.1)
    drawn: list[list[int]] = []
    moved = []
    for features, labels in loader:
        drawn.append([data.tensors[0].tolist().index(row) for row in features.tolist()])
        before = nn.utils.parameters_to_vector(module.parameters()).detach()
        optimizer.zero_grad()
        (0 * nn.functional.cross_entropy(module(features), labels)).backward()
        optimizer.step()
        moved.append(nn.utils.parameters_to_vector(module.parameters()).detach() - before)
    torch.save((engine.accountant.history, engine.get_epsilon(DELTA), drawn, moved), f"{folder}/{rank}")


def test_two_processes_draw_poisson_batches_together_and_each_has_their_epsilon(tmp_path: Path) -> None:
    """Two batches a pass of 400 records: each draws from a half of its own, and the noise of a step is added once."""
    start_processes(one_of_two, (str(tmp_path), 100), nprocs=2, start_method="fork")
    mine, other = (torch.load(tmp_path / str(rank)) for rank in range(2))
    assert mine[0] == other[0] == [(1.1, 0.5, 2)]
    assert mine[1] == other[1] == hs.dp_sgd(1.1, 0.5, 2).epsilon(DELTA).upper
    seen, others = ({record for step in drawn for record in step} for drawn in (mine[2], other[2]))
    assert not seen & others
    assert all(80 < len(a) + len(b) < 320 for a, b in zip(mine[2], other[2], strict=True))
    for a, b in zip(mine[3], other[3], strict=True):
        assert torch.equal(a, b)
        assert 0.75 < float(a.std()) / (1.1 / 200) < 1.25  # one noise of 1.1 C on a sum over 200 records


def test_empty_shares_of_batches_which_opacus_leaves_out_are_refused() -> None:
    """A share of a batch that is there if it is not empty has a record more often than the rate says."""
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        given = parts(4)
        given["module"] = DifferentiallyPrivateDistributedDataParallel(given["module"])
        given["optimizer"] = torch.optim.SGD(given["module"].parameters(), lr=0.1)
        given["data_loader"] = DataLoader(given["data_loader"].dataset, batch_size=1)
        made = PrivacyEngine().make_private(**given, noise_multiplier=1.1)
        with pytest.raises(hs.UnsupportedError, match=r"of the 16 batch shares .* were empty"):
            train(*made)
    finally:
        torch.distributed.destroy_process_group()


def shuffled(batches: int = BATCHES, **more: Any) -> dict[str, Any]:
    """A model, an optimiser and a loader that shuffles."""
    found = parts(batches)
    settings = {"batch_size": 4, "shuffle": True, **more}
    return {**found, "data_loader": DataLoader(found["data_loader"].dataset, **settings)}


@pytest.mark.parametrize("adjacency", ["add-or-remove", "add", "remove", "replace-one"])
def test_no_number_for_a_loader_of_which_nothing_is_proven(adjacency: str) -> None:
    """A record more moves the others to other batches; with a full last batch it is a step more."""
    engine, asked = PrivacyEngine(adjacency=adjacency), {"poisson_sampling": False}
    message = r"poisson_sampling=False is not supported.*dp_sgd\(sampling='shuffled'\).*leave poisson_sampling out"
    with pytest.raises(hs.UnsupportedError, match=message) as caught:
        engine.make_private(**shuffled(3), noise_multiplier=1.0, **asked)
    assert "\n" not in str(caught.value)
    with pytest.raises(hs.UnsupportedError, match=message):
        engine.make_private_with_epsilon(**shuffled(3), target_epsilon=3.0, target_delta=DELTA, epochs=1, **asked)
    earlier = {"history": [(1.0, 1.0, 3)], "mechanism": "hockeystick", "adjacency": adjacency, "unsampled": True}
    with pytest.raises(hs.UnsupportedError, match="the state counts passes over a loader without Poisson sampling"):
        engine.accountant.load_state_dict(earlier)
    assert engine.accountant.history == []


def test_checkpoints_keep_the_adjacency() -> None:
    engine = PrivacyEngine(adjacency="replace-one")
    module, optimizer, loader = engine.make_private(**parts(5), noise_multiplier=1.5)
    train(module, optimizer, loader)
    poisson = hs.dp_sgd(1.5, drawn(0.2), 5, adjacency="replace-one")
    assert engine.get_epsilon(DELTA) == poisson.epsilon(DELTA).upper
    saved = io.BytesIO()
    engine.save_checkpoint(path=saved, module=module, optimizer=optimizer)
    saved.seek(0)
    with pytest.raises(
        hs.InvalidInputError, match="received a state with 'replace-one'; create the engine with adjacency"
    ):
        PrivacyEngine().load_checkpoint(path=saved, module=module, optimizer=optimizer)


def test_without_noise_epsilon_is_infinite() -> None:
    engine = PrivacyEngine()
    module, optimizer, loader = engine.make_private(**parts(3), noise_multiplier=0.0)
    train(module, optimizer, loader)
    assert engine.get_epsilon(DELTA) == math.inf
    bound = engine.accountant.bound(DELTA)
    assert isinstance(bound, hs.Bound)
    assert (bound.lower, bound.upper) == (0.0, math.inf)
    assert bound.reason == "a step has no noise (noise_multiplier 0)"
    with pytest.raises(hs.InvalidInputError, match="history entry 1: noise_multiplier must be greater than 0"):
        _ = engine.accountant.plan


def test_nothing_run_has_cost_nothing() -> None:
    assert HockeystickAccountant().get_epsilon(DELTA) == 0.0
    assert len(HockeystickAccountant()) == 0


def test_arguments_of_other_accountants_are_taken() -> None:
    accountant = HockeystickAccountant()
    accountant.step(noise_multiplier=1.0, sample_rate=0.1)
    asked = [accountant.get_epsilon(DELTA, alphas=[2, 3]), accountant.get_epsilon(DELTA, eps_error=0.1, poisson=True)]
    assert asked == [accountant.get_epsilon(DELTA)] * 2
    with pytest.raises(hs.UnsupportedError, match="poisson must be True"):
        accountant.get_epsilon(DELTA, poisson=False)


@pytest.mark.parametrize(
    ("noise", "rate", "message"),
    [
        (-1.0, 0.1, "noise_multiplier must be 0 or a number from 0.01 to 1e6 .*received -1.0"),
        (math.nan, 0.1, "noise_multiplier"),
        (1.0, 1.5, "sample_rate must be 1 or a number from 1e-10 to 1 - 1e-6 .*received 1.5"),
        (1.0, 0.0, "sample_rate"),
    ],
)
def test_a_step_outside_its_domain_is_refused(noise: float, rate: float, message: str) -> None:
    accountant = HockeystickAccountant()
    with pytest.raises(hs.InvalidInputError, match=message):
        accountant.step(noise_multiplier=noise, sample_rate=rate)
    assert accountant.history == []


def test_noise_may_come_in_a_tensor() -> None:
    accountant = HockeystickAccountant()
    accountant.step(noise_multiplier=torch.tensor(1.5), sample_rate=0.1)  # type: ignore[arg-type, unused-ignore]
    assert accountant.history == [(1.5, 0.1, 1)]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (None, "must be a mapping with the keys 'history' and 'mechanism'; received None"),
        ({"history": []}, "'mechanism'"),
        ({"history": [], "mechanism": "rdp"}, "received 'rdp'.*assign state\\['history'\\] to accountant.history"),
        ({"history": 3, "mechanism": "hockeystick"}, "history must be a list"),
        ({"history": [(1.0, 0.1)], "mechanism": "hockeystick"}, "history entry 1 must be .noise_multiplier"),
        ({"history": [(1.0, 0.1, 1), (1.0, 7, 1)], "mechanism": "hockeystick"}, "history entry 2: sample_rate"),
        ({"history": [(1.0, 0.1, 0.5)], "mechanism": "hockeystick"}, "history entry 1: steps must be a whole number"),
        ({"history": [], "mechanism": "hockeystick", "adjacency": "replace-one"}, "a state with 'replace-one'"),
        ({"history": [], "mechanism": "hockeystick", "checked": 1}, "checked must be true or false; received 1"),
    ],
)
def test_a_state_that_is_none_is_refused_whole(state: Any, message: str) -> None:
    accountant = HockeystickAccountant()
    accountant.step(noise_multiplier=1.0, sample_rate=0.5)
    with pytest.raises(ValueError, match=message) as caught:
        accountant.load_state_dict(state)
    assert isinstance(caught.value, hs.InvalidInputError)
    assert "\n" not in str(caught.value)
    assert accountant.history == [(1.0, 0.5, 1)]


def test_another_accountant_is_for_their_engine() -> None:
    with pytest.raises(hs.InvalidInputError, match="accountant must be 'hockeystick'; received 'rdp'"):
        PrivacyEngine(accountant="rdp")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"target_epsilon": 0.0}, "target_epsilon must be a finite number greater than 0"),
        ({"target_delta": 1.0}, "delta must be a number, at least 1e-300 and less than 1"),
        ({"epochs": 0}, "epochs must be a finite number greater than 0"),
    ],
)
def test_targets_outside_their_domain_are_refused(changed: dict[str, float], message: str) -> None:
    kwargs = {"target_epsilon": 1.0, "target_delta": DELTA, "epochs": 1, **changed}
    with pytest.raises(hs.InvalidInputError, match=message):
        PrivacyEngine().make_private_with_epsilon(**parts(3), **kwargs)


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0, 40.0])
@pytest.mark.parametrize(("rate", "steps"), [(1.0, 3), (0.01, 1000), (0.2, 50)])
def test_the_noise_meets_the_target_and_just_less_misses_it(epsilon: float, rate: float, steps: int) -> None:
    noise = least_noise_multiplier(epsilon, DELTA, rate, steps, hs.Plan([]))
    assert hs.dp_sgd(noise, rate, steps).epsilon(DELTA).upper <= epsilon
    assert hs.dp_sgd(noise * (1 - 2 * TOLERANCE), rate, steps).epsilon(DELTA).upper > epsilon
