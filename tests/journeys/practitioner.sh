# A practitioner has a network of customers, knows the roles of some, and wants those of the others.
# Written from README.md ("I have a graph") and docs/guide.md ("Bring your data", "Use a model").

awk 'BEGIN {
  srand(1); print "source,target" > "edges.csv"; print "customer,since,role" > "roles.csv"
  print "node,orders,returns" > "numbers.csv"
  split("buyer seller broker", role, " ")
  for (i = 0; i < 60; i++) {
    printf "c%02d,%.3f,%.3f\n", i, rand() + i % 3, rand() > "numbers.csv"
    if (i < 50) printf "c%02d,%d,%s\n", i, 2000 + i % 9, role[i % 3 + 1] > "roles.csv"
    for (j = 0; j < i; j++) if (rand() < (i % 3 == j % 3 ? 0.2 : 0.02)) printf "c%02d,c%02d\n", i, j > "edges.csv"
  }
}'

graphnetz select edges.csv --task node_cls --top 3
graphnetz train --graph edges.csv --labels roles.csv --label-column role --features numbers.csv --seeds 1 --epochs 30 --out model
graphnetz predict model --graph edges.csv --features numbers.csv --out predictions.csv

# New customers, whom nobody had seen.
printf 'source,target\nnew1,c03\nnew1,c06\nnew2,c04\n' > new.csv
printf 'node,orders,returns\nnew1,0.5,0.5\nnew2,1.5,0.5\nc03,0.4,0.1\nc04,1.4,0.2\nc06,0.6,0.3\n' > new_numbers.csv
graphnetz predict model --graph new.csv --features new_numbers.csv --out new_predictions.csv

# Reached: a role by name for every customer, and a card that says how good the model is.
head -1 predictions.csv | grep -qx 'node,class,p_broker,p_buyer,p_seller'
test "$(wc -l < predictions.csv)" -eq 61
grep -Eq '^c59,(broker|buyer|seller),' predictions.csv
grep -Eq '^new1,(broker|buyer|seller),' new_predictions.csv
grep -q 'How good is it?' model/README.md
test -s model/model.safetensors
