"""Print exact pins at the lowest versions that pyproject.toml declares, for `make minimum`.

``python scripts/minimum_versions.py [--keep torch==2.13.0] [EXTRA ...]``

What is given with ``--keep`` is printed as it is given instead of its floor.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
_FLOOR = re.compile(r"^([A-Za-z0-9._-]+)\s*>=\s*([0-9][0-9a-z.]*)")


def floors(requirements: list[str], keep: dict[str, str] | None = None) -> list[str]:
    """Return ``name==floor`` for every requirement; one without a floor is an error."""
    pins = []
    for requirement in requirements:
        found = _FLOOR.match(requirement)
        if found is None:
            raise SystemExit(f"{requirement!r} in pyproject.toml declares no lowest version: write name>=version.")
        name, version = found.groups()
        pins.append((keep or {}).get(_plain(name), f"{name}=={version}"))
    return pins


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    """Print one pin per line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extras", nargs="*", help="extras whose floors are printed too")
    parser.add_argument("--keep", action="append", default=[], help="a pin that stands instead of the floor")
    options = parser.parse_args()
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(r for e in options.extras for r in project["optional-dependencies"][e])]
    keep = {_plain(pin.split("==")[0]): pin for pin in options.keep}
    print("\n".join(floors(wanted, keep)))


if __name__ == "__main__":
    main()
