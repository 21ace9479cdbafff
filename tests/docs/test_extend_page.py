"""The page on extending graphnetz runs as it is printed, in a process of its own."""

import re
import subprocess
import sys
from pathlib import Path

from graphnetz.cli.inspect import REGISTRIES, _registry

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extend.md"
PROOF = """
from graphnetz import audit
from graphnetz.rings import PERTURBATIONS, perturb
from graphnetz.selection import meta_features
from graphnetz.datasets import list_datasets
graph = two_rings()
assert not [r for r in report.results if not r.ok]
assert report.task_info["two_rings"].replication == "resplit"
assert not any("fresh data" in verdict.text for verdict in report.verdicts())
assert bool((perturb(graph, "doubled").x == 2 * graph.x).all())
assert meta_features(graph, set="compact+squared_degree").shape == (58 + 63,)
assert SELECTORS["median"]().fit([[0.1, 0.9], [0.2, 0.8]], [[1.0], [2.0]]).predict([[3.0]]).argmax() == 1
assert "two_rings" in str(list_datasets())
flat = two_rings(); flat.x[:, 0] = 1.0
from graphnetz import task_from_dataset
found = [f for f in audit(task_from_dataset("flat", "node_cls", flat)) if f.check == "constant feature"]
assert len(found) == 1, found
from graphnetz.metrics import METRICS
assert METRICS["top2"].compute(np.array([2]), np.array([[0.1, 0.5, 0.4]])) == 1.0
print("all there")
"""


def test_the_page_runs(tmp_path):
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.S | re.M))
    (tmp_path / "page.py").write_text(code + PROOF, encoding="utf-8")
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith("0.0625")
    assert "all there" in done.stdout


def test_the_page_names_every_registry_with_its_list_and_group():
    text = PAGE.read_text(encoding="utf-8")
    for name in REGISTRIES:
        group = _registry(name).group
        assert f"| `{name}` | {f'`{group}`' if group else 'none: add to it in code'} |" in text
