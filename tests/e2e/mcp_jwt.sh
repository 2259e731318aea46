#!/usr/bin/env bash
# /mcp of the gateway with JSON Web Tokens, which it checks with the keys of the issuer: tokens good, forged and
# malformed, keys that change, an issuer that does not answer or is another one.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/mcp/rpc.sh

needs "/mcp with JSON Web Tokens" python3 openssl
program=$(realpath "$program")
keys=$tmp/keys
mkdir "$keys"
issuer() { python3 tests/support/mcp/issuer.py "$1" "$keys" "${@:2}"; }
publish() { printf '{"keys":[%s]}' "$(IFS=,; echo "$*")" >"$keys/set"; } # JWK...
start_issuer() { # sets $as
    : >"$tmp/asked"
    start_auth_server python3 tests/support/mcp/issuer.py serve "$keys" "$tmp/asked"
}
issuer keys
rsa=$(issuer jwk rsa r1) ec=$(issuer jwk ec e1) ed=$(issuer jwk ed d1)
publish "$rsa" "$ec" "$ed" "$(issuer jwk rsa1024 s1)" '{"kty":"oct","kid":"h1","k":"c2VjcmV0"}'
start_issuer
resource=https://chela.example.com/mcp
configure() { # [MORE]
    cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
gateway: { mcp: { enabled: true, issuer: "$as", resource: "$resource"${1:+, $1} } }
YAML
}
printf 'rules:\n  - { say: "hello {{user}}" }\n' >"$space/rules.yaml"
now=$(date +%s)
# claims [MEMBERS]: of a valid token; later members replace earlier ones
claims() { jq -cn --arg iss "$as" --arg aud "$resource" --argjson exp $((now + 3600)) "{iss: \$iss, aud: \$aud, sub: \"ann\", exp: \$exp, scope: \"a mcp:use\"} + {${1-}}"; }
try() { # NAME STATUS KEY ALG KID CLAIMS [HEADER]
    rpc "$(issuer sign "${@:3}")" tools/list
    answers "$1" "$2"
}

configure 'scope: "mcp:use"'
serve
check "the gateway starts without an introspection endpoint" test -n "$gateway"
same "the issuer is asked when there is a token" "" "$(cat "$tmp/asked")"

# --- genuine tokens
good=$(issuer sign rsa RS256 r1 "$(claims)")
rpc "$good" tools/list
answers "RS256" 200
try "ES256" 200 ec ES256 e1 "$(claims)"
try "EdDSA" 200 ed EdDSA d1 "$(claims)"
try "a token that names no key" 200 ec ES256 '' "$(claims)"
try "a token of the type JWT" 200 ec ES256 e1 "$(claims)" '{"typ":"JWT"}'
try "several audiences" 200 ec ES256 e1 "$(claims "aud: [\"x\", \"$resource/\"]")"
try "of a client" 200 ec ES256 e1 "$(claims 'sub: null, client_id: "c"')"
same "the metadata and the keys are fetched once" 1 "$(grep -c '^/jwks' "$tmp/asked")"
rpc "$good" tools/call ask_coder '"name":"ask_coder","arguments":{"message":"ann","session":"one"}'
check "a call" grep -q 'hello ann' "$out"
anon GET /api/sessions -H "Authorization: Bearer $good"
answers "such a token opens nothing but /mcp" 401

