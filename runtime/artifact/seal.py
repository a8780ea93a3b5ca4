"""The seal: 64 bytes at the end of an artifact that tell whether the bytes before them are whole.

IREE trusts the flatbuffer and the machine code it loads, so a damaged file must be caught before it gets there. A
`.vmfb` is a ZIP archive that is read through offsets from its start; IREE ignores what follows it (a test holds it to
that), and so a seal can stand behind. It guards against damage, not malice: an artifact is a program, and running one
means trusting who built it.

    16 bytes  magic
     8 bytes  length of everything before the seal, little-endian
    32 bytes  SHA-256 of everything before the seal
     8 bytes  zero
"""

from __future__ import annotations

import hashlib
from enum import Enum
from pathlib import Path

from sexpgpu.runtime.replace import replace_file

MAGIC = b"SEXPGPU-SEAL-1\r\n"
SIZE = 64
ZIP_MAGIC = b"PK\x03\x04"


class Damage(Enum):
    """Why bytes are no sealed artifact."""

    EMPTY = "empty"
    NOT_VMFB = "not a vmfb"
    NO_SEAL = "no seal"
    LENGTH = "length"
    HASH = "hash"


def seal_bytes(data: bytes) -> bytes:
    """`data` (a fresh `.vmfb`) with its seal; sealing sealed bytes again changes nothing."""
    if check(data) is None:
        return data
    return data + MAGIC + len(data).to_bytes(8, "little") + hashlib.sha256(data).digest() + bytes(8)


def seal(path: str | Path) -> None:
    """Seals the file in place: the sealed copy replaces it in one step."""
    path = Path(path)
    replace_file(path, seal_bytes(path.read_bytes()))


def check(data: bytes) -> Damage | None:
    """None where the seal is there and holds."""
    if not data:
        return Damage.EMPTY
    tail = data[-SIZE:]
    sealed = len(data) > SIZE and tail.startswith(MAGIC)
    if not sealed:
        return Damage.NO_SEAL if data.startswith(ZIP_MAGIC) else Damage.NOT_VMFB
    if int.from_bytes(tail[16:24], "little") != len(data) - SIZE or any(tail[56:]):
        return Damage.LENGTH
    if hashlib.sha256(memoryview(data)[:-SIZE]).digest() != tail[24:56]:
        return Damage.HASH
    return None
