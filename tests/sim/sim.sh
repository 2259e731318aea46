#!/usr/bin/env bash
# The guarantees of docs/promises.md in simulated gateways, for each model of a backend; see
# README.md. SIM_SEEDS: seeds of each (default: a few hundred). Faults that a store must not have
# are found.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh

sim=$BUILD/tests/sim/sim
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# backend, seeds
seeds="memory ${SIM_SEEDS:-500}
sqlite ${SIM_SEEDS:-800}
postgres ${SIM_SEEDS:-400}
redis ${SIM_SEEDS:-400}"
while read -r backend n; do
    "$sim" --backend "$backend" --seed "${SIM_FIRST:-1}" --count "$n" >"$out/$backend" 2>&1 &
done <<<"$seeds"
wait
while read -r backend n; do
    same "$backend: $n seeds" "$backend: $n seeds, 0 violations" "$(cat "$out/$backend")"
done <<<"$seeds"

# --- seeds that once showed a fault
while read -r backend list; do
    for seed in $list; do
        same "$backend: seed $seed" "$backend: 1 seeds, 0 violations" \
            "$("$sim" --backend "$backend" --seed "$seed" 2>&1)"
    done
done <tests/sim/seeds

# --- defects of a store: which guarantee breaks, and where
finds() { # DEFECT BACKEND PATTERN
    local got
    got=$("$sim" --backend "$2" --defect "$1" --count 400)
    if grep -qE "$3" <<<"$got"; then ok "$2: $1 is found"; else not_ok "$2: $1 is found" "$got"; fi
}
finds early-ack sqlite 'P1: event [0-9]* was accepted and is lost|P7'
finds kept-event sqlite 'P[12]'
finds no-fence redis 'P2|P3'
finds late-mail redis 'P3'
finds unordered postgres 'P7'
tap_done
