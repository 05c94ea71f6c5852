"""Characteristic functions of privacy losses by rules in mpmath that share nothing with the library."""

from __future__ import annotations

from typing import Any

from mpmath import mp, mpf

from hockeystick.pairs.sampled.gaussian_transform import Kind, MixtureTransform

Mpf = Any


def exact(x: float) -> Mpf:
    """The decimal that a parameter prints as."""
    return mpf(repr(x))


def integrand(law: MixtureTransform, t: float, s: float) -> Any:
    """``phi e^(..)`` at z = t + is."""
    mu, q, z = exact(law.mu), exact(law.rate), mp.mpc(t, s)

    def value(x: Mpf) -> Any:
        g = 1 - q + q * mp.exp(mu * x - mu**2 / 2)
        phi = mp.exp(-(x**2) / 2) / mp.sqrt(2 * mp.pi)
        if law.kind is Kind.REMOVE:
            return phi * g ** (1 + z)
        if law.kind is Kind.ADD:
            return phi * g ** (-z)
        return phi * g ** (1 + z) * (1 - q + q * mp.exp(-mu * x - mu**2 / 2)) ** (-z)

    return value


def trapezoid(law: MixtureTransform, t: float, s: float, dx: Mpf, shift: Mpf | int = 0) -> Any:
    """The rule over all nodes ``shift + j dx`` that count."""
    value = integrand(law, t, s)
    low, high = -16 - law.mu, 16 + law.mu * (2 + (0 if law.kind is Kind.ADD else t))
    first = mp.ceil((low - shift) / dx)
    return dx * mp.fsum(value(shift + (first + j) * dx) for j in range(int((high - low) / dx) + 1))


def moment(law: MixtureTransform, t: float, s: float) -> Any:
    """m(t + is), by a rule so fine that its error is below 1e-20 of m(t)."""
    return trapezoid(law, t, s, mpf(1) / (8 + int(law.mu * (s + 8) / 2)) / 2)


def laplace_moment(theta: float, z: Any) -> Any:
    """By integration over the density of the loss."""
    th = exact(theta)
    atoms = mp.exp(th * z) / 2 + mp.exp(-th * (1 + z)) / 2
    return atoms + mp.quad(lambda x: mp.exp((x - th) / 2 + x * z) / 4, mp.linspace(-th, th, 9))


def off_by(value: complex, error: float, true: Any) -> float:
    """The error of a logarithm in units of its bound; whole turns do not count."""
    difference = mp.mpc(value) - mp.log(true)
    turns = mp.nint(difference.imag / (2 * mp.pi))
    return float(abs(difference - 2j * mp.pi * turns) / error)
