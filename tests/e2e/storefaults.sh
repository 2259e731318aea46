#!/usr/bin/env bash
# A disk that fills up in the middle: the run ends with store_error and says
# why; with room again the session goes on. Needs a small file system of its
# own, which only root may mount, or a user namespace.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

if [ -z "${IN_SMALL_DISK:-}" ] && unshare -Urm true 2>/dev/null; then
    export IN_SMALL_DISK=1
    rm -rf "$tmp"
    trap - EXIT
    exec unshare -Urm "$0"
fi
mkdir "$tmp/disk"
if [ -z "${IN_SMALL_DISK:-}" ] || ! mount -t tmpfs -o size=1m small "$tmp/disk" 2>/dev/null; then
    skip "a full disk" "no user namespace to mount a small file system in"
    tap_done
    exit
fi
cat >"$space/rules.yaml" <<'YAML'
rules: [{ say: "yes: {{user}}" }]
YAML
ask() {
    chela run --model scripted/rules.yaml --store "sqlite:$tmp/disk/chela.db" --session s "$@"
}
ask --output jsonl "first"
exits "with room" 0
dd if=/dev/zero of="$tmp/disk/filler" bs=1k 2>/dev/null
head -c 200000 /dev/zero | tr '\0' x >"$tmp/long"
stdin=$tmp/long ask --output jsonl -
exits "a full disk" 1
holds "a full disk: one end, and why" '.[-1] | .type == "run_end" and .reason == "store_error" and (.error | test("no space left"))'
events_are_well_formed "a full disk"
rm "$tmp/disk/filler"
ask "second"
exits "with room again" 0
chela sessions show --store "sqlite:$tmp/disk/chela.db" --json s
holds "with room again: what was accepted is there, what was not is not" \
    '[.[0].transcript[] | select(.role == "user").content[0].text] == ["first", "second"]'

# --- a gateway whose disk is full for a while: what was acknowledged is taken up, in order
program=$(realpath "$program")
cat >"$space/chela.yaml" <<YAML
store: sqlite:$tmp/disk/chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
YAML
mount -o remount,size=16m "$tmp/disk"
serve
trap 'kill -9 $gateway_pid 2>/dev/null; umount "$tmp/disk" 2>/dev/null; rm -rf "$tmp"' EXIT
told() {
    (cd "$space" && with_env "$program" sessions export ordered 2>/dev/null) |
        jq -r 'select(.type == "inbound").data.message.content[0].text // empty' | sed -n 's/^n\([0-9]*\)$/\1/p'
}
acknowledged='' refused=0
send() { # FROM TO
    for ((i = $1; i <= $2; i++)); do
        post /api/sessions/ordered/messages "{\"text\":\"n$i\",\"mode\":\"follow_up\"}"
        case $code in
        202) acknowledged="$acknowledged $i" ;;
        503) refused=$((refused + 1)) ;;
        *) not_ok "message $i" "$code $(cat "$out")" ;;
        esac
    done
}
call GET /readyz
answers "ready with room" 200
send 1 30
dd if=/dev/zero of="$tmp/disk/filler" bs=1k 2>/dev/null
for _ in {1..50}; do # the probe's result is valid for a moment
    send 31 33
    call GET /readyz
    [ "$code" = 503 ] && break
    sleep 0.2
done
answers "not ready on a full disk" 503
check "messages are refused on a full disk" test $refused -gt 0
send 34 60
rm "$tmp/disk/filler"
for _ in {1..100}; do
    call GET /readyz
    [ "$code" = 200 ] && break
    sleep 0.2
done
answers "ready again" 200
send 61 90
want=$(tr ' ' '\n' <<<"${acknowledged# }")
for _ in {1..300}; do
    [ "$(told)" = "$want" ] && break
    sleep 0.1
done
same "what was acknowledged was taken up, in order" "$want" "$(told)"
check "the gateway ends" stop_serving
umount "$tmp/disk"
tap_done
