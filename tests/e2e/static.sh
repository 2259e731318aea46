#!/usr/bin/env bash
# `make static`: one file that runs without shared libraries, with TLS and SQLite linked in.
# docs/static.md names its limits, which are tested here too.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

if [ ! -x "$BUILD/static/chela" ]; then
    skip "the static program" "make static was not run"
    tap_done
    exit
fi
start_server
dynamic=$BUILD/chela
program=$BUILD/static/chela

same "it needs no shared library" "" "$(readelf -d "$program" 2>/dev/null | grep NEEDED)"
same "nor does the sandbox" "" "$(readelf -d "$BUILD/static/chela-sandbox" 2>/dev/null | grep NEEDED)"
chela --version
same "the same version" "$("$dynamic" --version)" "$(cat "$out")"

# Alone, without the files around it.
mkdir "$tmp/alone" && cp "$program" "$BUILD/static/chela-sandbox" "$tmp/alone/"
program=$tmp/alone/chela
for api in "${apis[@]}"; do
    play "$api" calculate --output jsonl
    exits "$api" 0
    events_are_well_formed "$api"
done
chela run --model scripted/demo --store sqlite:kept.db "what is 6*7?"
exits "SQLite" 0
chela sessions list --store sqlite:kept.db
check "SQLite: the session is there" grep -q '6\*7' "$out"

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=local -addext subjectAltName=IP:127.0.0.1,DNS:localhost \
    -keyout "$tmp/key.pem" -out "$tmp/cert.pem" 2>/dev/null
"$BUILD/tests/support/tlsproxy" "$tmp/cert.pem" "$tmp/key.pem" "${url##*:}" >"$tmp/tls" &
proxy=$!
trap 'kill $server_pid $proxy 2>/dev/null; wait 2>/dev/null; rm -rf "$tmp"' EXIT
for _ in {1..100}; do
    grep -q port "$tmp/tls" && break
    sleep 0.05
done
tls=https://localhost:$(sed -n 's/^port //p' "$tmp/tls")
fresh hello anthropic
chela run --model anthropic/claude-test --base-url "${base/"$url"/$tls}" --ca-file "$tmp/cert.pem" go
exits "https, by a name of /etc/hosts" 0
same "https: the answer" "Hello, world." "$(cat "$out")"
chela run --model anthropic/claude-test --base-url "${base/"$url"/$tls}" go
exits "https: a stranger's certificate" 1

# What is not linked in is named.
chela run --model scripted/demo --store redis://127.0.0.1:1 hello
if [ "$status" != 0 ] && grep -q 'built without the module store-redis' "$err"; then
    ok "a module that is not linked in"
else
    not_ok "a module that is not linked in" "$(show)"
fi
tap_done
