#!/usr/bin/env bash
# `chela serve`: the web console, as far as it can be seen without a browser.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none, user: "count" }, call: { tool: calculate, args: { expression: "6*7" } } }
  - { say: "you said: {{user}}" }
YAML
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
YAML
program=$(realpath "$program")
serve

header() {
    tr -d '\r' <"$err" | sed -n "s/^$1: //Ip"
}
# The text between two lines that hold a tag, as a browser would hash it.
digest_of() {
    text=$(tr '\n' '\1' <"$tmp/page" | sed "s|.*<$1>||; s|</$1>.*||" | tr '\1' '\n'; echo x)
    printf '%s' "${text%x}" | openssl dgst -sha256 -binary | base64
}

anon GET /
answers "the page needs no token" 200
cp "$out" "$tmp/page"
same "it is HTML" "text/html; charset=utf-8" "$(header content-type)"
same "nobody keeps it" no-store "$(header cache-control)"
same "nor guesses what it is" nosniff "$(header x-content-type-options)"
same "nor frames it" DENY "$(header x-frame-options)"
policy=$(header content-security-policy)
for rule in "default-src 'none'" "connect-src 'self'" "frame-ancestors 'none'" "base-uri 'none'" "form-action 'none'" \
    "require-trusted-types-for 'script'"; do
    check "policy: $rule" grep -qF "$rule" <<<"$policy"
done
check "policy: nothing unsafe" test "$(grep -c unsafe <<<"$policy")" = 0
check "policy: this script" grep -qF "script-src 'sha256-$(digest_of script)';" <<<"$policy"
check "policy: this style" grep -qF "style-src 'sha256-$(digest_of style)';" <<<"$policy"
same "one script" 1 "$(grep -c '<script>' "$tmp/page")"
same "which ends once" 1 "$(grep -ci '</script' "$tmp/page")"
check "nothing from elsewhere" test "$(grep -cE 'https?://|src="|@import|url\(' "$tmp/page")" = 0
check "no text becomes HTML" test "$(grep -cE 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(' "$tmp/page")" = 0
check "the token is not kept" test "$(grep -cE 'localStorage|sessionStorage|document\.cookie|indexedDB' "$tmp/page")" = 0
anon HEAD / --head
answers "HEAD" 200
call POST / -H 'Content-Type: application/json' -d '{}'
answers "nothing is posted to it" 405
anon GET / -H 'Host: evil.example'
answers "under another name it is not there" 421

# --- what the page reads of a session
anon GET /api/sessions/one/records
answers "records need the token" 401
post /api/sessions/one/messages '{"text":"count","stream":true}'
call GET /api/sessions/one/records
answers "the records of a session" 200
tells "from the first on" '[.records[].seq] == [range(1; (.records | length) + 1)]' true
tells "what was said to it" '[.records[] | select(.type == "inbound") | .data.message.content[0].text] | join(",")' count
tells "and what a tool gave" '[.records[] | select(.type == "done") | .data.message.content[0].content] | join(",")' 42
tells "and how far events had come" '[.records[] | select(.type == "state")] | last | .data.status + " " + (.data.seq > 0 | tostring)' "done true"
total=$(jq '.records | length' "$out")
call GET '/api/sessions/one/records?limit=3'
tells "a page of them" '[.records[].seq] | join(",")' 1,2,3
tells "and where the next one begins" .next 3
call GET "/api/sessions/one/records?limit=3&after=$((total - 3))"
tells "the last page" '.records | length' 3
tells "has no next one" .next null
call GET "/api/sessions/one/records?after=$total"
tells "nothing after the last" '.records | length' 0
call GET '/api/sessions/one?limit=1'
tells "a page of the transcript" '.transcript | length' 1
tells "and where it goes on" .next 1
call GET '/api/sessions/one?limit=2&after=1'
tells "the page after it" '.transcript[0].role' assistant
call GET '/api/sessions/one?after=999'
tells "past the end" '.transcript | length' 0
call GET /api/sessions/nobody/records
answers "of one that is not there" 404

# --- where something was said
post /api/sessions/two/messages '{"text":"a yellow submarine","stream":true}'
call GET '/api/sessions?q=yellow'
answers "words are looked for" 200
tells "and found where they were said" '[.hits[].key] | unique | join(",")' two
tells "with what is around" '.hits[0].excerpt | contains("yellow")' true
call GET '/api/sessions?q=yellow%20sub%6Darine'
tells "encoded" '[.hits[].key] | unique | join(",")' two
call GET '/api/sessions?q=purple'
tells "or not" '.hits | length' 0
call GET '/api/sessions?q=%00%zz%2&limit=x'
answers "whatever is asked" 200

# --- what models used
anon GET /api/usage
answers "usage needs the token" 401
call GET '/api/usage?days=1'
answers "what models used" 200
tells "a call each" '[.calls[] | .session + " " + .agent] | sort | join(",")' "one coder,one coder,two coder"
tells "with tokens and time" '.calls | all(.input > 0 and .output > 0 and .ms >= 0 and .ts > 0)' true
tells "and no price where there is none" .cost_usd null
tap_done
