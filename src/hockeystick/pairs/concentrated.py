"""Zero-concentrated differential privacy: a rho with ``K(t) <= t (1 + t) rho`` for all t > 0, K as in ``moment.py``.

In Renyi's terms ``D_alpha(P || Q) <= alpha rho`` for all alpha > 1 (Bun, Steinke 2016 [BS16], Definition
1.1). No rho is below the Kullback-Leibler divergence K'(0); the first two cases below attain it.

**Losses in [-epsilon, epsilon].** Proposition 3.3 there has ``epsilon^2/2``; ``rho = epsilon tanh(epsilon/2)`` is the
least one. The worst such law is binary (``black_box.py``), with ``K = log cosh(s y) - log cosh(y)``, ``y =
epsilon/2``, ``s = 1 + 2t``. As a function of u = s^2 its derivative is ``y tanh(sqrt(u) y) / (2 sqrt(u))``, which falls
in u: K is concave in u, hence at most ``(u - 1) y tanh(y)/2``, and ``u - 1 = 4 t (1 + t)``.

**Laplace.** ``rho = theta - 1 + e^-theta``. Now ``K = -y + log(cosh(s y) + sinh(s y)/s)``, ``y = theta/2``. The sum
in the logarithm is an entire function of u = s^2 of order 1/2. It vanishes at u = -v^2 where ``v cos(v y) + sin(v y) =
0``: then ``f(x) = sin(v x)`` solves ``-f'' = v^2 f, f(0) = 0, f'(y) + f(y) = 0``, a self-adjoint problem with positive
eigenvalues v^2 only. All roots being real and negative, it is a constant times ``prod (1 + u/v_n^2)`` (Hadamard), its
logarithm concave in u, and K at most ``(u - 1) K_u = t (1 + t) K'(0)``.

**Losses at most b.** ``D_alpha <= D_inf <= b``, so ``rho = b``.

**Sampling.** ``g = 1 - q + q Lambda`` enters the moments as ``g^(1+t)`` or ``g^(-t)``, convex in it, so that a sampled
round has at most the rho of the round itself (in the same direction). For Gaussian noise the sampled
round has no smaller rho: as alpha grows, the largest outcomes determine the moment. That concentrated privacy is not
amplified is known (Bun, Dwork, Rothblum, Steinke 2018 [BDRS18], Section 1).
"""

from __future__ import annotations

import math

import numpy as np

from hockeystick.numerics.logarithm import exp_beyond_first
from hockeystick.pairs.moment import rounded_up


def gaussian(mu: float) -> float:
    """The rho of unsampled Gaussian noise, ``mu^2 / 2``, rounded up."""
    return rounded_up(0.5 * mu * mu)


def mutual(epsilon: float) -> float:
    """Return the rho for losses in [-epsilon, epsilon], with no infinite losses under either law."""
    return rounded_up(epsilon * math.tanh(0.5 * epsilon))


def laplace(theta: float) -> float:
    """The least rho of unsampled Laplace noise, ``theta - 1 + e^-theta``, rounded up."""
    return rounded_up(float(exp_beyond_first(np.array([-theta]))[0]))
