set -euo pipefail
export RAY_USAGE_STATS_ENABLED=0 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
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
    --include-dashboard=false --disable-usage-stats --block &
started+=("$!")

for node in "${{nodes[@]:1}}"; do
    srun --nodes=1 --ntasks=1 --nodelist="$node" --overlap \
        ray start --address="$address" --num-cpus={cpus}{gpu_flag} --disable-usage-stats --block &
    started+=("$!")
done

# Begin when every node has joined; give up after {patience} s.
for ((second = 0; ; second++)); do
    joined="$(ray list nodes --address="$address" --filter state=ALIVE --format=json 2>/dev/null \
        | grep -c '"node_id"' || true)"
    [ "$joined" -ge "${{#nodes[@]}}" ] && break
    if [ "$second" -ge {patience} ]; then
        echo "Only $joined of ${{#nodes[@]}} nodes joined the Ray cluster within {patience} s." >&2
        exit 1
    fi
    sleep 1
done

{command} --backend ray --address "$address" &
main="$!"
status=0
wait "$main" || status="$?"
if kill -0 "$main" 2>/dev/null; then  # a signal ended the wait, not the run: let it put its cells away
    status=0
    wait "$main" || status="$?"
fi
exit "$status"
