#!/usr/bin/env bash
# A disk that fills up in the middle: the run ends with store_error and says
# why; with room again the session goes on. Needs a small file system of its
# own, which only root may mount, or a user namespace.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

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
umount "$tmp/disk"
tap_done
