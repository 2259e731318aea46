#!/usr/bin/env bash
# `chela sessions erase` and DELETE: the text of a session is gone from every file of an SQLite store,
# and a receipt says what was removed and what may remain.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

plant=XQ7-zebra-lantern-sentence
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none, user: "long" }, call: { tool: exec, args: { command: "for i in $(seq 40000); do echo XQ7-zebra-lantern-sentence $i; done" } } }
  - { say: "you said: {{user}}" }
YAML
mkdir "$space/db"
db=(--store sqlite:db/c.db)
ask() { chela run --model scripted/rules.yaml --approve auto --sandbox off "${db[@]}" "$@"; }
hits() { grep -rlaF "$plant" "$@" 2>/dev/null | wc -l | tr -d ' '; }

for n in 1 2 3 4 5 6; do ask --session "s$n" "$plant number $n" >/dev/null; done
ask --session big "long $plant"
exits "a run with a long result" 0
for n in {1..20}; do ask --session keep "harmless $n" >/dev/null; done
chela sessions search "${db[@]}" zebra
check "the sentence is in the store" test "$(hits "$space/db")" -gt 0
check "the long result is in a file" test "$(hits "$space/.chela/spill")" -gt 0
chela sessions erase "${db[@]}" --json big
exits "a session is erased" 0
holds "the receipt names the session" '.[0] | [.erased[0].session, .complete, (.erased[0].records > 3), .backend] | tojson == "[\"big\",true,true,\"sqlite\"]"'
holds "the receipt names the file of the long result" '.[0].files | length == 1 and (.[0] | test("/.chela/spill/"))'
same "the file is gone" 0 "$(hits "$space/.chela/spill")"
check "the others have the sentence still" test "$(hits "$space/db")" -gt 0
for n in 1 2 3 4 5 6; do
    chela sessions erase "${db[@]}" "s$n"
    exits "session s$n is erased" 0
done
same "no file of the store has the sentence" 0 "$(hits "$space/db")"
chela sessions search "${db[@]}" harmless
exits "the rest is searched again" 0
check "search still finds the other sessions after an erase" grep -q keep "$out"
chela sessions erase "${db[@]}" s1
exits "an erased session is not there" 2
check "the message says so" grep -q "there is no session 's1'" "$err"
chela sessions erase "${db[@]}" s1 s2
exits "one session at a time" 2
chela sessions erase "${db[@]}"
exits "a choice is needed" 2

# --- a gateway: requests with a key, persons, a run in progress
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./db/g.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
YAML
program=$(realpath "$program")
serve
idle() { call GET "/api/sessions/$1" && [ "$(jq -r .status "$out")" = idle ]; }
post /api/sessions/web/messages "{\"text\":\"$plant\"}" -H 'Idempotency-Key: k1'
answers "a message with a key" 202
check "the run ends" eventually idle web
post /api/sessions/other/messages '{"text":"harmless"}'
check "another session" eventually idle other
call GET "/api/sessions?q=zebra"
call DELETE /api/sessions/web
answers "DELETE" 200
tells "a receipt comes with it" '.receipt | [.erased[0].session, .complete] | tojson' '["web",true]'
gone() { [ "$(hits "$space/db")" = 0 ]; }
check "no file of the store has the sentence, while the gateway runs" eventually gone
post /api/sessions/web/messages "{\"text\":\"$plant\"}" -H 'Idempotency-Key: k1'
call GET /api/sessions/web
check "the same request runs nothing again" test "$code" = 404
call GET /api/sessions/other
answers "the other session is as it was" 200
call DELETE /api/sessions/nobody
answers "a session that is not there" 404
stop_serving
tap_done
