#!/usr/bin/env bash
# `chela serve`: the routes of the pages for operators: schedules, MCP servers, memory, logs, nodes,
# runs, and the configuration that an owner changes.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none, user: "strike" }, fail: { status: 400, type: invalid_request_error, message: "the model is on strike" } }
  - { when: { after: none, user: "ask" }, call: { tool: t_ask, args: {} } }
  - { say: "you said: {{user}}" }
YAML
mkdir -p "$space/ws/memory"
echo "The door code is 4711." >"$space/ws/MEMORY.md"
echo "Rain today." >"$space/ws/memory/2026-11-15.md"
echo "outside" >"$space/secret.md"
printf '#!/bin/sh\necho done\n' >"$space/asker"
chmod +x "$space/asker"
ln -s ../../secret.md "$space/ws/memory/link.md"
ln -s real.yaml "$space/chela.yaml"
cat >"$space/real.yaml" <<YAML
store: sqlite:./chela.db # a comment that stays
agents:
  list:
    - { id: coder, model: scripted/rules.yaml, workspaceDir: ./ws, limits: { maxTurns: 7 } }
tools:
  custom: [{ name: t_ask, description: Asks., command: [./asker], effect: once, permission: write, confirm: true, parameters: { type: object } }]
schedules:
  report: { when: "0 9 * * *", timezone: UTC, prompt: "the report" }
mcp: { servers: { s: { command: [python3, "$PWD/tests/support/mcp/server.py", legacy, "$tmp/words"] } } }
YAML
program=$(realpath "$program")
if command -v python3 >/dev/null; then
    chela mcp tools --config chela.yaml s
    exits "the tools of an MCP server are accepted" 0
    echo "changed added" >"$tmp/words"
fi
serve
if [ -z "$gateway" ]; then
    not_ok "the gateway starts" "$(cat "$serve_log")"
    tap_done
    exit 1
fi

for path in /api/schedules /api/mcp /api/memory /api/memory/coder /api/logs /api/nodes /api/activity /api/runs /api/usage; do
    anon GET "$path"
    answers "$path needs the token" 401
done
for path in /api/config /api/schedules/report/run /api/mcp/s; do
    anon POST "$path" -H 'Content-Type: application/json' -d '{}'
    answers "$path needs the token" 401
done

# --- schedules
call GET /api/schedules
tells "a schedule of the configuration" '.schedules[0] | [.name, .source, .prompt] | join(",")' "report,config,the report"
tells "its next times" '.schedules[0].upcoming | [length, (.[1] - .[0])] | join(",")' "5,86400000"
post /api/schedules/nothing/run '{}'
answers "none of this name" 404
post /api/schedules/report/run '{}'
answers "run now" 202
tells "it began" .started true
reported() { call GET '/api/sessions/schedule%3Areport' && [ "$(jq -r '.status' "$out")" = idle ]; }
check "the run ended" eventually reported
tells "with its prompt" '[.transcript[] | tostring] | any(test("the report"))' true
call GET /api/schedules
tells "it is still due at its time" '.schedules[0].upcoming | length' 5

# --- MCP servers
call GET /api/mcp
tells "a server" '.servers[0] | [.name, .transport, .login] | map(tostring) | join(",")' "s,stdio,false"
if command -v python3 >/dev/null; then
    post /api/mcp/s '{"action":"check"}'
    answers "a server is checked" 200
    tells "its era" '.server | [.state, .era] | join(",")' "ready,legacy"
    tells "changed and new tools are not accepted" '[.server.tools[] | select(.accepted | not) | .name] | sort | join(",")' "echo,fresh"
    tells "with the accepted definition" '[.server.tools[] | select(.was) | .was.description] | join(",")' "Echo a text."
    post /api/mcp/s '{"action":"accept"}'
    tells "until somebody accepts them" '[.server.tools[] | select(.accepted | not)] | length' 0
    call GET /api/agents
    tells "then they are offered" '[.agents[0].tools[] | select(.name == "s__fresh")] | length' 1
fi
post /api/mcp/nobody '{"action":"check"}'
answers "no such server" 404
post /api/mcp/s '{"action":"dance"}'
answers "no such action" 400

# --- memory
call GET /api/memory
tells "notes of an agent" '[.agents[0].files[].file] | join(",")' "MEMORY.md,memory/2026-11-15.md"
call GET '/api/memory/coder?file=memory%2F2026-11-15.md'
tells "the text of a note" .text "Rain today."
for file in ../secret.md memory/../../secret.md memory/link.md /etc/passwd chela.yaml %00 ''; do
    call GET "/api/memory/coder?file=$file"
    answers "no other file: $file" 404
