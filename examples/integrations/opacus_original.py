"""Train a small model with Opacus to a given epsilon."""

import torch
from opacus import PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS, DELTA = 3, 1e-5

torch.manual_seed(0)
features = torch.randn(1500, 8)
data = TensorDataset(features, (features.sum(dim=1) > 0).long())
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))

engine = PrivacyEngine(accountant="prv")
model, optimizer, loader = engine.make_private_with_epsilon(
    module=model,
    optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
    data_loader=DataLoader(data, batch_size=20),
    target_epsilon=2.0,
    target_delta=DELTA,
    epochs=EPOCHS,
    max_grad_norm=1.0,
)
for _ in range(EPOCHS):
    for inputs, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()

print(f"noise multiplier {optimizer.noise_multiplier:.6f}")
print(f"epsilon {engine.get_epsilon(DELTA):.6f} at delta {DELTA:g}")
