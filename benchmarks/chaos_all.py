"""Everything that tries to break a run, in one go (`make chaos`): 15 minutes of processor time.

The parts are programs of their own. Each prints what it tried, and as its last line a JSON object of counts: tried,
held, broken. Finished parts are kept in ``benchmarks/results/chaos.json``; interrupted, or stopped by ``--minutes``,
the next call goes on with the first part that is missing, while the package is the same. ``--short`` tries a sample,
``--again`` begins anew, ``--table`` prints what is known. Exits with 1 when something broke or did not end well.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "chaos.json"
TESTS = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/adversarial")
PARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "bad input": (("tests/adversarial/attempts.py",), ("tests/adversarial/attempts.py",)),
    "exchanged values": (("tests/adversarial/fuzz.py",), ("tests/adversarial/fuzz.py", "4")),
    "integrity": (("benchmarks/integrity.py",), ("benchmarks/integrity.py", "--flips", "250", "--honest", "25")),
    "failing calls and power": (("benchmarks/chaos_faults.py",), ("benchmarks/chaos_faults.py", "--short")),
    "kills": (("benchmarks/chaos.py",), ("benchmarks/chaos.py", "--scale", "1")),
    "the tests of tests/adversarial": (TESTS, TESTS),
}
"""Name: the long form and the sample."""


def code() -> str:
    """A hash of the package: what was tried on another one does not count."""
    found = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def earlier(form: str, *, again: bool) -> dict[str, dict[str, Any]]:
    """Parts of an interrupted sitting of the same form on the same package; nothing after a complete one."""
    if again or not RESULTS.exists():
        return {}
    body = json.loads(RESULTS.read_text(encoding="utf-8"))
    same = body["form"] == form and body["code"] == code() and set(body["parts"]) != set(PARTS)
    return dict(body["parts"]) if same else {}


def run(arguments: tuple[str, ...]) -> dict[str, Any]:
    """Run one part; return its counts. A part that ends without any, or badly, is itself broken."""
    environment = os.environ | {"PYTHONUNBUFFERED": "1", "GRAPHNETZ_COUNTS": "1"}
    begin = os.times()
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    last = ""
    for line in process.stdout or ():
        if line.strip():
            last = line
        if not line.startswith("{"):
            print(f"  {line}", end="", flush=True)
    ended = process.wait()
    end = os.times()
    minutes = (end.children_user + end.children_system - begin.children_user - begin.children_system) / 60
    try:
        counts = json.loads(last)
    except ValueError:
        counts = {}
    if not counts or (ended != 0 and not any(broken for *_, broken in counts.values())):
        counts["ended badly"] = [1, 0, 1]
    return {"arguments": list(arguments), "processor_minutes": round(minutes, 1), "counts": counts}


def table(body: dict[str, Any]) -> str:
    """What was tried, held and broke, with totals."""
    lines = ["| part | what | tried | held | broken |", "|---|---|---|---|---|"]
    total = [0, 0, 0]
    for part, told in body["parts"].items():
        for name, counts in told["counts"].items():
            lines.append(f"| {part} | {name} | " + " | ".join(f"{count:,}" for count in counts) + " |")
            total = [a + b for a, b in zip(total, counts, strict=True)]
    lines.append("| **total** | | " + " | ".join(f"**{count:,}**" for count in total) + " |")
    minutes = sum(told["processor_minutes"] for told in body["parts"].values())
    missing = [name for name in PARTS if name not in body["parts"]]
    end = f"not tried yet: {', '.join(missing)}" if missing else f"{minutes:.0f} minutes of processor time"
    lines += ["", f"{body['form']} form, {end}", "tried {}, held {}, broken {}".format(*total)]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="a sample of everything")
    parser.add_argument("--again", action="store_true", help="forget what was tried before")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no further part after this time")
    parser.add_argument("--table", action="store_true", help="print what is known, try nothing")
    options = parser.parse_args()
    if options.table:
        print(table(json.loads(RESULTS.read_text(encoding="utf-8"))))
        return 0
    end, form = time.monotonic() + 60 * options.minutes, "short" if options.short else "long"
    body: dict[str, Any] = {"form": form, "code": code(), "parts": earlier(form, again=options.again)}
    for name, forms in PARTS.items():
        if name in body["parts"] or time.monotonic() > end:
            continue
        print(f"{name}: {' '.join(forms[options.short])}", flush=True)
        body["parts"][name] = run(forms[options.short])
        body["parts"] = {part: body["parts"][part] for part in PARTS if part in body["parts"]}
        RESULTS.write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
    print(table(body))
    broken = sum(counts[2] for told in body["parts"].values() for counts in told["counts"].values())
    return int(bool(broken) or len(body["parts"]) < len(PARTS))


if __name__ == "__main__":
    sys.exit(main())
