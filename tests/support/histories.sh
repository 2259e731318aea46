# histories.sh -- what happens to a conversation: whatever it is, the service of a vendor
# (tests/support/strict), which binds what it returns to what it was sent, refuses no request of the
# session afterwards. Within an epoch, tools and system prompt of all requests are the same bytes,
# and each request begins with the messages of the one before. Source it after e2e.sh.
#
#     histories VENDOR PART     anthropic, openai or gemini; edits or moves, or the functions that
#                               HISTORIES names
. tests/support/serve.sh
needs "histories" python3 curl

python3 -B tests/support/strict/server.py "$tmp/seen" >"$tmp/port" &
server_pid=$! gateway_pid=
clean_up() {
    [ -z "$gateway_pid" ] || kill -9 "$gateway_pid" 2>/dev/null
    kill $server_pid
    wait 2>/dev/null
    rm -rf "$tmp"
}
trap clean_up EXIT
for _ in {1..200}; do [ -s "$tmp/port" ] && break; sleep 0.05; done
base=http://127.0.0.1:$(cat "$tmp/port")
last=$tmp/last
own_program=$program

# vendor NAME: its models, and one of another vendor.
vendor() {
    vendor=$1
    case $1 in
    anthropic) model=anthropic/claude-opus-5-5 sibling=anthropic/claude-sonnet-5-5 stranger=openai-responses/gpt-6-sol ;;
    openai) model=openai-responses/gpt-6.1-sol sibling=openai-responses/gpt-6-sol stranger=gemini/gemini-3.8-flash ;;
    gemini) model=gemini/gemini-3.8-flash sibling=gemini/gemini-4-argon stranger=anthropic/claude-opus-5-5 ;;
    esac
}

