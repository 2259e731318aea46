#!/usr/bin/env bash
# `chela serve` as somebody sees it who has the program and its documentation and means harm:
# requests that two readers could read differently, hosts that look like ours, guesses at the
# token, answers that nobody takes. The last line is always that the gateway still serves.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { say: "you said: {{user}}" }
YAML
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
sandbox: { mode: off }
YAML
program=$(realpath "$program")
serve
port=${gateway##*:}
auth="Authorization: Bearer $token"

# raw TEXT: send it as it is (printf escapes) and keep what comes back until the end.
raw() {
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    # shellcheck disable=SC2059
    printf "$1" >&3 2>/dev/null
    timeout 20 cat <&3 >"$out" 2>/dev/null
    ended=$?
    exec 3>&- 3<&-
}
# refused NAME STATUS TEXT: one answer with this status, and the connection is closed.
refused() {
    raw "$3"
    was_refused "$1" "$2"
}
was_refused() {
    same "$1: closed" 0 "$ended"
    same "$1: one answer, $2" "HTTP/1.1 $2" "$(LC_ALL=C grep -ao '^HTTP/1.1 [0-9]*' "$out" | paste -sd' ')"
}
get="GET /v1/models HTTP/1.1\r\nHost: localhost\r\n$auth\r\n"
hidden="GET /v1/models HTTP/1.1\r\nHost: localhost\r\n$auth\r\nConnection: close\r\n\r\n"

# --- requests that a proxy may read differently
raw "${get}Connection: close\r\n\r\n"
check "an honest request" grep -qa '^HTTP/1.1 200' "$out"
refused "bare LF" 400 "GET /v1/models HTTP/1.1\nHost: localhost\n$auth\n\n"
refused "bare LF in one header" 400 "${get}A: b\nC: d\r\n\r\n"
refused "CR and a byte" 400 "${get}A: b\rXC: d\r\n\r\n"
refused "CR and a byte instead of the empty line" 400 "$get\rX$hidden"
refused "a continued line" 400 "${get}A: b\r\n c\r\n\r\n"
refused "length and chunks" 400 \
    "POST /v1/responses HTTP/1.1\r\nHost: localhost\r\n$auth\r\nContent-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n$hidden"
refused "two lengths" 400 \
    "POST /v1/responses HTTP/1.1\r\nHost: localhost\r\n$auth\r\nContent-Type: application/json\r\nContent-Length: 0\r\nContent-Length: 90\r\n\r\n$hidden"
for length in +3 -0 0x3 '3,3' '3 3' ''; do
    refused "length '$length'" 400 "POST /v1/responses HTTP/1.1\r\nHost: localhost\r\n$auth\r\nContent-Length: $length\r\n\r\n{} $hidden"
done
for coding in 'gzip, chunked' 'chunked, chunked' 'xchunked' 'identity' 'chunked;x=y'; do
    refused "coding '$coding'" 501 "POST /v1/responses HTTP/1.1\r\nHost: localhost\r\n$auth\r\nTransfer-Encoding: $coding\r\n\r\n0\r\n\r\n$hidden"
done
refused "a tab before chunked" 400 "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n"
refused "a vertical tab before chunked" 400 "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding:\vchunked\r\n\r\n0\r\n\r\n"
refused "a NUL in a header" 400 "${get}A: b\0c\r\n\r\n"
refused "a later version" 505 "GET / HTTP/1.9\r\nHost: localhost\r\n\r\n"
refused "another version" 505 "GET / HTTP/3.0\r\nHost: localhost\r\n\r\n"
refused "a full URL" 400 "GET http://evil.example/v1/models HTTP/1.1\r\nHost: localhost\r\n$auth\r\n\r\n"
refused "a tunnel" 501 "CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n"
refused "a method of nobody" 501 "BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n"
body="POST /v1/responses HTTP/1.1\r\nHost: localhost\r\n$auth\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
refused "a chunk size with 0x" 400 "${body}0x2\r\n{}\r\n0\r\n\r\n"
refused "a chunk with bare LF" 400 "${body}2\n{}\r\n0\r\n\r\n"
refused "a chunk that is longer" 400 "${body}1\r\n{}\r\n0\r\n\r\n"
refused "a trailer" 400 "${body}2\r\n{}\r\n0\r\nAuthorization: x\r\n\r\n"
refused "a ClientHello" 400 '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'

# --- too much
refused "a long address" 414 "GET /$(head -c 9000 /dev/zero | tr '\0' a) HTTP/1.1\r\nHost: localhost\r\n\r\n"
refused "a large header" 431 "${get}A: $(head -c 40000 /dev/zero | tr '\0' a)\r\n\r\n"
refused "many headers" 431 "$get$(printf 'A: b\\r\\n%.0s' {1..120})\r\n"
refused "a large body, announced" 413 "POST /v1/responses HTTP/1.1\r\nHost: localhost\r\n$auth\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n"
refused "a body that nobody asked for" 400 "${get}Content-Length: 5\r\n\r\nhello"
raw "POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
same "without a token nobody is told to send a body" "HTTP/1.1 401" "$(grep -ao '^HTTP/1.1 [0-9]*' "$out" | paste -sd' ')"
nested=$(head -c 100000 /dev/zero | tr '\0' '[')
printf '{"x":%s' "$nested" >"$tmp/nested"
call POST /v1/responses -H 'Content-Type: application/json' --data-binary "@$tmp/nested"
answers "JSON that is nested deeply" 400
head -c 34000000 /dev/zero >"$tmp/zeros"
call POST /v1/responses -H 'Content-Type: application/json' -H 'Transfer-Encoding: chunked' -H 'Expect:' --data-binary "@$tmp/zeros"
answers "a large body in chunks" 413
tells "in the form of all errors" '.error | [.type, .message] | join(" ")' 'invalid_request_error the body is too large'
call POST /v1/messages -H 'Content-Type: application/json' -H 'Expect:' --data-binary "@$tmp/zeros"
answers "a large body, announced to Anthropic's route" 413
tells "in Anthropic's form" '[.type, .error.type] | join(" ")' 'error request_too_large'
rm "$tmp/zeros"

# Answers that nobody reads do not pile up.
rss() { awk '/^VmRSS/ {print $2}' "/proc/$gateway_pid/status"; }
before=$(rss)
for fd in 4 5 6 7; do
    eval "exec $fd<>/dev/tcp/127.0.0.1/$port"
    for _ in {1..1000}; do printf 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'; done >&"$fd"
done
for _ in {1..50}; do
    call GET /healthz
    sleep 0.02
done
most=65536
case ${BUILD-} in *address*) most=$((most + 262144)) ;; esac # AddressSanitizer keeps 256 MB of freed memory
check "4,000 unread pages cost less than 64 MB" test $(($(rss) - before)) -lt $most
for fd in 4 5 6 7; do eval "exec $fd>&- $fd<&-"; done

