"""Threefry-2x32, 20 rounds, in NumPy (Salmon et al. 2011), and the words that our keys and sites give.

The reference for known-answer tests: written from the paper, with the test vectors of its authors' Random123.
"""

from __future__ import annotations

import hashlib

import numpy as np

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = np.uint32(0x1BD11BDA)


def rotate(x: np.ndarray, by: int) -> np.ndarray:
    return (x << np.uint32(by)) | (x >> np.uint32(32 - by))


def threefry(key: tuple[int, int], counters: np.ndarray) -> np.ndarray:
    """`counters` [n, 2] of uint32 → [n, 2]."""
    with np.errstate(over="ignore"):
        keys = [np.uint32(key[0]), np.uint32(key[1])]
        keys.append(keys[0] ^ keys[1] ^ PARITY)
        a, b = counters[:, 0] + keys[0], counters[:, 1] + keys[1]
        for group in range(5):
            for by in ROTATIONS[group % 2]:
                a = a + b
                b = rotate(b, by) ^ a
            a = a + keys[(group + 1) % 3]
            b = b + keys[(group + 2) % 3] + np.uint32(group + 1)
    return np.stack([a, b], 1)


def _halves(value: int) -> tuple[int, int]:
    """Low word first: how a 64-bit key or counter enters the cipher."""
    return value & 0xFFFFFFFF, value >> 32


def block(key: int, counter: int) -> int:
    """One block as a 64-bit number, the first word the low one."""
    low, high = threefry(_halves(key), np.array([_halves(counter)], np.uint32))[0]
    return int(low) | int(high) << 32


def words(key: int, start: int, count: int) -> np.ndarray:
    """`count` words from the block of counter `start` on."""
    blocks = (count + 1) // 2
    counters = np.array([_halves((start + i) % 2 ** 64) for i in range(blocks)], np.uint32)
    return threefry(_halves(key), counters).reshape(-1)[:count]


def run_key(seed: int, step: int, microbatch: int, rank: int) -> int:
    return block(block(seed, step), rank << 32 | microbatch)


def site_words(key: int, domain: int, site: int, count: int) -> np.ndarray:
    return words(key, (domain << 20 | site) << 32, count)


def initialiser_key(seed: int, name: str) -> int:
    digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
    return block(seed, int.from_bytes(digest, "little") | 1 << 63)
