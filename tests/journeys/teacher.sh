# A teacher sets one task for a class, lets everybody bring a model, and wants one honest table.
# Written from README.md ("I teach") and docs/guide.md ("Settings", "Bring your model").

cat > class.toml <<'END'
task = ["karate_club"]
seeds = 3
epochs = 20
END

# What two students hand in: a file each.
for student in "ann Ann GCNConv" "ben Ben SAGEConv"; do
  set -- $student
  cat > $1.py <<END
import torch
from torch_geometric.nn import $3


class $2(torch.nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.conv1 = $3(in_channels, hidden_channels)
        self.conv2 = $3(hidden_channels, out_channels)

    def forward(self, x, edge_index):
        return self.conv2(self.conv1(x, edge_index).relu(), edge_index)
END
done

graphnetz check ben.py:Ben --task-type node_cls
graphnetz run class.toml --model ann.py:Ann --model Majority --out runs/ann --quiet
graphnetz run class.toml --model ben.py:Ben --model Majority --out runs/ben --quiet
graphnetz reproduce runs/ben --model ben.py:Ben --sample 2
graphnetz leaderboard runs/ann runs/ben --title "Our class" --out site

# Reached: one page with everybody on it.
grep -q Ann site/index.html
grep -q Ben site/index.html
