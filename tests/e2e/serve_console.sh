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
for rule in "script-src 'self'" "style-src 'self'" "img-src data: blob:"; do
    check "policy: $rule" grep -qF "$rule;" <<<"$policy"
done
same "no script in the page itself" 0 "$(grep -c '<script>' "$tmp/page")"
files=$(grep -oE '/console/[a-z_]+\.(js|css)' "$tmp/page" | sort -u)
for file in $files /console/operate.js /console/manage.js /console/plot.js /console/request.js /console/usage.js /console/timeline.js /console/log.js /console/words_zh.js /console/endings.js; do
    anon GET "$file"
    answers "$file needs no token" 200
    cat "$out" >>"$tmp/files"
    case $file in
    *.js) same "$file is a script" "text/javascript; charset=utf-8" "$(header content-type)" ;;
    *.css) same "$file is a style" "text/css; charset=utf-8" "$(header content-type)" ;;
    esac
done
anon GET /console/words_zh.js
cp "$out" "$tmp/words_zh"
anon GET /console/endings.js
sed 's/^export const endings = //; s/;$//' "$out" >"$tmp/endings"
reasons() { sed -n '/define CHELA_REASON_VALUES/,/^$/s/^ *X(CHELA_REASON_.*, "\([a-z_]*\)").*/\1/p' include/chela/choice.h; }
for reason in $(reasons); do
    [ "$reason" = none ] || check "the page has a Chinese word for $reason" grep -qF "\"reason.$reason\": \"" "$tmp/words_zh"
done
check "the page has the sentences of all reasons that need one" jq -e --arg all "$(reasons | xargs)" '
    (($all | split(" ")) - ["none", "approval_required", "client_tool_required", "human_required", "interrupted", "timer_pending", "escalated",
        "clarification"] | sort) == (keys | sort) and all(.[]; (.en | length > 9) and (.zh | test("[一-鿿]")))' "$tmp/endings"
