"""`bless.py EXPECTED ACTUAL`: what `%same` runs under `make bless`. Copies, and says which files changed."""

import sys
from pathlib import Path


def main(expected: Path, actual: Path) -> None:
    text = actual.read_bytes()
    if not expected.exists() or expected.read_bytes() != text:
        expected.write_bytes(text)
        print(f"blessed {expected}", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
