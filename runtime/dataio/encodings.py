"""The encodings by name: one table for the compiler, the runtime and the commands."""

from __future__ import annotations

ENCODINGS = ("parquet", "jsonl.gz", "msgpack.zstf", "jsonl", "jsonl.zst", "msgpack", "msgpack.gz", "msgpack.zst")
"""What is read, by the end of a file's name; those that the manual names first."""


def encoding_of(name: str) -> str | None:
    """The encoding that a file's name says."""
    lower = name.lower()
    return next((e for e in sorted(ENCODINGS, key=len, reverse=True) if lower.endswith("." + e)), None)
