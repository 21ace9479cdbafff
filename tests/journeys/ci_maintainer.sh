# CI maintainer: a build must fail when a model of the repository becomes worse, and pass when it does not.
# Read: docs/gate.md

cat > mymodel.py <<'PY'
import torch
from torch_geometric.nn import GCNConv


class Mine(torch.nn.Module):
    task_types = {"node_cls"}

    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.first = GCNConv(in_channels, hidden_channels)
        self.last = GCNConv(hidden_channels, out_channels)

    def forward(self, data):
        return self.last(self.first(data.x, data.edge_index).relu(), data.edge_index)
PY

# 1. Keep the scores of a run that we are content with.
options=(--suite first-default --task sbm_communities --model mymodel.py:Mine --seeds 5 --epochs 15 --quiet)
graphnetz run "${options[@]}" --out runs/good
graphnetz baseline runs/good --out baseline.json

# 2. Nothing changed: the build passes.
graphnetz run "${options[@]}" --out runs/same
graphnetz compare baseline.json runs/same --fail-if-worse --margin 0.01 --junit gate.xml
grep -q 'failures="0"' gate.xml

# 3. Somebody forgets the edges: the build fails, and says by how much.
sed -i.bak 's/self.first(data.x, data.edge_index)/self.first(data.x, data.edge_index[:, :0])/; s/relu(), data.edge_index)/relu(), data.edge_index[:, :0])/' mymodel.py
graphnetz run "${options[@]}" --out runs/worse
code=0
graphnetz compare baseline.json runs/worse --fail-if-worse --margin 0.01 --junit gate.xml --markdown gate.md || code="$?"
test "$code" = 1
grep -q 'failures="1"' gate.xml
grep -q "The gate fails" gate.md

# 4. The same in pytest.
cat > test_gate.py <<'PY'
import pytest


def test_not_worse(assert_not_worse):
    assert_not_worse("baseline.json", "runs/same", margin=0.01)


def test_caught(assert_not_worse):
    with pytest.raises(AssertionError, match="became worse"):
        assert_not_worse("baseline.json", "runs/worse", margin=0.01)
PY
python -m pytest -q -p graphnetz.pytest_plugin test_gate.py