# --- claims
try "expired" 401 ec ES256 e1 "$(claims "exp: $((now - 3600))")"
try "without an end" 401 ec ES256 e1 "$(claims 'exp: null')"
try "an end that is a text" 401 ec ES256 e1 "$(claims "exp: \"$((now + 3600))\"")"
try "not valid yet" 401 ec ES256 e1 "$(claims "nbf: $((now + 3600))")"
try "another issuer" 401 ec ES256 e1 "$(claims 'iss: "https://evil.example"')"
try "the issuer with a slash" 401 ec ES256 e1 "$(claims "iss: \"$as/\"")"
try "no issuer" 401 ec ES256 e1 "$(claims 'iss: null')"
try "another resource" 401 ec ES256 e1 "$(claims 'aud: "https://chela.example.com/other"')"
try "no resource" 401 ec ES256 e1 "$(claims 'aud: null')"
try "nobody" 401 ec ES256 e1 "$(claims 'sub: null')"
try "a name with a zero byte" 401 ec ES256 e1 "$(claims 'sub: "ann\u0000x"')"
try "bound to a key" 401 ec ES256 e1 "$(claims 'cnf: {jkt: "x"}')"
try "another scope" 403 ec ES256 e1 "$(claims 'scope: "mcp:used"')"
check "another scope: the challenge" grep -qi '^www-authenticate: Bearer error="insufficient_scope"' "$err"

# --- forged tokens. A gateway that starts anew has not counted wrong tokens.
stop_serving
serve
try "alg none" 401 rsa none r1 "$(claims)"
check "alg none: the challenge" grep -qi '^www-authenticate: Bearer resource_metadata' "$err"
try "HS256 with the public key" 401 rsa HS256 r1 "$(claims)"
try "HS256 with a shared secret of the set" 401 rsa HS256 h1 "$(claims)"
try "another key under the same name" 401 other ES256 e1 "$(claims)"
try "another algorithm under the same name" 401 rsa RS256 e1 "$(claims)"
try "a key that is too short" 401 rsa1024 RS256 s1 "$(claims)"
try "an extension that must be understood" 401 ec ES256 e1 "$(claims)" '{"crit":["x"],"x":1}'
try "a token for another purpose" 401 ec ES256 e1 "$(claims)" '{"typ":"dpop+jwt"}'
try "a key of its own" 401 other ES256 '' "$(claims)" "{\"jwk\":$(issuer jwk other x)}"
try "claims that are no object" 401 ec ES256 e1 '[]'
stop_serving
serve
for token_ in x . .. a.b.c "${good%.*}." "${good%.*}" "$good." "$good.x" "x$good" "${good:0:100}"; do
    rpc "$token_" tools/list
    answers "malformed: ${token_:0:12}" 401
done
stop_serving

# --- the keys change: an unknown key is asked for, and not with every request
publish "$rsa"
serve
rpc "$good" tools/list
answers "a key" 200
: >"$tmp/asked"
for _ in 1 2 3 4 5; do rpc "$(issuer sign ec ES256 "k$RANDOM" "$(claims)")" tools/list; done
answers "unknown keys" 401
check "unknown keys: the issuer is asked at most once" test "$(grep -c '^/jwks' "$tmp/asked")" -le 1
publish "$ec"
stop_serving
serve
try "the new key" 200 ec ES256 e1 "$(claims)"
try "the old key" 401 rsa RS256 r1 "$(claims)"
stop_serving

# --- an issuer that is not there, is another one, or answers nonsense
unfit() { # NAME
    serve
    rpc "$good" tools/list
    answers "$1" 503
    rpc "$token" tools/list
    answers "$1: the gateway's token" 200
    stop_serving
}
publish "$rsa"
echo '{"issuer":"https://evil.example"}' >"$keys/metadata"
unfit "metadata of another issuer"
echo '{"jwks_uri":"http://192.0.2.1/jwks"}' >"$keys/metadata"
unfit "keys over http"
echo '{"jwks_uri":7}' >"$keys/metadata"
unfit "metadata without keys"
rm "$keys/metadata"
echo 'nonsense' >"$keys/set"
unfit "keys that are no JSON"
head -c 1000000 /dev/zero | tr '\0' ' ' >"$keys/set"
unfit "keys without an end"
publish
unfit "no key"
kill "$server_pid"
wait "$server_pid" 2>/dev/null
unfit "nobody there"
same "no token is in the log" 0 "$(grep -c "$good" "$serve_log")"
tap_done