done
call GET '/api/memory/nobody?file=MEMORY.md'
answers "of no other agent" 404

# --- the configuration
call GET /api/config
tells "what may be changed" '[.options[] | select(.editable) | .key] | any(. == "agents.list[coder].limits.maxTurns")' true
tells "and what may not" '[.options[] | select(.key | test("^(store|sandbox|tools)")) | select(.editable)] | length' 0
tells "there is no previous version" .previous false
cp "$space/chela.yaml" "$tmp/before.yaml"
change='"key":"agents.list[coder].limits.maxTurns","value":9'
post /api/config "{$change,\"check\":true}"
answers "a change is checked" 200
tells "with its difference" '.diff | test("\n-.*maxTurns: 7(.|\n)*\n\\+.*maxTurns: 9")' true
tells "and not made" .written false
of=$(jq -r .of "$out")
check "the file is as it was" cmp -s "$space/chela.yaml" "$tmp/before.yaml"
post /api/config '{"key":"agents.list[coder].limits.maxTurns","value":"many","check":true}'
answers "a value that makes no sense" 400
for member in '"check":"yes"' '"of":5' '"restore":1'; do
    post /api/config "{$change,$member}"
    answers "$member is refused" 400
done
post /api/config '{"key":"sandbox.mode","value":"off"}'
answers "nobody changes rights from afar" 403
post /api/config '{"key":"no.such","value":1}'
answers "no such option" 404
post /api/config '{"check":true}'
answers "no option at all" 400
post /api/config '{"restore":true}'
answers "no way back yet" 404
post /api/config "{$change,\"of\":\"0000\"}"
answers "made from another text" 409
check "nothing was written" cmp -s "$space/chela.yaml" "$tmp/before.yaml"
post /api/config "{$change,\"of\":\"$of\"}"
answers "the change is made" 200
tells "and says so" .written true
check "in the file" grep -q 'maxTurns: 9' "$space/chela.yaml"
check "a link stays one" test -L "$space/chela.yaml"
check "whose comments stay" grep -q 'a comment that stays' "$space/chela.yaml"
turns() { call GET /api/agents && [ "$(jq '.agents[0].limits.max_turns' "$out")" = "$1" ]; }
check "and the gateway takes it up" eventually turns 9
check "the previous version is kept" cmp -s "$space/real.yaml.previous" "$tmp/before.yaml"
same "as readable as the file" "$(stat -Lc %a "$space/chela.yaml")" "$(stat -c %a "$space/real.yaml.previous")"
call GET /api/config
tells "and offered" .previous true
post /api/config '{"restore":true,"check":true}'
tells "the way back, as a difference" '.diff | test("\n\\+.*maxTurns: 7")' true
post /api/config '{"restore":true}'
answers "the way back" 200
check "the file is as it was, again" cmp -s "$space/chela.yaml" "$tmp/before.yaml"
check "and the gateway too" eventually turns 7
# The client leaves without waiting for the answer.
leave() { # VALUE
    local body="{\"key\":\"agents.list[coder].limits.maxTurns\",\"value\":$1}" address=${gateway#http://}
    exec 8<>"/dev/tcp/${address%:*}/${address#*:}"
    printf 'POST /api/config HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' \
        "$address" "$token" ${#body} "$body" >&8
    sleep "0.00$(($1 % 10))"
    exec 8>&-
}
as_the_file() { turns "$(sed -n 's/.*maxTurns: \([0-9]*\).*/\1/p' "$space/chela.yaml")"; }
for turns in {11..40}; do
    leave "$turns"
    eventually as_the_file || break
done
check "a change whose client left is taken up" as_the_file
cp "$tmp/before.yaml" "$space/real.yaml"
post /api/config "{$change}"
check "and the next one" eventually turns 9
cp "$tmp/before.yaml" "$space/real.yaml.previous"
post /api/config '{"restore":true}'
check "and its way back" eventually turns 7
sed -i 's/^store:/sandbox: { mode: off }\nstore:/' "$space/real.yaml.previous"
post /api/config '{"restore":true}'
answers "a previous version with other rights" 403
cp "$tmp/before.yaml" "$space/real.yaml.previous"
echo "  : broken" >>"$space/chela.yaml"
call GET /api/config
tells "a broken file is complained about" '.complaints | length > 0' true
post /api/config '{"restore":true}'
answers "and has a way back" 200
check "to a file that works" cmp -s "$space/chela.yaml" "$tmp/before.yaml"

# --- runs: how they ended, and waits for people
post /api/sessions/one/messages '{"text":"strike","stream":true}'
post /api/sessions/two/messages '{"text":"ask","stream":true}'
call GET /api/approvals
id=$(jq -r '.approvals[0].approval_id' "$out")
sleep 0.2
post "/api/approvals/$id" '{"decision":"allow-once"}'
ended() { call GET /api/activity?days=1 && [ "$(jq -r '[.runs[] | select(.session == "two").status] | join(",")' "$out")" = "done" ]; }
check "a run after a wait" eventually ended
tells "the wait" '[.runs[] | select(.session == "two") | .waits, (.waited_ms >= 200)] | map(tostring) | join(",")' "1,true"
tells "a failed run, with its error" '.runs[] | select(.session == "one") | [.status, .failures, (.error | test("on strike"))] | map(tostring) | join(",")' "error,1,true"
post /api/sessions/two/fork '{"to":"copy"}'
call GET /api/activity?days=1
tells "a copy's runs are not counted twice" '[.runs[].run] | length == (unique | length)' true

# --- sums beyond the limit of an answer
call GET /api/usage
tells "a sum of all calls" .truncated false
call GET /api/activity
tells "a list of all runs" .truncated false
jq -cn --argjson now "$(date +%s)000" '{chela_session: 1, key: "many", agent: "coder", title: "", status: "idle", created: $now, updated: $now, records: 5001},
    (range(1; 5002) as $n | {seq: $n, type: "message", ts: ($now + $n), data: {run: "run_\($n)", turn: 1, stop: "stop", usage: {input: 1, output: 1},
        message: {role: "assistant", content: [{type: "text", text: "x"}], ts: $now, api: "anthropic", model: "many"}}})' >"$space/many.jsonl"
(cd "$space" && with_env "$program" sessions import many.jsonl >/dev/null 2>"$tmp/import") || cat "$tmp/import"
call GET /api/usage
tells "a part of the calls, which says so" '[.truncated, (.calls | length)] | tojson' '[true,5000]'
call GET /api/activity
tells "a part of the runs, which says so" '[.truncated, (.runs | length)] | tojson' '[true,5000]'
call GET /api/usage
tells "the sums of a cut list are of all calls" '[.total.calls >= 5001, .total.calls == .total.runs + 1 or .total.calls > 5001] | tojson' '[true,true]'
call GET '/api/usage?by=model'
tells "groups by model are exact above 5,000 runs" '.groups[] | select(.key == "many") | [.runs, .calls, .input, .output] | tojson' '[5001,5001,5001,5001]'
tells "the total of groups is the sum of its groups" '[(.groups | map(.input) | add), (.groups | map(.calls) | add)] == [.total.input, .total.calls]' true
for by in day agent channel prompt user reason; do
    call GET "/api/usage?by=$by&bucket=month"
    tells "groups by $by and month have the same total" '[(.groups | map(.runs) | add), (.groups | map(.calls) | add), (.groups[0].bucket | length)] == [.total.runs, .total.calls, 7]' true
done
call GET '/api/usage?by=agent&bucket=week&since=2001-01-01&until=2001-02-01'
tells "a time without runs has no groups" '[.groups, .total.runs] | tojson' '[[],0]'
for query in by=shoe by=day\&bucket=year bucket=day\&since=yesterday by=day\&days=3; do
    call GET "/api/usage?$query"
    answers "a wrong parameter is refused: $query" 400
done
call GET '/api/runs?model=many&limit=2'
tells "runs have a total and a next page" '[.total, (.runs | length), (.next | type)] | tojson' '[5001,2,"string"]'
tells "the newest run is first" '.runs | map(.run) | tojson' '["run_5001","run_5000"]'
next=$(jq -r .next "$out")
call GET "/api/runs?model=many&limit=1000&cursor=$next"
tells "a page begins behind the cursor" '[.runs[0].run, (.runs | length)] | tojson' '["run_4999",1000]'
pages=1 seen=1002
while next=$(jq -r '.next // empty' "$out") && [ -n "$next" ] && [ "$pages" -lt 10 ]; do
    call GET "/api/runs?model=many&limit=1000&cursor=$next"
    pages=$((pages + 1)) seen=$((seen + $(jq '.runs | length' "$out")))
done
same "pages list each run once" 5001 "$seen"
call GET '/api/runs?reason=model_error&sort=tokens'
tells "runs of one reason" '[.runs[].session] | unique | tojson' '["one"]'
call GET '/api/runs?agent=nobody'
tells "no run" '[.runs, .total, .next] | tojson' '[[],0,null]'
call GET '/api/runs?model=many&min_cost=0.1'
tells "no run with this cost" .total 0
for query in sort=shoe cursor=x since=never min_cost=-1 page=2; do
    call GET "/api/runs?$query"
    answers "a wrong parameter of runs is refused: $query" 400
done
call GET "/api/sessions?limit=1"
tells "a part of the sessions, which says so" '[.truncated, (.sessions | length)] | tojson' '[true,1]'
call GET "/api/sessions?limit=1000"
tells "all sessions" .truncated false
call GET "/api/sessions?limit=1&q=x"
tells "a part of what was found, which says so" '[.truncated, (.hits | length)] | tojson' '[true,1]'
call GET /api/approvals
tells "all waiting calls" .truncated false
call GET /api/usage
tells "all budgets" '[.budgets_truncated, (.budgets | length)] | tojson' '[false,0]'
jq -cn --argjson now "$(date +%s)000" '{chela_session: 1, key: "waits", agent: "coder", title: "", status: "paused", created: $now, updated: $now, records: 3},
    ({type: "message", data: {run: "run_w", message: {role: "user", content: [{type: "text", text: "ask"}], ts: $now}}},
     {type: "message", data: {run: "run_w", turn: 1, stop: "tool_use", message: {role: "assistant", ts: $now, api: "anthropic", model: "m",
         content: [range(1001) | {type: "tool_call", id: "call_\(.)", name: "ask_user", arguments: {question: "Which?"}}]}}},
     {type: "state", data: {run: "run_w", turn: 1, status: "paused", mode: "react", state: "WAITING", reason: "human_required"}}) |
    {seq: 1, ts: $now} + .' | awk 'NR > 1 { sub(/"seq":1/, "\"seq\":" NR - 1) } 1' >"$space/waits.jsonl"
(cd "$space" && with_env "$program" sessions import waits.jsonl >/dev/null 2>"$tmp/import") || cat "$tmp/import"
call GET /api/approvals
tells "a part of the waiting calls, which says so" '[.truncated, (.unanswered | length)] | tojson' '[true,1000]'
python3 - "$space/chela.db" <<'PY'
import json, sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], timeout=60)
day = int(time.time() // 86400)
db.executemany("INSERT INTO notes(id, key, data, ts) VALUES (?, '', ?, ?)",
               [(f"budget/{d}/{n:016x}/test", json.dumps({"budget": "person", "of": f"p{n}", "tokens": 1}), day)
                for d in (day, day + 1) for n in range(1001)])
db.commit()
PY
call GET /api/usage
tells "a part of the budgets, which says so" '[.budgets_truncated, (.budgets | length)] | tojson' '[true,1000]'
same "chela usage sums up all" 5001 "$(cd "$space" && with_env "$program" usage --by model --json | jq '.[] | select(.model == "many").calls')"

# --- nodes
call GET /api/nodes
tells "this gateway" '[.store, .shared, .pid] | map(tostring) | join(",")' "sqlite,false,$gateway_pid"
tells "holds sessions" '[.nodes[] | select(.kind == "gateway" and .state == "alive") | .sessions > 0] | join(",")' true

# --- logs
call GET /api/logs
tells "lines of the log" '[.lines[] | select(.area == "gateway") | .text] | any(test("was changed from the console"))' true
tells "numbered" '[.lines[].seq] as $s | $s == ($s | sort)' true
check "no token in them" test "$(grep -c "$token" "$out")" = 0
last=$(jq '.lines[-1].seq' "$out")
timeout 20 curl -sN -H "Authorization: Bearer $token" "$gateway/api/logs?follow=1&after=$last" >"$tmp/lines" &
watcher=$!
check "the stream begins" eventually grep -q listening "$tmp/lines"
post /api/schedules/report/run '{}'
check "and goes on" eventually grep -q 'schedule/report.*is due' "$tmp/lines"
check "behind the last line" test "$(grep -c "\"seq\":$last," "$tmp/lines")" = 0
kill "$watcher" 2>/dev/null
wait "$watcher" 2>/dev/null
check "SIGTERM ends the gateway" stop_serving
tap_done