anon GET /console/nothing.js
answers "no other file" 404
check "nothing from elsewhere" test "$(cat "$tmp/page" "$tmp/files" | grep -cE 'src="https?:|@import|url\(')" = 0
check "no text becomes HTML" test "$(grep -cE 'innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(' "$tmp/files")" = 0
check "nothing is kept in cookies or databases" test "$(grep -cE 'document\.cookie|indexedDB' "$tmp/files")" = 0
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
call GET '/api/sessions/one/records?limit=2&before=999999999'
last=$(jq .last "$out")
tells "the last ones" '[.records[].seq] == [.last - 1, .last]' true
call GET "/api/sessions/one/records?limit=2&before=$((last - 1))"
tells "and those before" "[.records[].seq] == [$last - 3, $last - 2]" true
call GET '/api/sessions/one/records?before=3'
tells "all before one" '[.records[].seq] == [1, 2]' true
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
call GET '/api/sessions?q=%00%zz%2'
answers "whatever is asked" 200
while read -r name query; do
    call GET "/api/$query"
    answers "no number: $query" 400
    check "named: $query" grep -qF "\`$name\`" "$out"
done <<'QUERIES'
limit sessions?limit=abc
limit sessions?limit=-1
limit sessions?q=x&limit=5.5
limit sessions?limit=99999999999
after sessions/one?after=x
limit sessions/one/records?limit=x
before sessions/one/records?before=-1
days usage?days=x
days activity?days=1d
after logs?after=x
follow logs?follow=yes
QUERIES
call GET '/api/sessions?limit=5000000'
answers "a large number is the most that there is" 200

call GET '/api/sessions?q=yellow&session=one'
tells "in one session only" '.hits | length' 0
call GET '/api/sessions?q=yellow&session=two'
tells "where they are" '[.hits[].key] | unique | join(",")' two

# --- copies and titles
post /api/sessions/two '{"title":"boats"}'
answers "a session is renamed" 200
call GET /api/sessions
tells "its title" '[.sessions[] | select(.key == "two").title] | join(",")' boats
post /api/sessions/nobody '{"title":"boats"}'
answers "one that is not there" 404
post /api/sessions/two '{}'
answers "without a title" 400
post /api/sessions/two/messages '{"text":"a second one","stream":true}'
second=$(call GET /api/sessions/two/records && jq '[.records[] | select(.type == "inbound")][1].seq' "$out")
post /api/sessions/two/fork "{\"to\":\"three\",\"before\":$second}"
answers "a copy up to a message" 201
call GET /api/sessions/three/records
tells "has what comes before" '[.records[] | select(.type == "inbound") | .data.message.content[0].text] | join(",")' "a yellow submarine"
post /api/sessions/two/fork '{"before":1}'
tells "nothing comes before the first" .session null
post /api/sessions/two/fork '{"before":-1}'
answers "there is no record before the first" 400
post /api/sessions/two/fork '{}'
tells "a copy of all has a key of its own" '.session | startswith("fork:")' true
post /api/sessions/two/fork '{"to":"three"}'
answers "not over another session" 409
call GET /api/sessions/two/export
answers "an export" 200
same "of all lines" "$(call GET /api/sessions/two/records && jq '.records | length' "$out")" "$(call GET /api/sessions/two/export && sed 1d "$out" | grep -c .)"
call DELETE /api/sessions/three

# --- a model and reasoning for one message
post /api/sessions/four/messages '{"text":"hello","model":"scripted/demo","reasoning":"low","stream":true}'
check "the model of the message" grep -q '"model":"scripted/demo"' "$out"
post /api/sessions/four/messages '{"text":"hello","reasoning":"loud"}'
answers "no such reasoning" 400
post /api/sessions/four/messages '{"text":"hello","files":[{"name":"n.pdf","url":"data:application/pdf;base64,JVBERi0="}],"agent":"coder","stream":true}'
call GET /api/sessions/four/records
tells "a file" '[.records[] | select(.type == "inbound")][1].data.message.content[1] | [.type, .name] | join(" ")' "document n.pdf"
tells "and the agent's own model again" '[.records[] | select(.type == "message")] | last | .data.message.asked | endswith("rules.yaml")' true
call DELETE /api/sessions/four
call GET /api/sessions
for key in $(jq -r '.sessions[].key | select(startswith("fork:"))' "$out"); do call DELETE "/api/sessions/$key"; done

# --- agents
anon GET /api/agents
answers "agents need the token" 401
call GET /api/agents
tells "the agents" '[.agents[] | .id + " " + (.models | length | tostring)] | join(",")' "coder 1"
tells "their tools, with consent" '[.agents[0].tools[] | select(.name == "exec") | .consent, .offered] | map(tostring) | join(" ")' "ask true"
call GET /api/skills
tells "and their skills" '.agents[0].skills | type' array

# --- channels and the configuration
for path in /api/channels /api/config; do
    anon GET "$path"
    answers "$path needs the token" 401
done
call GET /api/channels
tells "no channel, nobody asks" '[(.channels | length), (.pairings | length)] | join(",")' "0,0"
post /api/pairings '{"approve":"NOSUCH"}'
answers "no such code" 404
post /api/pairings '{}'
answers "neither a code nor a person" 400
call GET /api/config
tells "options with their origin" '[.options[] | select(.key == "agents.list[coder].model") | .origin] | join(",")' file
tells "also the defaults" '[.options[] | select(.origin == "default")] | length > 10' true
tells "a valid file" '[(.complaints | length), .error] | map(tostring) | join(",")' "0,null"
check "no token in it" test "$(grep -c "$token" "$out")" = 0

# --- a stream that tells when a session changes
anon GET /api/events
answers "notices need the token" 401
timeout 20 curl -sN -H "Authorization: Bearer $token" "$gateway/api/events" >"$tmp/notices" &
watcher=$!
check "the first notice" eventually grep -q '^event: sessions' "$tmp/notices"
seen=$(grep -c '^event: sessions' "$tmp/notices")
post /api/sessions/five/messages '{"text":"hello","stream":true}'
more_notices() { [ "$(grep -c '^event: sessions' "$tmp/notices")" -gt "$seen" ]; }
check "a change is told" eventually more_notices
kill "$watcher" 2>/dev/null
wait "$watcher" 2>/dev/null
call DELETE /api/sessions/five

# --- what models used
anon GET /api/usage
answers "usage needs the token" 401
call GET '/api/usage?days=1'
answers "what models used" 200
tells "a call each" '[.calls[] | .session + " " + .agent] | sort | join(",")' "one coder,one coder,two coder,two coder"
tells "with tokens and time" '.calls | all(.input > 0 and .output > 0 and .ms >= 0 and .ts > 0)' true
tells "and no price where there is none" .cost_usd null
tap_done