# configure [MEMBERS [WINDOW]]: the configuration; MEMBERS are further members of the agent.
configure() {
    local of="" id=${model#*/}
    [ -z "${2-}" ] || of=", models: [{ id: $id, contextWindow: $2 }]"
    cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
sandbox: { mode: off }
approvals: { exec: auto }
agents: { defaults: { model: $model${1:+, }${1-} } }
providers:
  anthropic: { baseUrl: "$base"$of }
  openai-responses: { baseUrl: "$base/v1"$of }
  gemini: { baseUrl: "$base"$of }
YAML
}

# tools FROM TO: tools of the configuration.
tools() {
    printf 'tools:\n  custom:\n'
    for n in $(seq "$1" "$2"); do
        echo "    - { name: tool$n, description: Does the thing number $n., parameters: { type: object }, command: [echo, \"$n\"], effect: read, permission: read }"
    done
}

until_there() {
    for _ in {1..400}; do
        [ ! -e "$space/$1" ] || return
        sleep 0.05
    done
}

control() { curl -s -X POST "$base/$1"; }

# begin NAME: another conversation, of one reply and one call.
begin() {
    history="$vendor: $1"
    rm -rf "${space:?}"/* "$space"/.[a-z]* "$tmp/.local" "$tmp/.cache" "$tmp"/.believed*
    program=$own_program
    echo "Be brief." >"$space/AGENTS.md"
    mkdir -p "$space/skills/notes"
    printf -- '---\nname: notes\ndescription: Takes notes\n---\nTake notes.\n' >"$space/skills/notes/SKILL.md"
    configure
    : >"$tmp/seen"
    control begin
    say "hello" && say 'call ls {}'
}

say() {
    chela run --session one --approve auto -q --output jsonl "$@"
    cp "$out" "$last"
    [ "$status" = 0 ] || not_ok "$history: \"${*: -1}\" is answered" "$(show; cat "$tmp/seen")"
}

refused() { grep -c '^400' "$tmp/seen"; }
reasons() { jq -r 'select(.type == "epoch") | .reason' "$last" | tr '\n' ' '; }
same_prefix() { grep " turn $vendor " "$tmp/seen" | cut -d' ' -f3,4 | sort -u | wc -l; }

# fine: the service refused nothing so far, nor does it refuse what comes next.
fine() {
    say 'call ls {}'
    say "and now?"
    if [ "$(refused)" = 0 ]; then ok "$history: nothing is refused"; else not_ok "$history: nothing is refused" "$(cat "$tmp/seen")"; fi
}
# appends: the history only grew: one epoch, and the same first bytes in every request.
appends() {
    same "$history: one epoch" "" "$(reasons)"
    same "$history: the same tools and system prompt in every request" 1 "$(same_prefix)"
    same "$history: each request begins with the messages before" "" "$(grep " other turn $vendor " "$tmp/seen")"
    fine
}
# renews REASON: the last run began an epoch, the next begins none.
renews() {
    same "$history: the epoch that begins" "$1 " "$(reasons)"
    fine
    same "$history: the next run begins no epoch" "" "$(reasons)"
}

# The service refuses what it should: changed copies of a request that it took.
refuses_changes() {
    local path=/v1/messages body change changes=()
    begin "a changed request"
    body=$(cat "$tmp/seen.last")
    case $vendor in
    anthropic) changes=('.system[0].text += "x"' '.tools |= .[1:]' '.messages[0].content[0].text += "x"' '.messages[1].content[0].thinking = "x"'
        '.messages[-1].content[0].tool_use_id = "x"' '.output_config.effort = "minimal"' '.temperature = 0') ;;
    openai) path=/v1/responses changes=('.input |= map(select(.type != "function_call_output"))' '.input |= map(select(.type != "reasoning"))'
        '.input |= map(select(.type != "function_call"))' '.input[1].encrypted_content = "x"' 'del(.input[].phase)' '.store = true') ;;
    gemini) path=/v1beta/$model:streamGenerateContent path=${path/gemini/models} changes=('del(.contents[].parts[].thoughtSignature)' '.contents |= .[:-1]'
        '.contents[3].parts[0].thoughtSignature = "x"' '.contents[-1].parts[0].functionResponse.name = "x"' '.generationConfig.thinkingConfig.thinkingBudget = 5') ;;
    esac
    for change in . "${changes[@]}"; do
        control begin
        same "$history: $change: the status" "$([ "$change" = . ] && echo 200 || echo 400)" \
            "$(jq -c "$change" <<<"$body" | curl -s -o "$tmp/reply" -w '%{http_code}' "$base$path" -d @-)"
    done
}
nothing_changes() {
    begin "nothing changes"
    say 'call ls {} then call ls {}'
    say 'calls ls {} & ls {"path":"skills"} then call ls {}'
    appends
}
instructions_edited() {
    begin "AGENTS.md is edited by a call"
    say 'call write {"file_path":"AGENTS.md","content":"Be kind."} then call ls {} then call ls {}'
    appends
    begin "AGENTS.md is edited between two processes"
    echo "Be kind." >"$space/AGENTS.md"
    say 'call ls {}'
    renews system
}
skills_changed() {
    begin "a skill is edited by a call"
    say 'call write {"file_path":"skills/notes/SKILL.md","content":"---\nname: notes\ndescription: Takes many notes\n---\nTake them.\n"} then call ls {}'
    appends
    begin "skills are added and removed between two processes"
    mkdir "$space/skills/letters"
    printf -- '---\nname: letters\ndescription: Writes letters\n---\nWrite.\n' >"$space/skills/letters/SKILL.md"
    rm -r "$space/skills/notes"
    say 'call ls {}'
    renews system
}
another_system() {
    begin "another system prompt and back"
    say --system "Be kind." 'call ls {}'
    same "$history: the epoch that begins" "system " "$(reasons)"
    say "back"
    renews system
}
tool_denied() {
    begin "a tool is denied and allowed again"
    say --deny ls "again"
    say "back"
    renews tools
}
tools_added() {
    begin "a tool is added"
    tools 1 1 >>"$space/chela.yaml"
    say "call tool1 {}"
    renews tools
}
tools_wait() {
    begin "tools that wait are found and called"
    tools 1 40 >>"$space/chela.yaml"
    say "call tool7 {}"
    say 'call find_tools {"query":"thing number 33"} then call call_tool {"name":"tool33"}'
    say "call tool12 {}"
    appends_after_change
}
# The epoch that began with the tools goes on.
appends_after_change() {
    say "and again"
    same "$history: no other epoch" "" "$(reasons)"
    fine
    same "$history: two lists of tools in all" 2 "$(same_prefix)"
}
effort_changed() {
    begin "the effort changes"
    say --reasoning high 'call ls {}'
    say --reasoning low 'call ls {}'
    appends
}
pruned() {
    local steps="talk" n
    begin "old results are pruned"
    configure "" 24000
    for n in 1 2 3 4 5 6 7 8; do
        seq -w 1 1500 | sed "s/^/$n/" >"$space/$n.txt"
        steps="call read {\"file_path\":\"$n.txt\"} then $steps"
    done
    say "$steps"
    check "$history: the history was rewritten" grep -q '"type":"compaction"' "$last"
    fine
}
compacted() {
    local n
    begin "the conversation is compacted"
    for n in 1 2 3 4; do
        seq -w 1 600 | sed "s/^/$n/" >"$space/$n.txt"
        say "call read {\"file_path\":\"$n.txt\"}"
    done
    chela sessions compact --output jsonl one
    cp "$out" "$last"
    same "$history: a summary" summary "$(jq -r 'select(.type == "compaction") | .strategy' "$last")"
    fine
    same "$history: the next run begins no epoch" "" "$(reasons)"
}
forked() {
    begin "a fork goes its own way"
    chela sessions fork one
    local fork
    fork=$(cat "$out")
    chela run --session "$fork" -q --output jsonl --system "Be kind." "call ls {}"
    same "$history: the fork is answered" "0 0" "$status $(refused)"
    control begin
    : >"$tmp/seen"
    say "the first goes on"
    appends
}
undone() {
    begin "a turn is undone"
    say "call ls {} then call ls {}"
    chela sessions fork --at-turn 2 --key two one
    chela run --session two -q --output jsonl "call ls {}"
    cp "$out" "$last"
    same "$history: it goes on from before" "0 " "$status $(reasons)"
    fine
}
steered() {
    begin "a run is steered"
    serve
    post /api/sessions/one/messages '{"text":"calls exec {\"command\":\"touch started; until [ -e go ]; do sleep 0.05; done\"} & ls {} then call ls {}"}'
    until_there started
    post /api/sessions/one/messages '{"text":"call ls {}","mode":"steer","stream":false}'
    same "$history: the message is taken" 202 "$code"
    touch "$space/go"
    for _ in {1..400}; do
        call GET /api/sessions/one
        [ "$(jq -r .status "$out")" != idle ] || break
        sleep 0.05
    done
    check "$history: a call was skipped for it" jq -e '.error_log[0].text | test("Skipped: a new message")' "$out"
    stop_serving
    fine
}
another_model() {
    begin "another model of the vendor and back"
    say --model "$sibling" 'call ls {} then call ls {}'
    [ "$vendor" != anthropic ] || same "$history: the other model gets the reasoning" "3 4 5" \
        "$(grep " $vendor ${sibling#*/} " "$tmp/seen" | cut -d' ' -f2 | paste -sd ' ')"
    say 'call ls {}'
    say --model "$sibling" 'call ls {}'
    fine
}
another_vendor() {
    begin "another vendor and back"
    say --model "$stranger" 'call ls {} then calls ls {} & ls {"path":"skills"}'
    say 'call ls {}'
    say --model "$stranger" 'call ls {}'
    fine
    begin "another vendor, AGENTS.md edited there, and back"
    echo "Be kind." >"$space/AGENTS.md"
    say --model "$stranger" 'call ls {}'
    fine
    begin "another vendor, a tool denied there, and back"
    say --model "$stranger" --deny ls 'hello'
    fine
}
rewritten_elsewhere() {
    local n
    begin "another vendor, compacted there, and back"
    for n in 1 2 3 4; do
        seq -w 1 600 | sed "s/^/$n/" >"$space/$n.txt"
        say "call read {\"file_path\":\"$n.txt\"}"
    done
    say --model "$stranger" 'call ls {}'
    chela sessions compact --output jsonl one
    say --model "$stranger" 'call ls {}'
    fine
}
upgraded() {
    begin "another version of the program and back"
    mkdir -p "$tmp/other"
    [ -e "$tmp/other/chela" ] || {
        cp -L "$BUILD"/chela "$BUILD"/*.so* "$tmp/other"
        LC_ALL=C sed -i 's/Read a text file of the workspace/View a text file of the workspace/; s/You are a capable assistant/You are a helpful assistant/' "$tmp"/other/libchela.so*
    }
    program=$tmp/other/chela
    say 'call ls {}'
    renews system
    program=$own_program
    say 'call ls {}'
    renews system
}
without_epochs() {
    begin "a version without epochs wrote the conversation"
    chela sessions export one
    jq -c 'if .type == "epoch" then .data = {} else . end' "$out" >"$space/one.jsonl"
    chela sessions delete one
    chela sessions import --key one "$space/one.jsonl"
    say --system "Be kind." 'call ls {}'
    renews unknown
}
killed() {
    begin "the process is killed in the middle of a call"
    (cd "$space" && with_env "$program" run --session one --approve auto -q --output jsonl \
        'calls ls {} & exec {"command":"touch started; until [ -e go ]; do sleep 0.05; done; touch ended"} then call ls {}' >"$out" 2>"$err" </dev/null; true) &
    until_there started
    pkill -9 -P $! chela
    wait $!
    touch "$space/go"
    until_there ended
    chela sessions resume one --approve auto -q --output jsonl
    cp "$out" "$last"
    same "$history: it is resumed" "0 " "$status $(reasons)"
    fine
    begin "the process is killed while the service writes"
    control wait
    (cd "$space" && with_env "$program" run --session one --approve auto -q --output jsonl 'call ls {}' >"$out" 2>"$err" </dev/null; true) &
    for _ in {1..400}; do grep -q model_request "$out" && break; sleep 0.05; done
    pkill -9 -P $! chela
    wait $!
    control go
    chela sessions resume one --approve auto -q --output jsonl
    cp "$out" "$last"
    same "$history: it is resumed" "0 " "$status $(reasons)"
    fine
}
image() {
    begin "an image"
    printf 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==' | base64 -d >"$space/a.png"
    say --image a.png "what is this?"
    say 'call read {"file_path":"a.png"}'
    appends
}
another_day() {
    begin "the next day"
    printf '#!/bin/sh\nASAN_OPTIONS=%s:verify_asan_link_order=0 LD_PRELOAD=%s CHELA_CRASH_CLOCK=%s exec %s "$@"\n' \
        "${ASAN_OPTIONS-}" "$BUILD/tests/support/crashpoint" "$tmp/clock" "$own_program" >"$tmp/tomorrow"
    chmod +x "$tmp/tomorrow"
    echo 90000 >"$tmp/clock"
    program=$tmp/tomorrow
    say 'call ls {}'
    check "$history: it is the next day" jq -se --argjson now "$(date +%s)" '.[0].ts / 1000 > $now + 80000' "$last"
    appends
    program=$own_program
}
hundred_turns() {
    local part n steps
    begin "a hundred turns with sixty tools"
    tools 1 60 >>"$space/chela.yaml"
    say "call tool60 {}"
    control begin
    : >"$tmp/seen"
    for part in 0 1 2 3; do
        steps=
        for n in {1..25}; do steps+="call tool$((part * 15 + n % 15 + 1)) {\"n\":$((part * 25 + n))} then "; done
        say --max-turns 60 "${steps}talk"
    done
    check "$history: it takes a hundred requests" test "$(wc -l <"$tmp/seen")" -ge 104
    same "$history: the cache is hit in each but the first" "" "$(tail -n +2 "$tmp/seen" | awk '$5 == 0')"
    appends
}
refuses_reasoning() {
    local way
    for way in strip modified; do
        begin "the service refuses its own reasoning ($way)"
        control "$way"
        say "again"
        same "$history: one request more" 1 "$(refused)"
        same "$history: the epoch that begins" "refused_block " "$(reasons)"
        control bound
        say 'call ls {}'
        say "and now?"
        same "$history: nothing else is refused" "1 " "$(refused) $(reasons)"
    done
}

refuses_everything() {
    begin "the service refuses the repaired request as well"
    control stubborn
    chela run --session one --approve auto -q --output jsonl "again"
    cp "$out" "$last"
    same "$history: the run ends with its reason, after one request more" "1 2 model_error" \
        "$status $(refused) $(jq -r 'select(.type == "run_end").reason' "$last")"
    control bound
    say 'call ls {}'
    say "and now?"
    same "$history: the session goes on" "2 " "$(refused) $(reasons)"
}
histories() {
    local name
    local edits="refuses_changes nothing_changes instructions_edited skills_changed another_system tool_denied tools_added tools_wait effort_changed image
        another_day upgraded without_epochs killed"
    local moves="pruned compacted forked undone steered another_model another_vendor rewritten_elsewhere hundred_turns refuses_reasoning refuses_everything"
    vendor "$1"
    for name in ${HISTORIES:-${!2}}; do "$name"; done
}