# --- hosts and pages
for host in evil.example localhost.evil.example 127.0.0.1.nip.io; do
    call GET /v1/models -H "Host: $host"
    answers "Host: $host" 421
done
for host in 'localhost:1@evil.example' '[::1]evil' '[::1' 'localhost:x' 'localhost/evil' '127.1' '[::1%25lo]' 'a..b' 'localhost, evil.example'; do
    call GET /v1/models -H "Host: $host"
    answers "Host: $host" 400
done
for host in LOCALHOST "localhost.:$port" 127.0.0.1 "[0:0:0:0:0:0:0:1]:$port"; do
    call GET /v1/models -H "Host: $host"
    answers "Host: $host is ours" 200
done
refused "two hosts" 400 "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"
for origin in null http://evil.example "http://localhost.evil.example:$port" "http://localhost:$port@evil.example" "http://localhost:1"; do
    call GET /v1/models -H "Host: localhost:$port" -H "Origin: $origin"
    answers "Origin: $origin" 403
done
call GET /v1/models -H "Host: localhost:$port" -H "Origin: http://localhost:$port"
answers "our own origin" 200
if curl --version | grep -q HTTP2; then
    anon GET /v1/models --http2-prior-knowledge -H "Host: evil.example" -H "$auth"
    answers "HTTP/2: another authority" 421
    anon GET /v1/models --http2-prior-knowledge -H "Host: localhost:1@evil" -H "$auth"
    answers "HTTP/2: a user in the authority" 400
    anon GET /v1/models --http2-prior-knowledge -H "$auth"
    answers "HTTP/2: an honest request" 200
fi

# --- what comes back
call GET /v1/models -H $'X-Chela-Session: a%0d%0aSet-Cookie: x=y' -H 'Last-Event-ID: 1%0d%0aX: y'
check "nothing of it becomes a header" test "$(grep -ciE '^(Set-Cookie|X):' "$err")" = 0
anon TRACE /v1/models -H 'X-Secret: s'
check "TRACE tells nothing" test "$(grep -c X-Secret "$out")" = 0
anon OPTIONS '/v1/models' -H 'Origin: http://evil.example' -H 'Access-Control-Request-Method: GET'
answers "a preflight of another page" 403
post "/api/sessions/$(printf 'a%%1b%%5b31m')/messages" '{"text":"x"}'
answers "a key with an escape sequence" 404
post "/api/sessions/k/messages" '{"text":"red \u001b[31m"}'
check "a text with an escape sequence" grep -qE '^20[02]$' <<<"$code"
check "the log has none of it" test "$(LC_ALL=C grep -caP '[\x00-\x08\x0b-\x1f\x7f]' "$serve_log")" = 0

