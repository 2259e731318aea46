#!/usr/bin/env bash
# Attacks of somebody who has the program and its documentation: names of a stranger's directory
# that the user types, files and keys that lead elsewhere, texts for pages and terminals, and
# bodies of requests to the gateway.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

program=$(realpath "$program")
echo VICTIM >"$tmp/victim"
echo TOPSECRET >"$tmp/secret"
cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^html" }, say: "</pre></style><script>alert(1)</script><img src=x onerror=alert(2)>" }
  - { say: "you said: {{user}}" }
YAML
victim_is_whole() { [ "$(cat "$tmp/victim")" = VICTIM ]; }
start_server

# --- names that the user types in a stranger's directory
fresh hello anthropic
tape() { chela run --model anthropic/claude-test --base-url "$base" --record "$1" "go on"; }
ln -s "$tmp/victim" "$space/tape.jsonl"
tape tape.jsonl
exits "a cassette that is a link" 2
check "a cassette that is a link: nothing is written" victim_is_whole
rm "$space/tape.jsonl"
mkfifo "$space/tape.jsonl"
seconds=20 tape tape.jsonl
exits "a cassette that is a pipe" 2
(umask 0 && tape own.jsonl)
same "a cassette is the user's alone" 600 "$(stat -c %a "$space/own.jsonl")"
check "a cassette has no key" test 0 = "$(grep -c "${key:8}" "$space/own.jsonl")"
chela run --session h --model scripted/rules.yaml "html <b>'\"&"
exits "an answer for a page" 0
chela trace --html page.html h
exits "a page" 0
check "a page has no tags of an answer" test 0 = "$(grep -c '<script\|<img' "$space/page.html")"
ln -s "$tmp/victim" "$space/link.html"
chela trace --html link.html h
exits "a page that is a link" 2
check "a page that is a link: nothing is written" victim_is_whole
cat >"$space/why.json" <<'JSON'
{"session":"<script>","session_turn":"<script>","request":1,"verdict":"<img src=x onerror=alert(1)>","decision":"</pre><script>",
 "causes":[{"agreed":"<img src=x>","of":2,"smallest":true,"instead":"<script>","parts":[{"kind":"<script>","origin":"<img src=x>","text":"</pre><script>"}]}],
 "notes":["<script>"]}
JSON
chela trace --html why.html --why why.json h
exits "a page with a report" 0
check "a page with a report has no tags of the report" test 0 = "$(grep -c '<script\|<img' "$space/why.html")"

# --- keys of sessions and names of skills that are paths
(umask 0 && chela run --background --session ../../../out --model scripted/rules.yaml hello)
ended() { [ -n "$(find "$tmp/.local/state/chela/background" -name '*.log' -size +0)" ]; }
check "a session whose key is a path: its log is kept" eventually ended
same "a session whose key is a path: only there" "" "$(find "$tmp" -name '*out*' -not -path '*/background/*' -not -path "$out" -printf '%P ')"
same "logs of the background are the user's alone" "600 700" "$(find "$tmp/.local/state/chela/background" -printf '%m\n' | sort -u | paste -sd' ')"
same "store, logs and copies are the user's alone, whatever the umask is" "" "$(find "$tmp/.local" -perm /077 ! -type l -printf '%P ')"
chela skills show ../../../../etc/passwd
exits "a skill whose name is a path" 2
chela skills remove ../../../victim
check "removing a skill whose name is a path" victim_is_whole
mkdir "$tmp/odd" "$tmp/plain" "$tmp/kept"
printf -- '---\nname: ../../evil\ndescription: d\n---\nt\n' >"$tmp/odd/SKILL.md"
chela skills add --yes "$tmp/odd"
same "a skill that calls itself a path stays in the folder" "" "$(find "$tmp" -name evil -not -path '*/chela/skills/evil' -printf '%P ')"
printf -- '---\nname: plain\ndescription: d\n---\nt\n' >"$tmp/plain/SKILL.md"
echo kept >"$tmp/kept/file"
mkdir -p "$tmp/.config/chela/skills"
ln -s "$tmp/kept" "$tmp/.config/chela/skills/plain"
chela skills add --yes "$tmp/plain"
chela skills remove plain
same "a folder of skills that is a link elsewhere" "file" "$(ls "$tmp/kept")"

# --- the gateway
mkdir -p "$space/memory"
echo note >"$space/memory/note.md"
ln -s "$tmp/secret" "$space/memory/link.md"
echo data >"$space/a.txt"
cat >"$space/chela.yaml" <<'YAML'
store: sqlite:./chela.db
agents: { list: [{ id: coder, model: scripted/rules.yaml }] }
YAML
serve
# refused NAME STATUS
refused() {
    answers "$1" "$2"
    check "$1: no secret" test 0 = "$(grep -c 'TOPSECRET\|root:x' "$out")"
    check "$1: no header of the client" test 0 = "$(grep -ci '^x-evil' "$err")"
}
while read -r want path; do
    call GET "$path"
    refused "GET $path" "$want"
