#!/usr/bin/env bash
# The whole way of a message: a person asks an app in a chat for a program; the
# agent reads a skill, looks around, writes the file, tells others of it and
# answers. With an OpenAI-like and with an Anthropic-like model service, with
# events that the platform posts and with events over a connection of our own;
# all four with a gateway that is killed at random moments of it, and in the
# middle of taking up what the one before had left.
#
# However often: each message is answered once, what may be done once is done at
# most once, and the services find no fault in what they are sent.
#
# STORY_SEED=N: the same moments again. CRASH_ALL=1: ten times as many.
# shellcheck disable=SC2119
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh
. tests/support/lark.sh

program=$(realpath "$program")
seed=${STORY_SEED:-$((10#${EPOCHREALTIME: -6} % 32768))}
rounds=$((CRASH_ALL ? 25 : 3))
request='帮我写一个 Python 脚本,功能是遍历当前目录所有文件'
answer='已经帮你创建了 `list_files.py`'
script=$'#!/usr/bin/env python3\n# 遍历当前目录\nimport os\nfor d, _, f in os.walk("."):\n    print(d, f)\n'

# What the model does next goes by what it was told last.
jq -n --arg request "$request" --arg answer "$answer" --arg script "$script" '
    def call($name; $arguments): [{call: {name: $name, arguments: [$arguments | tojson]}}];
    {about: "one program, by the book", replies: ([
        {when: "# create-python-script", blocks: call("ls"; {path: "."})},
        {when: "requirements.txt", blocks: call("write"; {file_path: "list_files.py", content: $script})},
        {when: "list_files.py", blocks: call("publish"; {what: "list_files.py"})},
        {when: $request, blocks: call("read"; {file_path: "./skills/create-python-script/SKILL.md"})},
        {blocks: [{text: [$answer, "。\n\n运行方式:\n```bash\npython list_files.py\n```"]}]}
    ] | map(. + {delay_ms: 60, usage: {input: 9, output: 3}}))}' >"$tmp/story.json"
start_server

configure() { # API MODE
    local work=$space/workspaces/coder
    mkdir -p "$work/skills/create-python-script" "$work/scripts" "$work/tests"
    touch "$work/README.md" "$work/requirements.txt"
    printf -- '---\nname: create-python-script\ndescription: 创建 Python 脚本\n---\n# create-python-script\n1. `ls` 2. `write`\n' \
        >"$work/skills/create-python-script/SKILL.md"
    printf '#!/bin/sh\nread -r _\necho "$CHELA_IDEMPOTENCY_KEY" >>"%s/effects"\nsleep 0.05\necho published\n' "$tmp" >"$space/publish"
    chmod +x "$space/publish"
    : >"$tmp/effects"
    fresh story "$1"
    cat >"$space/chela.yaml" <<YAML
store: sqlite:./chela.db
sandbox: { mode: off }
approvals: { publish: auto }
providers: { "$1": { baseUrl: "$base" } }
agents:
  defaults:
    model: $(model "$1")
    systemPrompt: |
      你是一个全栈开发助手,擅长编写脚本和解释代码。
      用户当前通过飞书与你对话,请用中文回复。
  list:
    - id: coder
      name: 代码助手
      workspaceDir: ./workspaces/coder
      tools: { allow: [read, write, edit, ls, exec, message, publish] }
      skills: { allow: [create-python-script] }
tools:
  custom:
    - { name: publish, description: Tells everybody of a file., command: [./publish], effect: once, permission: write,
        parameters: { type: object, properties: { what: { type: string } } } }
channels:
  feishu: { appId: $app, domain: "$lark", mode: $2, allowFrom: [ou_zhang]${encrypt_key:+, encryptKeyEnv: FEISHU_ENCRYPT_KEY} }
YAML
}

# As the platform does: until it was acknowledged, and now and then once more.
deliver() { # MODE EVENT
    for _ in {1..100}; do
        case $1 in
        webhook) push "$2" ;;
        websocket) tell "$2" ;;
        esac
        [ "$code" = 200 ] && return
        kill -0 "$gateway_pid" 2>/dev/null || return
        sleep 0.05
    done
    complain "the gateway does not take an event: $code"
}
complain() {
    printf '%s, round %s, seed %s: %s\n' "$name" "${round:-end}" "$seed" "$1" >>"$violations"
}
answered() { # MESSAGE
    grep -q "^/open-apis/im/v1/messages/$1/reply " "$tmp/lark/sent"
}
# Lines that the services have written about this gateway: a model request has
# two, the platform's have one.
steps() {
    echo $(($(grep -c "\"instance\":\"i$instances\"" "$log") + $(wc -l <"$tmp/lark/calls")))
}

# One message, and the end of the process between two of its steps or in one.
interrupt() { # MODE MESSAGE CHAT
    local said before at deliverer
    said=$(event "$2" "$3" p2p "$request" ou_zhang)
    before=$(steps)
    deliver "$1" "$said" &
    deliverer=$!
    at=$((RANDOM % 14))
    for _ in {1..400}; do
        [ $(($(steps) - before)) -ge $at ] && break
        answered "$2" && break
        sleep 0.01
    done
    sleep "0.0$((RANDOM % 9))"
    kill -9 "$gateway_pid"
    wait "$deliverer"
    serve
    if [ $((RANDOM % 3)) = 0 ]; then # while it takes up what was left
        sleep "0.$((RANDOM % 3))$((RANDOM % 10))"
        kill -9 "$gateway_pid"
        serve
        moments+=("$at, then again")
    fi
    moments+=("$at")
    deliver "$1" "$said"
    for _ in {1..600}; do
        answered "$2" && return
        sleep 0.05
    done
    complain "no answer to $2: $(tail -n 5 "$serve_log")"
}

# What has become of it all.
judge() {
    local chat
    [ -z "$(sort "$tmp/effects" | uniq -d)" ] || complain "P2: published twice: $(xargs <"$tmp/effects")"
    [ "$(wc -l <"$tmp/effects")" -le $rounds ] || complain "P2: published $(wc -l <"$tmp/effects") times"
    [ "$(cut -d' ' -f1 "$tmp/lark/sent" | sort)" = "$(seq -f '/open-apis/im/v1/messages/om_%g/reply' 1 $rounds | sort)" ] ||
        complain "P3: answered: $(cut -d' ' -f1 "$tmp/lark/sent" | xargs)"
    [ "$(texts | grep -cF "$answer")" = $rounds ] || complain "P3: what was said: $(texts)"
    [ "$(cat "$space/workspaces/coder/list_files.py")"$'\n' = "$script" ] || complain "the program is not what was written"
    requests '.problems[]' | sort -u | while read -r problem; do complain "P4: the model service: $problem"; done
    for chat in oc_1 oc_2; do
        call GET "/api/sessions/feishu:$chat"
        jq -r --arg answer "$answer" '
          . as $s | [.transcript[].content[] | select(.type == "tool_call").id] as $calls
          | [.transcript[].content[] | select(.type == "tool_result").id] as $results
          | [.transcript[] | select(.role == "user")] as $asked
          | [.transcript[] | select(.role == "assistant").content[] | select(.type == "text" and (.text | startswith($answer)))]
            as $answers
          | [.transcript[].content[] | select(.type == "tool_call").name] as $names
          | [ (if .status != "idle" then "it is \(.status)" else empty end),
              (if $calls != $results then "P4: calls \($calls) have results \($results)" else empty end),
              (if $names != [$asked[] | "read", "ls", "write", "publish"] then "the calls were \($names)" else empty end),
              (if ($asked | length) != ($answers | length) then "P3: \($asked | length) asked, \($answers | length) answers"
               else empty end) ][] | "\($s.key): \(.)"' "$out" | while read -r problem; do complain "$problem"; done
    done
}

story() { # API MODE NUMBER
    local name="$1 $2" round moments=() violations=$tmp/violations.$3
    tmp=$tmp/$3 space=$tmp/$3/space instances=$3
    out=$tmp/out err=$tmp/err serve_log=$tmp/serve.log
    mkdir -p "$space"
    RANDOM=$((seed + $3))
    if [ "$2" = webhook ]; then encrypt_key="key-SENTINEL-encrypt"; fi
    start_lark
    configure "$1" "$2"
    serve
    for ((round = 1; round <= rounds; round++)); do
        rm -f "$space/workspaces/coder/list_files.py"
        interrupt "$2" om_$round oc_$((1 + round % 2))
    done
    round=
    stop_serving || complain "SIGTERM does not end it"
    serve # and nothing is left to be done
    judge
    requests .body | sed -n '1p;$p' >"$tmp.bodies"
    printf '%s\n' "${moments[@]}" >"$tmp.moments"
    stop_serving || complain "SIGTERM does not end it again"
}

number=100
for api in openai anthropic; do
    for mode in webhook websocket; do
        number=$((number + 1))
        : >"$tmp/violations.$number"
        (story $api $mode $number) &
        stories+=($!)
    done
done
wait "${stories[@]}"

# What the model was shown at first, in the words of either service.
shown() { # NUMBER JQ-FILTER
    head -n 1 "$tmp/$1.bodies" | jq -r "$2"
}
while read -r number api; do
    same "$api: the tools are the agent's" "edit exec ls message publish read write" \
        "$(shown "$number" '[.tools[] | .name // .function.name] | sort | join(" ")')"
    same "$api: the skill is named, and no more than that" "true false" \
        "$(shown "$number" '(.system // .messages[0]) | tostring | "\(contains("<name>create-python-script</name>")) \(contains("1. `ls`"))"')"
    same "$api: what was said, by whom, where" true \
        "$(shown "$number" '[.messages[] | select(.role == "user")] | tostring | contains("[message_id: om_1]") and
            contains("'"$request"'") and contains("ou_zhang") and contains("oc_2")')"
done <<<$'101 openai\n103 anthropic'
echo "# seed $seed, $(cat "$tmp"/*.moments | wc -l) moments"
check "the process died at ten moments" test "$(cat "$tmp"/*.moments | wc -l)" -ge 10
same "nothing is lost, nothing doubled (STORY_SEED=$seed)" "" "$(cat "$tmp"/violations.*)"
tap_done
