"""`changes.py ORIGINALS CHANGED`: what became of the programs of a folder, as one diff without dates."""

import difflib
import sys
from pathlib import Path


def main(originals: Path, changed: Path) -> None:
    for path in sorted(changed.glob("*.sexp")):
        before, after = ((folder / path.name).read_bytes().decode(errors="replace").splitlines()
                         for folder in (originals, changed))
        if before != after:
            print(*difflib.unified_diff(before, after, path.name, path.name, n=1, lineterm=""), sep="\n")


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
