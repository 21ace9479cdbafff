# A student has a model and wants to know whether it is better than what it has to beat.
# Written from README.md ("I have a model") and docs/guide.md ("Bring your model", "Tune").

cat > tiny.py <<'END'
import torch
from torch_geometric.nn import GCNConv


class TinyGCN(torch.nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.conv1 = GCNConv(in_channels, hidden_channels)
        self.conv2 = GCNConv(hidden_channels, out_channels)

    def forward(self, x, edge_index):
        return self.conv2(self.conv1(x, edge_index).relu(), edge_index)
END

graphnetz check tiny.py:TinyGCN
graphnetz run --task karate_club --model tiny.py:TinyGCN --model MLP --model Majority --seeds 3 --epochs 20 --out runs/tiny
graphnetz run --task karate_club --model tiny.py:TinyGCN --model MLP --search default --trials 3 --seeds 3 --epochs 20 --out runs/tuned

# Reached: a report with verdicts, a table for the thesis, and what tuning changed.
test -s runs/tiny/report.html
grep -q TinyGCN runs/tiny/results.tex
grep -q TinyGCN runs/tiny/summary.csv
grep -q '"name": "tuning"' runs/tuned/results.json
