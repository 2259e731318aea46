#!/usr/bin/env bash
# compaction.by: service. The services of compactserver.py condense a conversation by the rules of
# their vendors and refuse everything else. Nothing that was said is lost, whatever follows.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/terminal.sh
needs "compaction by the service" python3 curl tmux

python3 tests/support/compactserver.py "$tmp/seen" >"$tmp/port" &
server_pid=$!
trap 'close_terminal; kill $server_pid 2>/dev/null; wait $server_pid 2>/dev/null; rm -rf "$tmp"' EXIT
for _ in {1..200}; do [ -s "$tmp/port" ] && break; sleep 0.05; done
base=http://127.0.0.1:$(cat "$tmp/port")
claude=anthropic/claude-opus-5-5 gpt=openai/gpt-6.1-sol
last=$tmp/last
filler=$(yes "lorem ipsum" | head -c 90000 | tr '\n' ' ')

# begin NAME MODEL [WINDOW]: a conversation of its own, and a service that follows the rules.
begin() {
    history=$1 model=$2 window=${3:-100000}
    rm -rf "${space:?}"/* "$tmp/.local" "$tmp/.cache"
    configure service
    mode plain
    : >"$tmp/seen"
}

configure() {
    cat >"$tmp/conf.yaml" <<YAML
agents: { defaults: { model: $model, compaction: { by: $1 } } }
providers:
  anthropic: { baseUrl: "$base", models: [{ id: claude-opus-5-5, contextWindow: $window }] }
  openai: { api: openai-responses, baseUrl: "$base/v1", models: [{ id: gpt-6.1-sol, contextWindow: $window }] }
YAML
}

mode() { curl -s -X POST "$base/mode/$1"; }

say() {
    chela run --config "$tmp/conf.yaml" --session "${session:-one}" --approve auto --sandbox off -q --output jsonl "$@"
    cp "$out" "$last"
    [ "$status" = 0 ] || not_ok "$history: \"${*: -1:1}\" is answered" "$(show)"
}

# tells WORDS: the service knows them all.
tells() {
    say "${@:2}" "and now?"
    same "$history: nothing that was said is lost" "words: $1" "$(of_last run_end .text)"
}
of_last() { jq -r "select(.type == \"$1\") | $2" "$last" | tr '\n' ' ' | sed 's/ $//'; }
request() { jq -sr ".[-1]$1" "$tmp/seen"; }
refused() { jq -sr 'map(select(.status == 400).complaint) | join("; ")' "$tmp/seen"; }
# fills WORD...: a message of about 22,000 tokens for each.
fills() { for word; do say "word $word $filler"; done; }
# condensed: the last run tells of one compaction by the service, and of the epoch that it begins.
condensed() {
    same "$history: the event of the compaction" service "$(of_last compaction .strategy)"
    same "$history: the event of the epoch" compaction "$(of_last epoch .reason)"
    check "$history: the request is shorter" jq -se 'map(select(.type == "compaction"))[0] | .tokens_after < .tokens_before / 2' "$last"
}
rebuilt() {
    chela trace "${session:-one}" --json --request "$1"
    same "$history: trace rebuilds the request byte for byte" true "$(jq -r .verified "$out")"
}

for model in $claude $gpt; do
    other=$claude
    [ "$model" = $claude ] && other=$gpt

    # The service condenses several times, and each request holds the last compaction only.
    begin "a long session, $model" "$model"
    fills a b c
    condensed
    chela trace one
    check "a long session, $model: trace shows it" grep -q "the history was made shorter" "$out"
    fills d e f g h
    same "a long session, $model: a request is about as large as what came since" true "$(request '.tokens < 70000')"
    tells "a b c d e f g h"
    check "a long session, $model: the compaction goes back" test "$(request .holds)" = true
    same "a long session, $model: nothing is refused" "" "$(refused)"
    rebuilt 4
    same "a long session, $model: rebuilt with the compaction" true "$(jq -r '.http.body | tostring | contains("\"compaction\"")' "$out")"
    same "a long session, $model: trace says what was left out" service "$(jq -r '.cut[-1].why' "$out")"

    # The costs of a reply include those of its compaction.
    begin "the costs, $model" "$model"
    fills a b c
    usage=$(of_last run_end '.usage | "\(.input > 60000) \(.output) \(.cost_usd > 0.1)"')
    same "the costs, $model: with the tokens of the compaction" "true $([ "$model" = $claude ] && echo 110 || echo 10) true" "$usage"

    begin "another vendor and back, $model" "$model"
    fills a b c
    say --model $other "word d"
    same "another vendor and back, $model: it knows everything" "words: a b c d" "$(of_last run_end .text)"
    same "another vendor and back, $model: no foreign compaction is sent" false "$(request .holds)"
    if [ "$model" = $claude ]; then
        same "another vendor and back, $model: it reads the summary" "true true" "$(request '| "\(.text) \(.tokens < 1000)"')"
    else # it cannot be read: the messages behind it are sent, and the other service condenses them
        same "another vendor and back, $model: it gets all messages" "false true" "$(request '| "\(.text) \(.tokens > 60000)"')"
    fi
    say "word e"
    check "another vendor and back, $model: back, nothing is lost" grep -q '"text":"words: a b c d.* e"' "$last"
    same "another vendor and back, $model: nothing is refused" "" "$(refused)"

    # Killed while the first request with the compaction waits for its answer.
    begin "kill -9, $model" "$model"
    fills a b
    mode hold
    say_later() { exec env -i PATH="$PATH" HOME="$tmp" ANTHROPIC_API_KEY="$key" OPENAI_API_KEY="$key" CHELA_TEST_RUN="$CHELA_TEST_RUN" CHELA_TEST="$CHELA_TEST" "$program" run --config "$tmp/conf.yaml" --session one --sandbox off -q "$@"; }
    (cd "$space" && say_later "word c $filler
call ls {}" >/dev/null 2>&1) &
    pid=$!
    for _ in {1..1200}; do grep -q held "$tmp/seen" && break; sleep 0.05; done
    check "kill -9, $model: the run waits" grep -q held "$tmp/seen"
    kill -9 $pid
    wait $pid 2>/dev/null
    mode plain
    chela sessions resume --config "$tmp/conf.yaml" --sandbox off -q --output jsonl one
    same "kill -9, $model: resumed" "words: a b c" "$(jq -r 'select(.type == "run_end").text' "$out")"
    same "kill -9, $model: with the compaction" "true true" "$(request '| "\(.holds) \(.tokens < 2000)"')"
    tells "a b c"
    same "kill -9, $model: nothing is refused" "" "$(refused)"

    begin "a fork, $model" "$model"
    fills a b c
    chela sessions fork one
    session=$(cat "$out") tells "a b c"
    same "a fork, $model: with the compaction" true "$(request .holds)"
    chela sessions fork --at-turn 2 one
    session=$(cat "$out")
    tells "a b"
    same "a fork, $model: before the compaction, all messages are sent" "false true" "$(request '| "\(.holds) \(.tokens > 40000)"')"
    say "word d $filler"
    condensed
    tells "a b d"
    session=
    tells "a b c"
    same "a fork, $model: nothing is refused" "" "$(refused)"

    begin "undone in the chat, $model" "$model"
    fills a b
    say "word x ${filler:0:52000}"
    for n in 1 2; do seq -w 1 5000 | sed "s/^/$n/" >"$space/$n.txt"; done
    WIDTH=200 open_terminal "$program chat --config $tmp/conf.yaml --session one --approve auto --sandbox off"
    sees "undone in the chat, $model: a prompt" '^>'
    typed='call read {"file_path":"1.txt"} then call read {"file_path":"2.txt"} then word c'
    types "$typed"
    press Enter
    sees "undone in the chat, $model: an answer" '^words: a b x c'
    sees "undone in the chat, $model: the service has condensed" 'condensed \(service\)'
    types "/undo"
    press Enter
    prompt_is "undone in the chat, $model: the message comes back" "> $typed"
    press C-u
    types "word d"
    press Enter
    sees "undone in the chat, $model: so does what it replaced" '^words: a b x d'
    same "undone in the chat, $model: all messages are sent" "false true" "$(request '| "\(.holds) \(.tokens > 40000)"')"
    same "undone in the chat, $model: nothing is refused" "" "$(refused)"
    close_terminal

    begin "refused, $model" "$model"
    mode refuse
    fills a b
    same "refused, $model: the first run tells it" 1 "$(jq -sr 'map(select(.status == 400)) | length' "$tmp/seen")"
    fills c d
    same "refused, $model: no later request asks" 1 "$(jq -sr 'map(select(.status == 400)) | length' "$tmp/seen")"
    same "refused, $model: no later run warns" "" "$(of_last warning .text)"
    window=50000
    configure service
    say "word e"
    check "refused, $model: chela condenses" grep -qE '"strategy":"(summary|retain|cut|prune)"' "$last"
    tells "$(of_last run_end '.text | ltrimstr("words: ")')"

    begin "refused by hand, $model" "$model"
    say "word a"
    say "word b ${filler:0:6000}"
    for word in c d e; do say "word $word"; done
    mode refuse
    chela sessions compact --config "$tmp/conf.yaml" --output jsonl one
    cp "$out" "$last"
    check "refused by hand, $model: one warning" test "$(grep -c '"type":"warning"' "$last")" = 1
    check "refused by hand, $model: chela condenses" grep -qE '"strategy":"(summary|retain)"' "$last"

    for kind in null broken; do
        begin "a compaction without content ($kind), $model" "$model"
        mode $kind
        fills a b c
        check "$history: one warning" test "$(grep -c '"type":"warning"' "$last")" = 1
        same "$history: no epoch begins" "" "$(of_last epoch .reason)"
        same "$history: the answer is good" "words: a b c" "$(of_last run_end .text)"
        tells "a b c"
        same "$history: it is not sent" false "$(request .holds)"
        same "$history: nothing is refused" "" "$(refused)"
    done

    begin "by hand, $model" "$model"
    say "word a"
    say "word b ${filler:0:6000}"
    chela sessions compact --config "$tmp/conf.yaml" --output jsonl one
    cp "$out" "$last"
    condensed
    check "by hand, $model: the costs are told" jq -se 'map(select(.type == "run_end"))[0].usage | .input > 1000 and .output > 0' "$last"
    chela sessions compact --config "$tmp/conf.yaml" one
    check "by hand, $model: there is nothing more to condense" grep -q "nothing to condense" "$out"
    tells "a b"
    say "word c"
    tells "a b c"
    rebuilt 3
    say --model $other "word d"
    same "by hand, $model: another vendor" "words: a b c d" "$(of_last run_end .text)"
    tells "a b c d"
    same "by hand, $model: nothing is refused" "" "$(refused)"

    begin "by hand, without an answer, $model" "$model"
    say "word a"
    say "word b ${filler:0:6000}"
    for word in c d e; do say "word $word"; done
    mode none
    chela sessions compact --config "$tmp/conf.yaml" --output jsonl one
    check "$history: chela condenses" grep -qE '"strategy":"(summary|retain)"' "$out"
    mode plain
    say "word f"
    same "$history: nothing is refused" "" "$(refused)"

    # The results of tools outgrow the model within one run: the service is asked in the middle.
    begin "in the middle of a run, $model" "$model" 24000
    steps="talk"
    for n in 1 2 3 4 5 6 7 8; do
        seq -w 1 1500 | sed "s/^/$n/" >"$space/$n.txt"
        steps="call read {\"file_path\":\"$n.txt\"} then $steps"
    done
    say "word a
$steps"
    check "in the middle of a run, $model: condensed by the service" grep -q '"strategy":"service"' "$last"
    tells "a"
    same "in the middle of a run, $model: nothing is refused" "" "$(refused)"

    # Without the option nothing is asked, and a compaction that is there stays.
    begin "switched off, $model" "$model"
    fills a b c
    configure chela
    tells "a b c"
    same "switched off, $model: nothing is asked" "[]" "$(request .asks -c | tr -d '\n ')"
    same "switched off, $model: the compaction goes back" true "$(request .holds)"
    same "switched off, $model: nothing is refused" "" "$(refused)"
done
tap_done
