"""Loaders of PyTorch: batches drawn by a scheme, empty ones among them, and what a loader is seen to do."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import pytest
import torch
from opacus.data_loader import DPDataLoader
from torch import nn
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)

from hockeystick import (
    Gaussian,
    InvalidInputError,
    Plan,
    Poisson,
    Round,
    Shuffled,
    UnsupportedError,
    WithoutReplacement,
)
from hockeystick.integrations.batches import FixedSizeBatches, PoissonBatches
from hockeystick.integrations.torch import loader, scheme_of

DATA = TensorDataset(torch.arange(20.0).reshape(10, 2), torch.arange(10))


def test_a_loader_gives_the_records_of_the_batches() -> None:
    wanted = list(PoissonBatches(10, batch_size=3, seed=4))
    found = [labels.tolist() for _, labels in loader(DATA, PoissonBatches(10, batch_size=3, seed=4))]
    assert found == wanted
    assert len(loader(DATA, PoissonBatches(10, batch_size=3))) == 4


def test_an_empty_batch_is_one_without_rows() -> None:
    rare = PoissonBatches(10, sample_rate=1e-9, steps=3)
    assert [tuple(features.shape) for features, _ in loader(DATA, rare)] == [(0, 2)] * 3
    Row = namedtuple("Row", ["x", "y"])

    class Rows(Dataset[Any]):
        def __len__(self) -> int:
            return 10

        def __getitem__(self, index: int) -> Any:
            return {"row": Row(torch.zeros(3), index), "text": "abc", "pair": [torch.ones(2), 1.5]}

    (batch,) = loader(Rows(), PoissonBatches(10, sample_rate=1e-9, steps=1))
    assert batch["row"].x.shape == (0, 3)
    assert batch["row"].y.shape == (0,)
    assert batch["text"] == []
    assert [tuple(item.shape) for item in batch["pair"]] == [(0, 2), (0,)]
    with pytest.raises(InvalidInputError, match="collate_fn that returns tensors"):
        next(iter(loader(DATA, rare, collate_fn=lambda records: len(records))))


def test_a_data_set_of_another_size_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="drawn from 9 records, but the dataset has 10"):
        loader(DATA, PoissonBatches(9, batch_size=3))


def test_training_over_batches_and_what_it_costs() -> None:
    """Clipped, summed, noised by hand: an empty batch is a step, and the plan is the sampler's scheme."""
    torch.manual_seed(0)
    batches = PoissonBatches(10, batch_size=2, seed=1)
    model = nn.Linear(2, 1)
    steps = 0
    for _ in range(3):
        for features, labels in loader(DATA, batches):
            total = [torch.zeros_like(weight) for weight in model.parameters()]
            for row, label in zip(features, labels, strict=True):
                gradients = torch.autograd.grad((model(row) - label).pow(2).sum(), list(model.parameters()))
                norm = torch.sqrt(sum((g.pow(2).sum() for g in gradients), torch.tensor(0.0)))
                total = [t + g / max(1.0, float(norm)) for t, g in zip(total, gradients, strict=True)]
            with torch.no_grad():
                for weight, t in zip(model.parameters(), total, strict=True):
                    weight -= 0.01 * (t + 2.0 * torch.randn_like(t)) / 2
            steps += 1
    done = Round(Gaussian(2.0), batches.sampling, epochs=3)
    assert done.count == steps == 15


@pytest.mark.parametrize(
    ("made", "scheme", "parameters", "sampling"),
    [
        (loader(DATA, PoissonBatches(10, batch_size=3)), "poisson", {"batch_size": 3, "dataset_size": 10}, Poisson),
        (
            loader(DATA, FixedSizeBatches(10, 3)),
            "without-replacement",
            {"batch_size": 3, "dataset_size": 10},
            WithoutReplacement,
        ),
        (DPDataLoader.from_data_loader(DataLoader(DATA, batch_size=2)), "poisson", {"sample_rate": 0.2}, Poisson),
        (DataLoader(DATA, batch_size=3), "shuffled", {"batch_size": 3, "dataset_size": 10}, Shuffled),
        (DataLoader(DATA, batch_size=3, shuffle=True), "shuffled", {"batch_size": 3, "dataset_size": 10}, Shuffled),
        (
            DataLoader(DATA, batch_size=3, sampler=SubsetRandomSampler(range(7))),
            "shuffled",
            {"batch_size": 3, "dataset_size": 7},
            Shuffled,
        ),
        (
            DataLoader(DATA, batch_size=3, sampler=RandomSampler(DATA, replacement=True)),
            "with-replacement",
            {"draws": 3, "dataset_size": 10},
            None,
        ),
        (
            DataLoader(DATA, batch_size=3, sampler=WeightedRandomSampler([1.0, 3.0] * 5, 10)),
            "with-replacement",
            {"draws": 3, "weight": 0.15},
            None,
        ),
    ],
)
def test_what_a_loader_does(made: Any, scheme: str, parameters: dict[str, Any], sampling: Any) -> None:
    found = scheme_of(made)
    assert found.name == scheme
    assert found.keys() == pytest.approx(parameters)
    assert sampling is None or isinstance(found, sampling)


@pytest.mark.parametrize(
    "made",
    [
        DataLoader(DATA, batch_size=3, sampler=WeightedRandomSampler([1.0] * 10, 10, False)),
        DataLoader(DATA, batch_size=3, sampler=RandomSampler(DATA, num_samples=5)),
        DataLoader(DATA, batch_size=None, shuffle=True),
        DataLoader(DATA, batch_sampler=[[0, 1], [2]]),
    ],
)
def test_a_loader_of_no_known_scheme_is_refused(made: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"no sampling scheme is known for batches from"):
        scheme_of(made)


def test_classes_of_ones_own_are_not_believed() -> None:
    """Neither a subclass, which may do anything, nor one that is called like a sampler of Opacus."""

    class UniformWithReplacementSampler(BatchSampler):
        sample_rate = 0.1

    class Mine(RandomSampler):
        pass

    class Stream(IterableDataset[int]):
        def __iter__(self) -> Any:
            return iter(range(3))

    for made in (
        DataLoader(DATA, batch_sampler=UniformWithReplacementSampler(RandomSampler(DATA), 3, drop_last=False)),
        DataLoader(DATA, batch_size=3, sampler=Mine(DATA)),
        DataLoader(Stream(), batch_size=2),
    ):
        with pytest.raises(UnsupportedError, match=r"no sampling scheme is known"):
            scheme_of(made)
    with pytest.raises(InvalidInputError, match=r"DataLoader; received list"):
        scheme_of([1])


def test_records_in_the_order_of_the_data_set_are_no_unsampled_round_where_one_is_added() -> None:
    """The others move to other batches then, so that one round an epoch would be too little."""
    rounds = [Round(Gaussian(2.0), scheme_of(DataLoader(DATA, batch_size=4)), epochs=3)]
    replaced, changed = (Plan(rounds, adjacency).epsilon(1e-5) for adjacency in ("replace-one", "add-or-remove"))
    assert replaced.upper == pytest.approx(Plan([Round(Gaussian(2.0), count=3)], "replace-one").epsilon(1e-5).upper)
    assert any("the order is uniformly random and redrawn every epoch" in item for item in changed.assumptions)
