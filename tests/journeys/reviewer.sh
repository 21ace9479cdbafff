# A reviewer gets the bundle of a paper and wants to know whether its numbers hold.
# Written from README.md ("I review a result") and docs/reliability.md ("Verify").

# What the authors did: a run, packed into one file.
graphnetz run --task karate_club --model GCN --model MLP --seeds 6 --epochs 20 --out runs/paper --quiet
graphnetz submit runs/paper --out paper.zip

# What the reviewer does.
graphnetz verify paper.zip --retrain 4
graphnetz doctor --task karate_club
graphnetz reproduce runs/paper --sample 2
graphnetz plan runs/paper --effect 0.05

# An edited number is noticed.
cp -r runs/paper forged
sed -i.bak 's/"test_acc": 0\./"test_acc": 1./' forged/results.json
if graphnetz report forged 2> refused.txt; then exit 1; fi

# Reached: a verdict on the bundle, and a refusal of the forgery.
test -s paper.zip.verified.json
test -s refused.txt
