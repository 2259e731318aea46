# e2e.sh -- the real program against the loopback server. Source it after
# tap.sh, from the root of the tree.
#
#     start_server                  $url, $log, $trap_port
#     fresh NAME API                a base URL for a new instance of NAME: $base
#     play API NAME [FLAG...]       run a conversation; sets $status, $out, $err
#     chela ARG...                  run the program; sets the same
#     requests [FILTER]             the requests to the last instance, as JSON lines
#
# The program runs in $space, an empty directory, with a key that must never
# appear in the output: the output of every run is searched for it.
# shellcheck disable=SC2034
key=sk-ant-api03-e2eSENTINELe2e-0123456789abcdef
aws_secret=wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY # the only one that the server knows
tmp=$(mktemp -d)
space=$tmp/space
out=$tmp/out
err=$tmp/err
log=$tmp/log.jsonl
program=$BUILD/chela
instances=0
apis=(anthropic openai openai-responses gemini interactions bedrock) # every protocol that the server speaks
seconds=60
mkdir "$space"
: >"$log"
trap 'rm -rf "$tmp"' EXIT

start_server() {
    "$BUILD/tests/support/llmserver" --conversations tests/conversations/good --conversations tests/conversations/bad \
        --conversations "$tmp" --log "$log" >"$tmp/ports" &
    server_pid=$!
    for _ in {1..100}; do
        grep -q trap "$tmp/ports" && break
        sleep 0.05
    done
    url=http://127.0.0.1:$(sed -n 's/^port //p' "$tmp/ports")
    trap_port=$(sed -n 's/^trap //p' "$tmp/ports")
    trap 'kill $server_pid 2>/dev/null; wait $server_pid 2>/dev/null; rm -rf "$tmp"' EXIT
}

fresh() {
    instances=$((instances + 1))
    conversation=$1
    base=$url/$1/i$instances
    case $2 in anthropic | gemini | interactions | bedrock) ;; *) base=$base/v1 ;; esac
}

model() {
    case $1 in
        anthropic) echo anthropic/claude-test ;;
        openai | openai-responses) echo "$1/gpt-test" ;;
        gemini) echo gemini/gemini-3-test ;;
        interactions) echo gemini-interactions/gemini-3-test ;;
        bedrock) echo bedrock/us.anthropic.claude-sonnet-4-5-test-v1:0 ;;
    esac
}

# A chela.yaml that a test wrote belongs to the user: it is recorded as trusted, once
# for each text. A test of a stranger's file sets untrusted=1.
believe() {
    local seen=$tmp/.believed${PWD//\//_}
    if [ -n "${untrusted-}" ] || [ ! -f chela.yaml ] || cmp -s chela.yaml "$seen"; then return; fi
    env -i PATH="$PATH" HOME="$tmp" ${ASAN_OPTIONS+ASAN_OPTIONS="$ASAN_OPTIONS"} "$program" trust >/dev/null 2>&1 </dev/null
    cp chela.yaml "$seen"
}

# The environment of every run: only the variables named here.
with_env() {
    believe
    env -i PATH="$PATH" HOME="$tmp" LC_ALL=C.UTF-8 TERM=dumb ${ASAN_OPTIONS+ASAN_OPTIONS="$ASAN_OPTIONS"} \
        ${UBSAN_OPTIONS+UBSAN_OPTIONS="$UBSAN_OPTIONS"} ${debuggable+CHELA_DEBUGGABLE=1} CHELA_TEST_RUN="$CHELA_TEST_RUN" CHELA_TEST="$CHELA_TEST" \
        ANTHROPIC_API_KEY=$key OPENAI_API_KEY=$key GEMINI_API_KEY=$key \
        AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SECRET_ACCESS_KEY=$aws_secret ${aws_token+AWS_SESSION_TOKEN="$aws_token"} "$@"
}

chela() {
    (cd "$space" && with_env timeout -k 5 $seconds "$program" "$@" >"$out" 2>"$err" <"${stdin:-/dev/null}")
    status=$?
    if grep -qF -e "${key:8}" -e "$aws_secret" "$out" "$err"; then
        not_ok "the key stays inside: chela $*" "$(grep -hF -e "${key:8}" -e "$aws_secret" "$out" "$err" | head -n 3)"
    fi
}

play() {
    local api=$1 name=$2
    shift 2
    fresh "$name" "$api"
    chela run --model "$(model "$api")" --base-url "$base" "$@" "go on"
}

# The log of a long test is large, so jq reads only the lines that name the instance; for their
# problems it is started only if there are any.
requests() {
    case ${1-} in *'.problems[]') grep -F "\"i$instances\"" "$log" | grep -qvE '^\{"end":|"problems":\[\],' || return ;; esac
    grep -F "\"i$instances\"" "$log" | jq -c "select(.end | not) | select(.conversation == \"$conversation\" and .instance == \"i$instances\") | ${1:-.}"
}

