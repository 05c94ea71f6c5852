"""Zero-concentrated differential privacy: numbers rho such that ``K(t) <= t (1 + t) rho`` for all t > 0.

K is the log-moment of ``moment.py``. In terms of the Renyi divergence, ``D_alpha(P || Q) <= alpha rho`` for all alpha >
1 (Bun, Steinke 2016 [BS16], Definition 1.1). No rho is below the Kullback-Leibler divergence K'(0). In the first two
cases below, rho equals this divergence.

**Losses in [-epsilon, epsilon].** Proposition 3.3 of [BS16] gives ``rho = epsilon^2/2``; the least rho is ``epsilon
tanh(epsilon/2)``. The worst law with such losses has two outcomes (``black_box.py``). It has ``K = log cosh(s y) - log
cosh(y)``, with ``y = epsilon/2``, ``s = 1 + 2t``. The derivative of K with respect to u = s^2 is ``y tanh(sqrt(u) y) /
(2 sqrt(u))``, which falls in u. So K is concave in u, hence at most ``(u - 1) y tanh(y)/2``, and ``u - 1 = 4 t (1 +
t)``.

**Laplace.** ``rho = theta - 1 + e^-theta``. Here ``K = -y + log(cosh(s y) + sinh(s y)/s)``, ``y = theta/2``. The
argument of the logarithm is an entire function of u = s^2 of order 1/2. It vanishes at u = -v^2 where ``v cos(v y) +
sin(v y) = 0``. Then ``f(x) = sin(v x)`` solves ``-f'' = v^2 f, f(0) = 0, f'(y) + f(y) = 0``, a self-adjoint problem
that has only positive eigenvalues v^2. So all roots u are real and negative, and the function is a constant times
``prod (1 + u/v_n^2)`` (Hadamard). Its logarithm is therefore concave in u, and K is at most ``(u - 1) K_u = t (1 + t)
K'(0)``, with K_u the derivative at u = 1.

**Losses at most b.** ``D_alpha <= D_inf <= b``, so ``rho = b``.

**Sampling.** At the sampling rate q and with the likelihood ratio Lambda of the round itself, the sampled round has the
likelihood ratio ``g = 1 - q + q Lambda``. The moments are means of ``g^(1+t)`` or of ``g^(-t)``, which are convex in g,
so that a sampled round has at most the rho of the round itself (in the same direction). For Gaussian noise the sampled
round has no smaller rho: as alpha grows, the largest outcomes determine the moment. It is known that sampling does not
amplify concentrated privacy (Bun, Dwork, Rothblum, Steinke 2018 [BDRS18], Section 1).
"""

from __future__ import annotations

import math

import numpy as np

from hockeystick.numerics.logarithm import exp_beyond_first
from hockeystick.pairs.moment import rounded_up


def gaussian(mu: float) -> float:
    """Return the rho of unsampled Gaussian noise, ``mu^2 / 2``, rounded up."""
    return rounded_up(0.5 * mu * mu)


def mutual(epsilon: float) -> float:
    """Return the rho of a pair whose losses all lie in [-epsilon, epsilon], none of them infinite under either law."""
    return rounded_up(epsilon * math.tanh(0.5 * epsilon))


def laplace(theta: float) -> float:
    """Return the least rho of unsampled Laplace noise, ``theta - 1 + e^-theta``, rounded up."""
    return rounded_up(float(exp_beyond_first(np.array([-theta]))[0]))
