"""Rates, sizes, times and percentages in the notation of scenarios.

Each function takes a number and returns text, exact and without an exponent:

    >>> mbit(100)
    '100 Mbit/s'

Text such as "100 Mbit/s" works as well, in any spelling that a scenario accepts.
"""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Integral, Real


class Rate(str):
    """A rate, such as "500 Mbit/s"."""

    __slots__ = ()


class Size(str):
    """A number of bytes, such as "512 KiB"."""

    __slots__ = ()


class Time(str):
    """A span of time, such as "10 ms"."""

    __slots__ = ()


def bit(rate: float | Decimal) -> Rate:
    """Returns a rate in bit/s.

    >>> bit(9600)
    '9600 bit/s'
    """
    return Rate(_quantity(rate, "bit/s", "bit(9600)"))


def kbit(rate: float | Decimal) -> Rate:
    """Returns a rate in kbit/s: thousands of bits per second.

    >>> kbit(64)
    '64 kbit/s'
    """
    return Rate(_quantity(rate, "kbit/s", "kbit(64)"))


def mbit(rate: float | Decimal) -> Rate:
    """Returns a rate in Mbit/s: millions of bits per second.

    >>> mbit(0.1)
    '0.1 Mbit/s'
    """
    return Rate(_quantity(rate, "Mbit/s", "mbit(100)"))


def gbit(rate: float | Decimal) -> Rate:
    """Returns a rate in Gbit/s: thousands of millions of bits per second.

    >>> gbit(2.5)
    '2.5 Gbit/s'
    """
    return Rate(_quantity(rate, "Gbit/s", "gbit(2.5)"))


def byte(size: float | Decimal) -> Size:
    """Returns a size in bytes.

    >>> byte(1500)
    '1500 B'
    """
    return Size(_quantity(size, "B", "byte(1500)"))


def kb(size: float | Decimal) -> Size:
    """Returns a size in kB: 1000 bytes each.

    >>> kb(20)
    '20 kB'
    """
    return Size(_quantity(size, "kB", "kb(20)"))


def mb(size: float | Decimal) -> Size:
    """Returns a size in MB: 1000² bytes each.

    >>> mb(32)
    '32 MB'
    """
    return Size(_quantity(size, "MB", "mb(32)"))


def gb(size: float | Decimal) -> Size:
    """Returns a size in GB: 1000³ bytes each.

    >>> gb(1.5)
    '1.5 GB'
    """
    return Size(_quantity(size, "GB", "gb(1.5)"))


def kib(size: float | Decimal) -> Size:
    """Returns a size in KiB: 1024 bytes each.

    >>> kib(512)
    '512 KiB'
    """
    return Size(_quantity(size, "KiB", "kib(512)"))


def mib(size: float | Decimal) -> Size:
    """Returns a size in MiB: 1024² bytes each.

    >>> mib(4)
    '4 MiB'
    """
    return Size(_quantity(size, "MiB", "mib(4)"))


def gib(size: float | Decimal) -> Size:
    """Returns a size in GiB: 1024³ bytes each.

    >>> gib(1)
    '1 GiB'
    """
    return Size(_quantity(size, "GiB", "gib(1)"))


def ns(time: float | Decimal) -> Time:
    """Returns a time in nanoseconds.

    >>> ns(672)
    '672 ns'
    """
    return Time(_quantity(time, "ns", "ns(672)"))


def us(time: float | Decimal) -> Time:
    """Returns a time in microseconds.

    >>> us(500)
    '500 us'
    """
    return Time(_quantity(time, "us", "us(500)"))


def ms(time: float | Decimal) -> Time:
    """Returns a time in milliseconds.

    >>> ms(10)
    '10 ms'
    """
    return Time(_quantity(time, "ms", "ms(10)"))


def seconds(time: float | Decimal) -> Time:
    """Returns a time in seconds.

    >>> seconds(300)
    '300 s'
    """
    return Time(_quantity(time, "s", "seconds(300)"))


def percent(share: float | Decimal) -> str:
    """Returns a share in percent.

    >>> percent(0.01)
    '0.01 %'
    """
    return _quantity(share, "%", "percent(5)")


def _quantity(number: float | Decimal, unit: str, example: str) -> str:
    # The abstract types include numpy's numbers. A bool is an int in Python, but not a quantity.
    if isinstance(number, bool) or not isinstance(number, Integral | Real | Decimal):
        raise TypeError(f"{number!r} is a {type(number).__name__}: give an int or a float, such as {example}")
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"{number!r} {unit}: give a finite number that is not negative, such as {example}")
    return f"{_digits(number)} {unit}"


def _digits(number: float | Decimal) -> str:
    """Returns the shortest decimal digits of the number, without an exponent."""
    if isinstance(number, Integral):
        return str(int(number))
    exact = number if isinstance(number, Decimal) else Decimal(repr(float(number)))
    digits = f"{abs(exact):f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits
