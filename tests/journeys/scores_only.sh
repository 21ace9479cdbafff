# Scores only: somebody has tables of scores, no training code, and wants to know what may be said about them.
# Read: docs/scores.md

# 1. A wide table: the tool asks for what no table says, and shows how it would read the first line.
cat > wide.csv <<'CSV'
task,seed,GCN,MLP
cora,0,0.812,0.551
cora,1,0.809,0.560
cora,2,0.821,0.548
cora,3,0.815,0.555
cora,4,0.806,0.562
CSV
graphnetz report wide.csv 2> asked.txt && exit 1
grep -q "reshaped, its first line would read task,model,seed,score = cora,GCN,0,0.812" asked.txt
graphnetz report wide.csv --metric acc --replication init --no-figures | tee said.txt
grep -q "GCN is better than MLP on this split" said.txt
test -s wide/report.html

# 2. The same runs as a tracker exports them: the same verdict.
cat > runs.csv <<'CSV'
Name,State,dataset,config.model,seed,test_acc,val_acc
a,finished,cora,GCN,0,0.812,0.80
b,finished,cora,GCN,1,0.809,0.80
c,finished,cora,GCN,2,0.821,0.80
d,finished,cora,GCN,3,0.815,0.80
e,finished,cora,GCN,4,0.806,0.80
f,finished,cora,MLP,0,0.551,0.55
g,finished,cora,MLP,1,0.560,0.55
h,crashed,cora,MLP,2,,
i,finished,cora,MLP,2,0.548,0.55
j,finished,cora,MLP,3,0.555,0.55
k,finished,cora,MLP,4,0.562,0.55
CSV
graphnetz report runs.csv --replication init --no-figures > tracked.txt
diff <(grep "GCN is better" said.txt) <(grep "GCN is better" tracked.txt)

# 3. A leaderboard of means: compared, with what such a table cannot say.
cat > board.csv <<'CSV'
Rank,Method,Test Accuracy
1,GCN,0.7174 ± 0.0029
2,MLP,0.5550 ± 0.0023
CSV
graphnetz report board.csv --columns n==10 | tee board.txt
grep -q "GCN has the best mean (0.717) and is better than MLP" board.txt
grep -q "cannot be seen" board.txt
