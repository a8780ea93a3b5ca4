"""A file that is written whole or not at all."""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path


def replace_file(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Under a temporary name in the same folder, onto the disk, then renamed: a reader sees the old file or the new.

    The new one has the old one's permissions, or those any new file would get. Without `durable` the system writes it
    when it likes, and a crash of the machine may leave an empty file. Raises OSError; nothing is left then.
    """
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=_SUFFIX, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.chmod(temporary, _mode(path))   # mkstemp makes the file private
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


_SUFFIX = ".tmp"


_LEFT = re.compile(rf"\..+\.[a-z0-9_]{{8}}{re.escape(_SUFFIX)}")
"""How `mkstemp` names a file with that prefix and suffix."""


def remove_leftovers(folder: Path) -> None:
    """Takes away what processes that were killed in `replace_file` left in a folder that nobody else writes into."""
    for path in folder.iterdir():
        if _LEFT.fullmatch(path.name):
            with suppress(OSError):
                path.unlink()


def _mode(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
