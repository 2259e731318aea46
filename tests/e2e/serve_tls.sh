#!/usr/bin/env bash
# `chela serve` with a certificate: TLS for all, a new certificate and a new
# token while it runs.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

certificate() { # NAME
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$1" \
        -addext subjectAltName=IP:127.0.0.1,DNS:localhost -keyout "$tmp/$1.key" -out "$tmp/$1.pem" 2>/dev/null
}
certificate first
certificate second
export CURL_CA_BUNDLE=$tmp/first.pem
cat >"$space/rules.yaml" <<'YAML'
rules: [{ say: "you said: {{user}}" }]
YAML
cat >"$space/chela.yaml" <<'YAML'
store: "memory:"
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
gateway: { tokenFile: token, tls: { cert: cert.pem, key: key.pem } }
YAML
program=$(realpath "$program")
echo "$token" >"$space/token"

serve
check "without the certificate it does not start" grep -q 'no certificate could be read from .*cert.pem' "$serve_log"
cp "$tmp/first.pem" "$space/cert.pem"
cp "$tmp/second.key" "$space/key.pem"
serve
check "nor with another one's key" grep -q 'key.pem holds no key, or not that of the certificate' "$serve_log"
cp "$tmp/first.key" "$space/key.pem"
rm "$space/token"
serve
check "nor without the file of its token" grep -q token "$serve_log"
echo "$token" >"$space/token"
# The variable does not count beside the file.
serve_token=another-another-another serve
check "it says how it is reached" grep -q 'listening on https://127.0.0.1' "$serve_log"

call GET /v1/models
answers "a request" 200
anon GET /v1/models
answers "needs its token" 401
post /v1/chat/completions '{"model":"coder","stream":true,"messages":[{"role":"user","content":"hello"}]}'
same "a stream" "you said: hello" "$(chunks | jq -j '.choices[0].delta.content // ""')"
words=$(head -c 300000 /dev/zero | tr '\0' w)
printf '{"model":"coder","messages":[{"role":"user","content":"%s"}]}' "$words" >"$tmp/long.json"
post /v1/chat/completions "@$tmp/long.json"
same "what is long comes whole, both ways" "you said: $words" "$(jq -r .choices[0].message.content "$out")"
check "it was HTTP/2" grep -q '^HTTP/2 200' "$err"
post /v1/chat/completions "@$tmp/long.json" --http1.1
same "or HTTP/1.1" "HTTP/1.1 you said: $words" "$(head -c 8 "$err") $(jq -r .choices[0].message.content "$out")"
call GET /v1/models --http1.0
answers "an old client" 200
code=$(curl -sS -m 20 -o /dev/null -o /dev/null -w '%{http_code} %{num_connects},' -H "Authorization: Bearer $token" "$gateway/v1/models" "$gateway/v1/models")
same "two requests on one connection" "200 1,200 0," "$code"

seq 100 | sed "s|.*|url = \"$gateway/v1/chat/completions?&\"\noutput = \"$tmp/one.&\"|" >"$tmp/urls"
curl -sS -m 60 --parallel --parallel-max 100 -K "$tmp/urls" -w '%{http_code} %{num_connects}\n' -H "Authorization: Bearer $token" \
    -H 'Content-Type: application/json' -d '{"model":"coder","stream":true,"messages":[{"role":"user","content":"hello"}]}' \
    >"$tmp/parallel" 2>"$tmp/curl"
same "a hundred streams on one connection" "100 1" "$(awk '$1 == 200 {n++; c += $2} END {print n, c}' "$tmp/parallel")"
same "each of them whole" 100 "$(grep -lx 'data: \[DONE\]' "$tmp"/one.* | wc -l)"

