#!/usr/bin/env bash
# Epochs: a service binds the reasoning of a reply to what it followed (tests/support/strict). Whatever
# changes in a conversation, the service refuses no request, and within an epoch the tools and the
# system prompt of all requests are the same bytes.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
command -v python3 >/dev/null || { skip "epochs" "python3 is not installed"; tap_done; exit; }

python3 -B tests/support/strict/server.py "$tmp/seen" >"$tmp/port" &
server_pid=$!
trap 'kill $server_pid 2>/dev/null; wait $server_pid 2>/dev/null; rm -rf "$tmp"' EXIT
for _ in {1..200}; do [ -s "$tmp/port" ] && break; sleep 0.05; done
base=http://127.0.0.1:$(cat "$tmp/port")
last=$tmp/last

# begin NAME: another conversation, of one reply and one call.
begin() {
    history=$1
    rm -rf "${space:?}"/* "$tmp/.local"
    echo "Be brief." >"$space/AGENTS.md"
    configure ''
    : >"$tmp/seen"
    say "hello" && say 'call ls {}'
}

# configure MEMBERS: the configuration; MEMBERS are further members of the agent.
configure() {
    cat >"$tmp/conf.yaml" <<YAML
agents: { defaults: { model: ${model:-anthropic/claude-opus-5-5}${1:+, }$1 } }
providers: { anthropic: { baseUrl: "$base"${window:+, models: [{ id: claude-opus-5-5, contextWindow: $window \}]} } }
YAML
}

say() {
    chela run --config "$tmp/conf.yaml" --session one --approve auto --sandbox off -q --output jsonl "$@"
    cp "$out" "$last"
    [ "$status" = 0 ] || not_ok "$history: \"${*: -1}\" is answered" "$(show)"
}

refused() { grep -c '^400' "$tmp/seen"; }
reasons() { jq -r 'select(.type == "epoch") | .reason' "$last" | tr '\n' ' '; }
# held N: the last request held N blocks of reasoning.
held() { same "$history: $1 blocks of reasoning go back" "$1" "$(tail -n 1 "$tmp/seen" | cut -d' ' -f2)"; }
# ends REASONS: the conversation goes on, nothing was refused, the last run began these epochs.
ends() {
    same "$history: the epochs that begin" "$1" "$(reasons)"
    say "and now?"
    same "$history: the service refuses nothing" 0 "$(refused)"
    same "$history: the next run begins no epoch" "" "$(reasons)"
}

begin "nothing changes"
say "again"
held 3
say 'call ls {} then call ls {}'
held 6
ends ""
same "nothing changes: the same tools and system prompt in every request" 1 "$(cut -d' ' -f3,4 "$tmp/seen" | sort -u | wc -l)"

begin "an edited AGENTS.md, in one process"
say 'call write {"file_path":"AGENTS.md","content":"Be kind."} then call ls {} then call ls {}'
same "an edited AGENTS.md, in one process: no epoch begins" "" "$(reasons)"
say "and now?"
same "an edited AGENTS.md, in one process: the service refuses nothing" 0 "$(refused)"

begin "an edited AGENTS.md, in the next process"
echo "Be kind." >"$space/AGENTS.md"
say "again"
held 0
ends "system "

begin "another --system"
say --system "be kind" "again"
same "another --system: the epoch that begins" "system " "$(reasons)"
say "back"
ends "system "

begin "a tool is denied"
say --deny ls "again"
held 0
say "back"
ends "tools "

begin "a tool is added"
configure ''
cat >>"$tmp/conf.yaml" <<'YAML'
tools: { custom: [ { name: hello, description: Says hello., parameters: { type: object }, command: [echo, hi], effect: read, permission: read } ] }
YAML
say "call hello {}"
ends "tools "

begin "more tools than a request describes"
{ printf 'tools:\n  custom:\n'
  for n in $(seq 40); do echo "    - { name: tool$n, description: Does the thing number $n., parameters: { type: object }, command: [echo, \"$n\"], effect: read, permission: read }"; done
} >>"$tmp/conf.yaml"
say "tell me of thing number 7"
say "tell me of thing number 33"
say "and of thing number 12"
same "more tools than a request describes: no epoch begins, the service refuses nothing" "0 " "$(refused) $(reasons)"

begin "a rule is added"
configure 'context: { rules: [ "Answer in verse." ] }'
say "again"
ends "system "

begin "more effort"
say --reasoning high "again"
ends ""

begin "an image"
printf 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==' | base64 -d >"$space/a.png"
say --image a.png "what is this?"
ends ""

begin "another model and back"
say --model anthropic/claude-sonnet-5-5 "again"
held 3 # its service drops what it cannot read
say "back"
held 4
say "again"
same "another model and back: the service refuses nothing" 0 "$(refused)"

model=anthropic/claude-opus-5
begin "a newer model that reads what the older one wrote, and back"
say --model anthropic/claude-opus-5-5 "again"
held 3
say --model anthropic/claude-opus-5-5 'call ls {} then call ls {}'
held 6
say "back"
held 7
say --model anthropic/claude-opus-5-5 "and again"
same "a newer model and back: the service refuses nothing" 0 "$(refused)"
model=

begin "old results are pruned"
window=24000
configure ''
steps="talk"
for n in 1 2 3 4 5 6 7 8; do
    seq -w 1 1500 | sed "s/^/$n/" >"$space/$n.txt"
    steps="call read {\"file_path\":\"$n.txt\"} then $steps"
done
say "$steps"
check "old results are pruned: the history was rewritten" grep -q '"type":"compaction"' "$last"
check "old results are pruned: an epoch began" grep -qE '"reason":"(pruning|compaction)"' "$last"
say "and now?"
same "old results are pruned: the service refuses nothing" 0 "$(refused)"
window=

begin "a fork"
chela sessions fork one
fork=$(cat "$out")
check "a fork: it is made" test "$status" = 0
chela run --config "$tmp/conf.yaml" --session "$fork" --sandbox off -q --output jsonl --system "be kind" "again"
same "a fork: the service refuses nothing" "0 0" "$status $(refused)"
say "the first goes on"
held 3
ends ""

begin "the check begins later"
curl -s -X POST "$base/off"
say "again"
curl -s -X POST "$base/bound"
ends ""

# A service that refuses every block of the past.
begin "the service refuses a block"
curl -s -X POST "$base/strip"
say --output jsonl "again"
same "the service refuses a block: one request more" 1 "$(refused)"
same "the service refuses a block: the epoch that begins" "refused_block " "$(reasons)"
check "the service refuses a block: a warning says so" grep -q 'no longer takes its earlier reasoning' "$last"
curl -s -X POST "$base/bound"
say "and now?"
held 1
same "the service refuses a block: the next process knows" "1 " "$(refused) $(reasons)"

begin "the service calls a block modified"
curl -s -X POST "$base/modified"
say --output jsonl "again"
same "the service calls a block modified: one request more, and the run ends well" "1 0" "$(refused) $status"
curl -s -X POST "$base/bound"
say "and now?"
same "the service calls a block modified: the session goes on" "1 0" "$(refused) $status"

begin "the service refuses two blocks in a row"
curl -s -X POST "$base/strip"
say 'call ls {} then call ls {}'
same "the service refuses two blocks in a row: one request more for each" 3 "$(refused)"
curl -s -X POST "$base/bound"

# Trace rebuilds the bytes of a request of a later epoch.
begin "trace"
say --system "be kind" "again"
chela trace one --request 4 --json
holds "trace: the request of a later epoch is rebuilt byte for byte" '.[0].verified'
tap_done
