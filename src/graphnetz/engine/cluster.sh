set -euo pipefail
export RAY_USAGE_STATS_ENABLED=0 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1{niceness}
# Whoever reaches the head's port could run code as you: ask for a token (Ray 2.52 and later; older ones ignore it).
RAY_AUTH_TOKEN="$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')"
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN
{setup}
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head="${{nodes[0]}}"
head_ip="$(srun --nodes=1 --ntasks=1 --nodelist="$head" hostname --ip-address | awk '{{print $1}}')"
address="$head_ip:{port}"

started=()
stop() {{
    for process in "${{started[@]}}"; do kill "$process" 2>/dev/null || true; done
    wait || true
}}
trap stop EXIT
# SLURM warns with SIGTERM before the time limit: pass it on, finished cells are kept.
trap 'kill -TERM "${{main:-}}" 2>/dev/null || true' TERM

srun --nodes=1 --ntasks=1 --nodelist="$head" --overlap \
    ray start --head --node-ip-address="$head_ip" --port={port} --num-cpus={cpus}{gpu_flag} \
    --include-dashboard={dashboard} --disable-usage-stats --block &
first="$!"
started+=("$first")

# Wait until so many nodes have joined; give up after {patience} s, or at once where the head has ended.
joined() {{
    graphnetz cluster wait --address "$address" --nodes "$1" --patience {patience} &
    local waiting="$!"
    started+=("$waiting")
    while kill -0 "$waiting" 2>/dev/null; do
        if ! kill -0 "$first" 2>/dev/null; then
            echo "The head of the Ray cluster ended before the run began; its words stand above." >&2
            exit 1
        fi
        sleep 0.5
    done
    wait "$waiting"
}}

joined 1
for node in "${{nodes[@]:1}}"; do
    srun --nodes=1 --ntasks=1 --nodelist="$node" --overlap \
        ray start --address="$address" --num-cpus={cpus}{gpu_flag} --disable-usage-stats --block &
    started+=("$!")
done
joined "${{#nodes[@]}}"

{command} --backend ray --address "$address" &
main="$!"
status=0
wait "$main" || status="$?"
if kill -0 "$main" 2>/dev/null; then  # a signal ended the wait, not the run: let it put its cells away
    status=0
    wait "$main" || status="$?"
fi
exit "$status"