# --- guesses
guess() { anon GET /v1/models -H "Authorization: Bearer guess-$1" -H "X-Forwarded-For: 10.0.0.$1"; }
seen=
for i in {1..40}; do
    guess "$i"
    seen="$seen $code"
done
check "the first guess is answered with 401" grep -q '^ 401' <<<"$seen"
same "the last with 429, whoever it says to be" 429 "$code"
check "and when to come back" grep -qi '^Retry-After: [0-9]' "$err"
check "no guess gets further" test "$(grep -c 200 <<<"$seen")" = 0
call GET /v1/models
answers "the right token passes" 200
anon GET /healthz
answers "what is open stays open" 200
anon GET /v1/models
answers "no token is no guess" 401
anon GET /v1/models --interface 127.0.0.2 -H "Authorization: Bearer guess"
answers "another address has its own guesses" 401
call GET /v1/models --interface 127.0.0.2
answers "and the right token passes there, too" 200

# --- a WebSocket that does not keep to its rules
up="GET /api/sessions/ws/socket HTTP/1.1\\r\\nHost: localhost\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
key13="Sec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\\r\\n"
refused "a socket without a token" 401 "$up${key13}Connection: close\\r\\n\\r\\n"
refused "a socket of another page" 403 "$up$key13$auth\\r\\nOrigin: https://evil.example\\r\\nConnection: close\\r\\n\\r\\n"
refused "a token in the address" 401 "${up/socket /socket?token=$token }${key13}Connection: close\\r\\n\\r\\n"
for _ in {1..40}; do # every six seconds another guess is allowed
    raw "$up${key13}Sec-WebSocket-Protocol: chela.v1, bearer.x\\r\\nConnection: close\\r\\n\\r\\n"
    if grep -qa '^HTTP/1.1 429' "$out"; then break; fi
done
was_refused "a token among protocols that is none" 429
# frames NAME CODE BYTES: the upgrade and these frames; the answer ends with this close code.
frames() {
    local line status='' hex
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    # shellcheck disable=SC2059
    printf "$up$key13$auth\\r\\n\\r\\n" >&3
    while IFS= read -r -t 20 line <&3 && [ "$line" != $'\r' ]; do status=${status:-$line}; done
    same "$1: upgraded" "HTTP/1.1 101" "${status:0:12}"
    # shellcheck disable=SC2059
    (trap '' PIPE && printf "$3" >&3) 2>/dev/null
    timeout 20 cat <&3 >"$out" 2>/dev/null
    same "$1: closed" 0 $?
    exec 3>&- 3<&-
    hex=$(xxd -p "$out" | tr -d '\n')
    check "$1: $2" grep -qE "88[0-7][0-9a-f]$(printf %04x "$2")" <<<"$hex"
}
mask='\1\2\3\4'
frames "not masked" 1002 '\201\2{}'
frames "an extension that nobody agreed on" 1002 "\\301\\202${mask}{}"
frames "an unknown kind of frame" 1002 "\\203\\202${mask}{}"
frames "a ping in pieces" 1002 "\\11\\202${mask}xx"
frames "a long ping" 1002 "\\211\\376\\0\\176${mask}"
frames "an end without a beginning" 1002 "\\200\\202${mask}xx"
frames "a message in a message" 1002 "\\1\\202${mask}xx\\201\\202${mask}xx"
frames "a length that is written too long" 1002 "\\201\\376\\0\\2${mask}xx"
frames "a length of 2^63" 1002 "\\201\\377\\200\\0\\0\\0\\0\\0\\0\\0${mask}"
frames "a length of 4 GB" 1009 "\\201\\377\\0\\0\\0\\1\\0\\0\\0\\0${mask}"
frames "text that is none" 1007 "\\201\\202\\0\\0\\0\\0\\377\\376"
frames "bytes" 1003 "\\202\\202${mask}xx\\210\\200${mask}"
frames "a close code that may not be sent" 1002 "\\210\\202\\0\\0\\0\\0\\3\\355"
frames "half a close code" 1002 "\\210\\201\\0\\0\\0\\0\\3"
frames "empty fragments without end" 1009 "\\1\\200${mask}$(printf '\\0\\200\\1\\2\\3\\4%.0s' {1..1025})"

# --- cut off
for cut in 'G' 'GET / HT' "${get}A: b" 'PRI * HTTP/2.0\r\n' 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nxxxxxxxxxxxx'; do
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    # shellcheck disable=SC2059
    printf "$cut" >&3
    exec 3>&- 3<&-
done
raw 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\1\0\0\0\0\0'
same "HTTP/2 that begins with a header: closed" 0 "$ended"
raw "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0$(printf '\\0\\0\\0\\4\\0\\0\\0\\0\\0%.0s' {1..1500})"
same "HTTP/2 that only talks about settings: closed" 0 "$ended"
call GET /v1/models
answers "the gateway serves" 200
stop_serving
same "and stops when it is told to" 0 $?
tap_done