# Details for a case that failed.
show() {
    printf 'exit status %s\nstdout: %s\nstderr: %s\n' "$status" "$(head -c 2000 "$out")" "$(head -c 2000 "$err")"
}

exits() {
    if [ "$status" = "$2" ]; then ok "$1: exit $2"; else not_ok "$1: exit $2" "$(show)"; fi
}

# The stream of events is well formed whatever happened: one run, seq without
# gaps, one run_end and it is last, an end for every turn, a result for every
# call.
well_formed='
  length > 0
  and ([.[].seq] == [range(length)])
  and ([.[].run] | unique | length == 1)
  and ([.[] | select(.type == "run_end")] | length == 1)
  and .[-1].type == "run_end"
  and ([.[].ts] | all(type == "number"))
  and ([.[] | select(.type == "turn_start").turn] == [.[] | select(.type == "turn_end").turn])
  and ([.[] | select(.type == "tool_call").id] - [.[] | select(.type == "tool_result").id] == [])
  and ([.[] | select(.type == "tool_result").id] | length == (unique | length))
'

# The three below are cases about the JSON in $out as it is at the call. They are decided by
# tap_done, all of them by one jq: jq takes 30 ms to start. A case that does not pass so is decided
# again by a jq of its own, whose verdict counts.
cases=$tmp/.cases
case_name=() case_way=() case_filter=() case_want=() case_status=()
mkdir "$cases"

# The array of all output lines is well formed as above; a jq expression over it holds; a filter
# prints a text.
events_are_well_formed() { case_later "$1: events are well formed" slurp "$well_formed"; }
holds() { case_later "$1" slurp "$2"; }
tells() { case_later "$1" print "$2" "$3"; }

case_later() { # NAME slurp|print FILTER [WANT]
    local at=$cases/${#case_name[@]}
    case_name+=("$1") case_way+=("$2") case_filter+=("$3") case_want+=("${4-}") case_status+=("${status-}")
    { cat "$out" && echo; } >"$at.out"
    [ ! -s "$err" ] || cp "$err" "$at.err"
}

# A jq program that prints a line for each case: "true" if it passes.
cases_program() {
    local i name
    local -A filter_names=()
    for i in "${!case_name[@]}"; do
        name=${filter_names["${case_filter[i]}"]-}
        [ -n "$name" ] || printf 'def f%d: (%s\n);\n' "$i" "${case_filter[i]}"
        filter_names["${case_filter[i]}"]=${name:-$i}
    done
    echo '([inputs | {file: input_filename, value: .}] | group_by(.file) | map({key: .[0].file, value: map(.value)}) | from_entries) as $lines | ($wants | split("\u001e")) as $want | ('
    for i in "${!case_name[@]}"; do
        name=f${filter_names["${case_filter[i]}"]}
        printf '(try ($lines["./%d.out"] // [] | ' "$i"
        case ${case_way[i]} in
        slurp) printf '[%s] | length > 0 and (.[-1] | . != null and . != false)' "$name" ;;
        print) printf '([.[] | %s | if type == "string" then . else tojson end] | join("\\n")) == $want[%d]' "$name" "$i" ;;
        esac
        echo ') catch false),'
    done
    echo 'empty)'
}

case_alone() { # CASE
    local out=$cases/$1.out err=$cases/$1.err name=${case_name[$1]} filter=${case_filter[$1]} status=${case_status[$1]}
    if [ "${case_way[$1]}" = print ]; then
        same "$name" "${case_want[$1]}" "$(jq -r "$filter" "$out" 2>&1)"
    elif jq -se "$filter" "$out" >/dev/null 2>&1; then
        ok "$name"
    else
        touch "$err" && not_ok "$name" "$(show)"
    fi
}

tap_done() {
    local i verdicts=()
    if [ ${#case_name[@]} != 0 ]; then
        cases_program >"$cases/program"
        printf '%s\x1e' "${case_want[@]}" >"$cases/wants"
        mapfile -t verdicts < <(cd "$cases" && jq -n --rawfile wants wants -f program ./*.out 2>/dev/null)
    fi
    for i in "${!case_name[@]}"; do
        if [ "${verdicts[i]-}" = true ]; then ok "${case_name[i]}"; else case_alone "$i"; fi
    done
    echo "1..$tap_count"
}
