#!/usr/bin/env bash
# https: a certificate that is not trusted is refused, one that is named with
# --ca-file is taken, for the right name only.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
start_server

certificate() { # NAME SUBJECT-ALT-NAME
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" -addext "subjectAltName=$2" \
        -keyout "$tmp/$1.key" -out "$tmp/$1.pem" 2>/dev/null
}
proxy() { # NAME: sets $tls_port
    "$BUILD/tests/support/tlsproxy" "$tmp/$1.pem" "$tmp/$1.key" "${url##*:}" >"$tmp/$1.port" &
    proxies="${proxies-} $!"
    for _ in {1..100}; do
        grep -q port "$tmp/$1.port" && break
        sleep 0.05
    done
    tls_port=$(sed -n 's/^port //p' "$tmp/$1.port")
}
trap 'kill $server_pid ${proxies-} 2>/dev/null; wait 2>/dev/null; rm -rf "$tmp"' EXIT

certificate local IP:127.0.0.1,DNS:localhost
certificate other DNS:elsewhere.example
proxy local

for api in "${apis[@]}"; do
    fresh calculate "$api"
    base=${base/"$url"/https://127.0.0.1:$tls_port}
    chela run --model "$(model "$api")" --base-url "$base" --ca-file "$tmp/local.pem" --output jsonl go
    exits "trusted, $api" 0
    events_are_well_formed "trusted, $api"
    same "trusted, $api: requests without fault" "" "$(requests '.problems[]')"

    chela run -q --model "$(model "$api")" --base-url "$base" --output jsonl go
    exits "self-signed, $api" 1
    events_are_well_formed "self-signed, $api"
    if [ "$(wc -l <"$err")" = 2 ] && tail -n 1 "$err" | grep -qiE 'certificate|TLS'; then
        ok "self-signed, $api: one line says so"
    else
        not_ok "self-signed, $api: one line says so" "$(show)"
    fi
done

fresh hello anthropic
chela run --model anthropic/claude-test --base-url "${base/"$url"/https://localhost:$tls_port}" --ca-file "$tmp/local.pem" go
exits "by name" 0
same "by name: the answer" "Hello, world." "$(cat "$out")"

proxy other
fresh hello anthropic
chela run -q --model anthropic/claude-test --base-url "${base/"$url"/https://127.0.0.1:$tls_port}" --ca-file "$tmp/other.pem" go
exits "a certificate for another name" 1
same "a certificate for another name: nothing was sent" "" "$(requests .n)"

fresh hello anthropic
chela run -q --model anthropic/claude-test --base-url "${base/http:/https:}" go
exits "https to a port that speaks http" 1
tap_done