done <<'PATHS'
404 /api/memory/coder?file=../secret
404 /api/memory/coder?file=memory/link.md
404 /api/memory/coder?file=memory/../../secret
404 /console/..%2f..%2fsecret
404 /console/%2e%2e/page.html
404 /console/page.html%00.js
404 /api/sessions/..%2f..%2fx/export
404 /api/sessions/a%0d%0aX-Evil:%201/export
400 /api/sessions/x/records?after=-9223372036854775808
400 /api/sessions?limit=-1&query=%00%ff
200 /api/logs?limit=999999999999999999999
400 /api/activity?days=99999999999999
PATHS
n=0
while read -r want body; do
    n=$((n + 1))
    post "/api/sessions/m$n/messages" "$body"
    refused "a message: $body" "$want"
done <<'BODIES'
400 {"text":"x","images":["file:///etc/passwd"]}
400 {"text":"x","files":[{"url":"file:///etc/passwd","name":"../../../evil"}]}
400 {"text":"x","model":"scripted//etc/passwd"}
400 {"text":"x","model":"main"}
202 {"text":"x","files":[{"url":"data:text/plain;base64,aGk=","name":"../../../evil"}]}
202 {"text":"see @/etc/passwd and @~/secret and @memory/link.md"}
202 {"text":"/skill ../../../../etc/passwd"}
BODIES
quiet() {
    call GET /api/sessions/m7
    [ "$(jq -r .status "$out")" = idle ] && call GET /api/sessions/m6 && [ "$(jq -r .status "$out")" = idle ]
}
check "the messages are answered" eventually quiet
for m in m5 m6 m7; do
    call GET "/api/sessions/$m"
    refused "what the model was told in $m" 200
done
same "no file of a message outside of the workspace" "" "$(find "$tmp" -name evil -not -path '*/chela/skills/evil' -printf '%P ')"
post /api/sessions/m1/messages "{\"text\":\"x\",\"images\":[\"http://127.0.0.1:$trap_port/p.png\"]}"
check "an address in a message is not fetched" test 0 = "$(grep -c p.png "$log")"
for one in 'sandbox.mode "off"' 'agents.list[coder].tools.allow ["*"]' 'gateway.token "0123456789abcdef"' \
    'tools.custom [{"name":"x","command":["sh"]}]' 'store "sqlite:/tmp/x"' 'mcp.servers {"s":{"command":["sh"]}}'; do
    post /api/config "{\"key\":\"${one%% *}\",\"value\":${one#* },\"check\":true}"
    refused "a change of ${one%% *}" 403
done
while read -r body; do
    post /tools/invoke "$body"
    refused "a call: $body" 200
    tells "a call: $body: refused" .error_type permission_denied
done <<'CALLS'
{"tool":"exec","args":{"command":"touch evil"}}
{"tool":"read","args":{"path":"chela.db"}}
{"tool":"read","args":{"path":"../secret"}}
{"tool":"read","args":{"path":"memory/link.md"}}
{"tool":"write","args":{"path":"sub/.git/config","content":"x"}}
{"tool":"write","args":{"path":".envrc","content":"x"}}
{"tool":"write","args":{"path":"chela.db-wal","content":"x"}}
{"tool":"apply_patch","args":{"input":"*** Begin Patch\n*** Update File: a.txt\n*** Move to: .envrc\n@@\n-data\n+y\n*** End Patch"}}
CALLS
post /tools/invoke '{"tool":"grep","args":{"pattern":"TOPSECRET|you said: x","path":"."}}'
check "a search reads no hidden file" test 0 = "$(grep -c 'chela.db\|TOPSECRET:' "$out")"
post /api/sessions/m1/fork '{"to":"a\u001bb"}'
answers "a copy whose key has control characters" 400
post /api/sessions/m6/messages '{"text":"one"}' -H 'Idempotency-Key: k'
post /api/sessions/m5/messages '{"text":"two"}' -H 'Idempotency-Key: k'
answers "a key of another request" 409
call GET /api/sessions/m6 -H "traceparent: $(head -c 7000 /dev/zero | tr '\0' a)"
answers "a trace context that is none" 200
anon GET /
check "the console runs no other script" grep -qi "^content-security-policy:.*default-src 'none'.*script-src 'self'.*trusted-types 'none'" "$err"
same "the token is not in the arguments of the process" 0 "$(tr '\0' '\n' <"/proc/$gateway_pid/cmdline" | grep -c "$token")"
stop_serving
tap_done
