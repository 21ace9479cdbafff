# Benchmark maintainer: takes submissions, checks them, keeps a board, and tells catalogues what there is.
# Read: README.md, docs/reliability.md, docs/scale.md, docs/exports.md

# 1. Two people submit runs of the same task; the second trained hers in two parts, without a cluster.
options=(--suite first-default --task sbm_communities --seeds 2 --epochs 3 --quiet)
graphnetz run "${options[@]}" --model MLP --out first
graphnetz run "${options[@]}" --model Majority --shard 1/2 --out parts/1
graphnetz run "${options[@]}" --model Majority --shard 2/2 --out parts/2
graphnetz merge parts/1 parts/2 --out second
graphnetz submit first --out first.zip
graphnetz submit second --out second.zip

# 2. What comes in is checked: digests, every metric from the predictions, and some cells trained again.
graphnetz verify first.zip --retrain 1
graphnetz verify second.zip --retrain 1

# 3. The board says who leads, as places that hold together, and who was verified.
graphnetz leaderboard first.zip second.zip --out board | tee board.txt
grep -q "sbm_communities" board.txt
test -s board/index.html

# 4. Catalogues and other boards read it in their own formats.
graphnetz export croissant cora sbm_communities --out croissant
graphnetz export every-eval-ever first --organisation "Graph Lab" --out eee
grep -q "mlcommons.org/croissant/1.1" croissant/cora.json
grep -q '"evaluation_name": "sbm_communities"' eee/MLP.json