# --- what is not TLS, or not enough of it
address=${gateway#https://}
code=$(curl -sS -m 20 -o /dev/null -w '%{http_code}' "http://$address/healthz" 2>"$tmp/curl")
same "plain HTTP is not answered" 000 "$code"
shake() { openssl s_client -connect "$address" -CAfile "$tmp/first.pem" "$@" </dev/null 2>&1; }
check "TLS 1.1 is refused" bash -c "! openssl s_client -connect $address -tls1_1 -cipher DEFAULT@SECLEVEL=0 </dev/null >/dev/null 2>&1"
same "TLS 1.2 is taken" 1 "$(shake -tls1_2 | grep -c 'Verify return code: 0')"
same "so is 1.3" 1 "$(shake -tls1_3 -alpn http/1.1,http/1.0 | grep -c 'ALPN protocol: http/1.1')"
same "HTTP/2 is chosen where it is offered" 1 "$(shake -alpn http/1.1,h2 | grep -c 'ALPN protocol: h2')"
exec 4<>"/dev/tcp/${address%:*}/${address#*:}"
printf '\x16\x03\x01' >&4
call GET /v1/models
answers "one who stops in the middle of it keeps nobody waiting" 200
exec 4>&-

# --- its own client speaks to it
cat >"$space/other.yaml" <<YAML
store: "memory:"
providers: { there: { api: openai, baseUrl: "$gateway/v1", apiKeyFile: token } }
agents: { list: [{ id: main, model: there/coder, tools: { allow: [] } }] }
YAML
out_of=$(cd "$space" && with_env "$program" run --config other.yaml --ca-file "$tmp/first.pem" hi 2>&1)
same "our own client reaches it" "you said: hi" "$out_of"

# --- another certificate, another token, while it runs
read_again() { # PATTERN: what the log says then
    local before
    before=$(grep -c "$1" "$serve_log")
    kill -HUP "$gateway_pid"
    for _ in {1..200}; do
        [ "$(grep -c "$1" "$serve_log")" -gt "$before" ] && return
        sleep 0.05
    done
    return 1
}
post /api/sessions/one/messages '{"text":"hello"}'
curl -sSN -m 600 -H "Authorization: Bearer $token" "$gateway/api/sessions/one/events" >"$tmp/events" 2>/dev/null &
follower=$!
for _ in {1..200}; do grep -q listening "$tmp/events" && break; sleep 0.05; done
echo 'no certificate' >"$space/cert.pem"
check "a broken certificate is refused" read_again 'stays as it was: .*cert.pem'
call GET /v1/models
answers "and changes nothing" 200
cp "$tmp/second.pem" "$space/cert.pem"
cp "$tmp/second.key" "$space/key.pem"
check "another one is read" read_again 'was read again'
call GET /v1/models
same "who trusts the old one stays away" 000 "$code"
CURL_CA_BUNDLE=$tmp/second.pem
call GET /v1/models
answers "who trusts the new one does not" 200
check "who was there stays" kill -0 "$follower"
old=$token
token=rotated-SENTINEL-0123456789abcdef
echo "$token" >"$space/token"
check "a new token is read" read_again 'was read again'
call GET /v1/models
answers "and counts" 200
anon GET /v1/models -H "Authorization: Bearer $old"
answers "the old one does not" 401
wait "$follower"
check "nor for who came with it" test $? != 28 # that is curl's own time limit
echo short >"$space/token"
check "one that is too short is refused" read_again 'stays as it was: .*too short'
call GET /v1/models
answers "and the last good one stays" 200
check "SIGHUP or not, HTTP/2 is spoken" grep -q '^HTTP/2 200' "$err"
check "no token is in the log" bash -c "! grep -qE 'SENTINEL' '$serve_log'"
check "SIGTERM ends it" stop_serving

# --- without the module
mkdir "$tmp/alone" && cp "$BUILD/chela" "$BUILD"/libchela.so* "$BUILD/libchela-tls.so" "$tmp/alone/"
echo "$token" >"$space/token"
program=$tmp/alone/chela serve
call GET /v1/models
same "without the module it is HTTP/1.1" "200 HTTP/1.1" "$code $(head -c 8 "$err")"
call GET /v1/models
same "which the log says once" 1 "$(grep -c 'HTTP/2 is not available.*libchela-h2.so' "$serve_log")"
check "SIGTERM ends that too" stop_serving
tap_done
