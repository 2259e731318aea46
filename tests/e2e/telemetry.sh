#!/usr/bin/env bash
# OpenTelemetry: what a collector gets, and what a collector that fails changes.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/serve.sh

box=$tmp/collector
collector() {
    rm -rf "$box" && mkdir "$box" && : >"$box/log.jsonl"
    python3 tests/support/collector.py "$box" >"$box/port" &
    collector_pid=$!
    trap 'kill -9 $collector_pid 2>/dev/null; rm -rf "$tmp"' EXIT
    for _ in {1..200}; do
        [ -s "$box/port" ] && break
        sleep 0.05
    done
    at=http://127.0.0.1:$(cat "$box/port")
}
forget() { : >"$box/log.jsonl"; }
# jq over all requests
got() { check "$1" jq -se "$2" "$box/log.jsonl"; }
spans='[.[] | select(.path == "/v1/traces" and .answer != "400").body.resourceSpans[].scopeSpans[].spans[]]'
logs='[.[] | select(.path == "/v1/logs").body.resourceLogs[].scopeLogs[].logRecords[]]'
metrics='[.[] | select(.path == "/v1/metrics").body.resourceMetrics[].scopeMetrics[].metrics[]]'
attr='def attr($k): (.attributes[] | select(.key == $k).value | .stringValue // .intValue // .doubleValue // .boolValue);'
if ! command -v python3 >/dev/null; then
    skip "telemetry" "python3 is not installed"
    tap_done
    exit 0
fi
run() { chela run --model "scripted/$space/rules.yaml" --store "sqlite:$space/t.db" "$@"; }
# with_env starts from nothing, so a wrapper sets the variables
old_program=$program
cat >"$tmp/wrap" <<SH
#!/bin/sh
[ -f "$tmp/otel.env" ] && . "$tmp/otel.env"
exec "$old_program" "\$@"
SH
chmod +x "$tmp/wrap"
program=$tmp/wrap
variables() { printf 'export %s\n' "$@" >"$tmp/otel.env"; }

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { after: none, user: "look" }, call: [{ tool: ls, args: { path: "." } }, { tool: read, args: { file_path: "missing" } }] }
  - { when: { after: none, user: "ask" }, call: [{ tool: exec, args: { command: "true" } }] }
  - { when: { after: none }, say: "hello sk-ant-api03-0123456789abcdefghijklmnop" }
  - { say: "seen" }
YAML

collector
variables "OTEL_EXPORTER_OTLP_ENDPOINT='$at'" "OTEL_SERVICE_NAME=shop" "OTEL_RESOURCE_ATTRIBUTES='deployment.environment.name=test,team=a%2Cb'" \
    "OTEL_EXPORTER_OTLP_HEADERS='x-key=secret%20value'"
run --session s "please look"
exits "a run" 0
got "spans of the run" "$spans | map(.name | split(\" \")[0]) | sort == [\"chat\",\"chat\",\"execute_tool\",\"execute_tool\",\"invoke_agent\"]"
got "one trace" "$spans | map(.traceId) | unique | length == 1 and (.[0] | test(\"^[0-9a-f]{32}$\"))"
got "ids of their own" "$spans | map(.spanId) | (unique | length) == 5 and all(test(\"^[0-9a-f]{16}$\"))"
got "all below the run" "$spans | (map(select(.name | startswith(\"invoke_agent\")))[0]) as \$run | (\$run.parentSpanId == null) and (map(select(.spanId != \$run.spanId).parentSpanId) | unique == [\$run.spanId])"
got "kinds" "$spans | all(.kind == (if (.name | startswith(\"chat\")) then 3 else 1 end))"
got "a failed call" "$attr $spans | map(select(.name == \"execute_tool read\"))[0] | .status.code == 2 and attr(\"error.type\") != null"
got "tokens" "$attr $spans | map(select(.name | startswith(\"chat\"))) | all((attr(\"gen_ai.usage.input_tokens\") | tonumber) > 0 and attr(\"gen_ai.provider.name\") == \"scripted\")"
got "times in order" "$spans | all((.startTimeUnixNano | length) == 19 and .startTimeUnixNano <= .endTimeUnixNano)"
got "a request ends before its calls begin" "$spans | (map(select(.name | startswith(\"chat\"))) | sort_by(.startTimeUnixNano)[0].endTimeUnixNano) as \$first | map(select(.name | startswith(\"execute_tool\"))) | all(.startTimeUnixNano >= \$first)"
got "no content" "$spans | tostring | test(\"please look|missing|hello\") | not"
got "the resource" "$attr .[0].body.resourceSpans[0].resource // .[0].body.resourceLogs[0].resource // .[0].body.resourceMetrics[0].resource | attr(\"service.name\") == \"shop\" and attr(\"team\") == \"a,b\" and attr(\"telemetry.sdk.language\") == \"c\" and attr(\"service.instance.id\") != null"
got "headers" 'all(.headers["x-key"] == "secret value" and .headers["content-type"] == "application/json")'
got "metrics" "$metrics | map(.name) | sort == [\"gen_ai.client.operation.duration\",\"gen_ai.client.operation.time_to_first_chunk\",\"gen_ai.client.token.usage\",\"gen_ai.execute_tool.duration\",\"gen_ai.invoke_agent.duration\"]"
got "histograms add up" "$metrics | map(.histogram.dataPoints[]) | all((.bucketCounts | map(tonumber) | add) == (.count | tonumber) and (.bucketCounts | length) == (.explicitBounds | length) + 1)"
got "the end of the run as an event" "$attr $logs | map(select(.eventName == \"chela.run_end\")) | length == 1 and .[0].severityNumber == 9 and (.[0] | attr(\"chela.run.reason\")) == \"task_completed\""

live=$(jq -s "$spans | map({traceId, spanId, parentSpanId, name}) | sort_by(.spanId)" "$box/log.jsonl")
chela trace s --store "sqlite:$space/t.db" --otlp
exits "the past" 0
same "the past has the same spans" "$live" "$(jq '.resourceSpans[0].scopeSpans[0].spans | map({traceId, spanId, parentSpanId, name}) | sort_by(.spanId)' "$out")"
chela trace s --store "sqlite:$space/t.db" --otlp --content
check "the past with content" grep -q missing "$out"

forget
run --session failed --max-turns 1 "please look"
ends='map(select(.name | startswith("invoke_agent"))) | .[0].status'
live=$(jq -cs "$spans | $ends" "$box/log.jsonl")
check "a run that fails after a failed call" grep -q '"code":2' <<<"$live"
chela trace failed --store "sqlite:$space/t.db" --otlp
same "the past says why it ended, and quotes no result" "$live" "$(jq -c ".resourceSpans[0].scopeSpans[0].spans | $ends" "$out")"
forget

# A summary of the history is a request to a model, too. A compression that there is not is told.
cat >"$space/long.yaml" <<'YAML'
rules:
  - { when: { system: 'memory of a conversation' }, say: "## Goal\nfind it\n## Decisions\nnone\n## Facts and identifiers\nnone\n## Done\nnothing\n## Open tasks\nfind it" }
  - { say: noted }
YAML
idle=$(printf 'of no interest, and the next one is not either, nor the one after it; %.0s' {1..12})
for i in 1 2 3 4 5; do chela run --model "scripted/$space/long.yaml" --store "sqlite:$space/t.db" --session long "Number $i is $idle"; done
forget
variables "OTEL_EXPORTER_OTLP_ENDPOINT='$at'" "OTEL_EXPORTER_OTLP_COMPRESSION=gzip"
chela sessions compact --model "scripted/$space/long.yaml" --store "sqlite:$space/t.db" long
exits "a summary" 0
same "a compression that is not supported is told once" 1 "$(grep -c 'COMPRESSION=gzip is not supported' "$err")"
got "the request for a summary" "$attr $spans | map(select(.name | startswith(\"chat\"))) | length == 1 and (.[0] | attr(\"chela.role\")) == \"compaction\" and .[0].kind == 3 and (.[0] | attr(\"gen_ai.usage.input_tokens\") | tonumber) > 0"
variables "OTEL_EXPORTER_OTLP_ENDPOINT='$at'"
forget
variables "OTEL_EXPORTER_OTLP_ENDPOINT='$at'" "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true"
run "good morning"
got "content when asked for" "$attr $spans | map(select(.name | startswith(\"chat\")))[0] | (attr(\"gen_ai.input.messages\") | fromjson | .[-1].parts | tostring | test(\"good morning\")) and (attr(\"gen_ai.output.messages\") | fromjson | .[0].role == \"assistant\" and .[0].finish_reason == \"stop\")"
got "keys are blanked out" 'tostring | test("0123456789abcdef") | not'

forget
variables "OTEL_EXPORTER_OTLP_ENDPOINT='$at'" "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"
run "good morning"
got "protobuf" 'map(.path) | unique == ["/v1/logs","/v1/metrics","/v1/traces"]'
got "its type" 'all(.headers["content-type"] == "application/x-protobuf" and (.body | length) > 100)'

forget
variables "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT='$at/own/path'"
run "good morning"
got "one signal alone, at its own path" 'map(.path) == ["/own/path"]'

forget
variables "OTEL_EXPORTER_OTLP_ENDPOINT='$at'" "OTEL_SDK_DISABLED=true"
run "good morning"
got "off" 'length == 0'
variables "OTEL_EXPORTER_OTLP_ENDPOINT='$at'" "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"
run "good morning"
exits "grpc" 0
check "it says so" grep -q "'grpc' is not supported" "$err"
got "and sends nothing" 'length == 0'
variables "OTEL_EXPORTER_OTLP_ENDPOINT='$at'" "OTEL_TRACES_SAMPLER=always_off" "OTEL_METRICS_EXPORTER=none"
run "good morning"
got "no sample" 'map(.path) == []'

# a collector that fails
variables "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT='$at/v1/traces'"
forget
printf '429 1\n' >"$box/answers"
run "good morning"
exits "429" 0
got "the request is repeated" 'map(.answer) == ["429 1","200"] and .[0].body == .[1].body'
forget
printf '400\n' >"$box/answers"
run "good morning"
exits "400" 0
got "it is not repeated" 'length == 1'
check "it is told" grep -q 'were not exported: the collector answered 400' "$err"
forget
printf 'partial\n' >"$box/answers"
run "good morning"
exits "partial success" 0
got "it is not repeated either" 'length == 1'
check "the collector's words" grep -q 'one too many' "$err"
forget
printf 'hang\n' >"$box/answers"
begin=$SECONDS
run "good morning"
exits "a collector that hangs" 0
check "the wait is bounded" test $((SECONDS - begin)) -lt 30
check "the loss is told" grep -q 'were not exported' "$err"
: >"$box/answers"
variables "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"
run "good morning"
exits "no collector" 0
variables "OTEL_EXPORTER_OTLP_ENDPOINT='not a url'"
run "good morning"
exits "no URL" 0
check "the URL is named" grep -q 'the endpoint for traces cannot be used' "$err"

# crash and resume are one trace
forget
variables "OTEL_EXPORTER_OTLP_ENDPOINT='$at'"
run --session paused --approve ask "ask"
exits "a run that waits" 5
check "no span of the run yet" jq -se "$spans | map(select(.name | startswith(\"invoke_agent\"))) | length == 0" "$box/log.jsonl"
id=$(jq -sr "$logs | map(select(.eventName == \"chela.approval_required\")) | length" "$box/log.jsonl")
same "the question as an event" 1 "$id"
chela sessions resume --store "sqlite:$space/t.db" --model "scripted/$space/rules.yaml" --approve auto paused
exits "resumed" 0
got "one trace over both processes" "$spans | map(.traceId) | unique | length == 1"
got "one span of the run, around all" "$spans | (map(select(.name | startswith(\"invoke_agent\")))) as \$r | (\$r | length) == 1 and all(.startTimeUnixNano >= \$r[0].startTimeUnixNano and .endTimeUnixNano <= \$r[0].endTimeUnixNano)"
got "every parent exists" "$spans | (map(.spanId)) as \$ids | map(.parentSpanId | select(.)) | all(. as \$p | \$ids | index(\$p))"

# what models and MCP servers are told
forget
run_model() { chela run --model openai/m --base-url "$at/v1" --no-session "$@"; }
variables "OTEL_EXPORTER_OTLP_ENDPOINT='$at'"
run_model "good morning"
exits "a model that answers nonsense" 1
got "the trace goes to the model" "$spans | (map(select(.name == \"chat m\")) | map(\"00-\" + .traceId + \"-\" + .spanId + \"-01\")) as \$chats | \$chats | length > 0"
got "in the span of the request" "($spans | map(select(.name == \"chat m\")) | map(\"00-\" + .traceId + \"-\" + .spanId + \"-01\") | unique) == ([.[] | select(.path == \"/v1/chat/completions\").headers.traceparent] | unique)"
got "the request failed" "$attr $spans | map(select(.name == \"chat m\")) | all(.status.code == 2 and (attr(\"error.type\") | length) > 0)"
# The summary of a conversation is a model call of its own, in the middle of a run.
forget
: >"$tmp/otel.env"
idle=$(printf 'of no interest, and the next one is not either, nor the one after it; %.0s' {1..12})
for i in 1 2 3 4; do run --session long "Number $i is $idle"; done
variables "OTEL_EXPORTER_OTLP_ENDPOINT='$at'"
chela sessions compact --store "sqlite:$space/t.db" --model openai/m --base-url "$at/v1" long
got "the trace goes to the model that summarizes" "$attr $spans | map(select((try attr(\"chela.role\") catch \"\") == \"compaction\")) | length > 0"
got "in the span of the summary" "($attr $spans | map(select((try attr(\"chela.role\") catch \"\") == \"compaction\")) | map(\"00-\" + .traceId + \"-\" + .spanId + \"-01\") | unique) == ([.[] | select(.path == \"/v1/chat/completions\").headers.traceparent] | unique)"
forget
cat >"$space/mcp.yaml" <<YAML
mcp:
  servers:
    s: { command: [python3, "$PWD/tests/support/mcp/server.py", modern, "$tmp/words"] }
YAML
printf 'rules:\n  - { when: { after: none }, call: { tool: s__echo, args: { text: hi } } }\n  - { say: done }\n' >"$space/echo.yaml"
chela run --config mcp.yaml --model "scripted/$space/echo.yaml" --no-session --approve auto "echo"
exits "a call of an MCP server" 0
sent=$(grep -h tools/call "$tmp"/.local/state/chela/mcp/s/calls.log | jq -r '.params._meta.traceparent' | tail -n 1)
same "the trace goes to the MCP server" "$sent" "$(jq -sr "$spans | map(select(.name == \"execute_tool s__echo\"))[0] | \"00-\" + .traceId + \"-\" + .spanId + \"-01\"" "$box/log.jsonl")"

# requests to an embedding model: the service knows three texts, so that the second search fails
start_server
trap 'kill -9 $collector_pid $server_pid 2>/dev/null; rm -rf "$tmp"' EXIT
vector() { printf '{"index":%s,"embedding":[%s]}' "$@"; }
jq -n --arg body "{\"data\":[$(vector 0 1,0),$(vector 1 2,0.1),$(vector 2 0,3)],\"usage\":{\"prompt_tokens\":77}}" \
    '{about: "Embeddings.", serve: {"/embeddings": $body}, replies: []}' >"$tmp/meaning.json"
fresh meaning openai
printf -- '- She takes Darjeeling.\n\n# Bob\n\nHe plays chess.\n' >"$space/MEMORY.md"
printf 'rules:\n  - { when: { after: none }, call: { tool: memory_search, args: { query: "drinks" } } }\n  - { say: done }\n' >"$space/search.yaml"
embed() { # BASE-URL
    printf 'memory: { enabled: true, sessions: none, inject: 200 }\nagents: { defaults: { model: scripted/search.yaml, embedding: means/small } }\n' >"$space/embed.yaml"
    printf 'providers: { means: { api: openai, baseUrl: "%s", apiKeyEnv: OPENAI_API_KEY, models: [{ id: small }] } }\n' "$1" >>"$space/embed.yaml"
    chela run --config embed.yaml --no-session --approve auto "what does she like to drink"
}
embeddings="$attr $spans | (map(select(.name == \"embeddings small\")))"
forget
embed "$base"
exits "a run with embeddings" 0
got "spans of the requests, in the trace of the run" "$embeddings as \$e | (map(.traceId) | unique | length) == 1 and (\$e | map(.kind) == [3,3]) and ((map(.spanId) | unique | length) == length)"
got "the first is below the run" "$embeddings as \$e | map(select(.name | startswith(\"invoke_agent\")))[0].spanId == \$e[0].parentSpanId"
got "the second is below the call" "$embeddings as \$e | map(select(.name == \"execute_tool memory_search\"))[0].spanId == \$e[1].parentSpanId"
got "attributes of an embedding request" "$embeddings | length == 2 and all(attr(\"gen_ai.operation.name\") == \"embeddings\" and attr(\"gen_ai.provider.name\") == \"means\" and attr(\"gen_ai.request.model\") == \"small\" and attr(\"server.address\") == \"127.0.0.1\" and attr(\"server.port\") == \"${url##*:}\")"
got "its tokens" "${embeddings}[0] | attr(\"gen_ai.usage.input_tokens\") == \"77\" and .status == null and ([attr(\"error.type\")] == [])"
got "an answer that is no vector" "${embeddings}[1] | attr(\"error.type\") == \"format\" and .status.code == 2 and (.status.message | test(\"not one vector\"))"
got "metrics of embedding requests" "$attr $metrics | map(.name as \$m | .histogram.dataPoints[] | select(attr(\"gen_ai.operation.name\") == \"embeddings\") | [\$m, .count, .sum]) | (map(select(.[0] == \"gen_ai.client.operation.duration\")) | length) == 2 and (map(select(.[0] == \"gen_ai.client.token.usage\")) == [[\"gen_ai.client.token.usage\",\"1\",77]])"
forget
printf '500\n' >"$box/answers"
embed "$at/v1"
exits "an embedding service that fails" 0
got "the span has the status" "$embeddings | length == 1 and (.[0] | attr(\"error.type\")) == \"500\" and .[0].status.code == 2"
got "the trace goes to the embedding service" "($embeddings | map(\"00-\" + .traceId + \"-\" + .spanId + \"-01\")) == [.[] | select(.path == \"/v1/embeddings\").headers.traceparent]"

# a caller's trace, through the gateway
cat >"$space/chela.yaml" <<YAML
agents:
  defaults: { model: "scripted/$space/rules.yaml", embedding: means/small }
  list: [{ id: main }]
providers: { means: { api: openai, baseUrl: "$base", apiKeyEnv: OPENAI_API_KEY, models: [{ id: small }] } }
gateway: { mcp: { enabled: true, agent: main } }
telemetry: { otlp: "$at", service: gate }
YAML
rm "$tmp/otel.env"
forget
serve --store "sqlite:$space/g.db"
trap 'kill -9 $collector_pid $server_pid $gateway_pid 2>/dev/null; rm -rf "$tmp"' EXIT
parent=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
post /v1/chat/completions '{"model":"main","messages":[{"role":"user","content":"hi"}]}' -H "traceparent: $parent"
same "a completion" 200 "$code"
post /api/sessions/k/messages '{"text":"hi"}' -H "traceparent: $parent"
check "a message" test "${code:0:1}" = 2
for _ in {1..200}; do
    call GET /api/sessions/k
    jq -e '.status == "idle" and (.transcript | length) > 1' "$out" >/dev/null && break
    sleep 0.05
done
post /api/sessions/n/messages '{"text":"hi"}' -H "traceparent: 00-xyz"
for _ in {1..200}; do
    call GET /api/sessions/n
    jq -e '.status == "idle" and (.transcript | length) > 1' "$out" >/dev/null && break
    sleep 0.05
done
call POST /mcp -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' \
    -H 'Mcp-Method: tools/call' -H 'Mcp-Name: ask_main' --data-binary "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",
    \"params\":{\"name\":\"ask_main\",\"arguments\":{\"message\":\"hi\"},\"_meta\":{\"traceparent\":\"$parent\",
    \"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}"
same "a call of an MCP client" 200 "$code"
post /v1/embeddings '{"model":"small","input":["a","b","c"]}' -H "traceparent: $parent"
same "embeddings" 200 "$code"
post /v1/embeddings '{"model":"small","input":["a","b","c"]}'
same "embeddings without a trace" 200 "$code"
stop_serving
got "the caller's trace" "$spans | map(select(.name | startswith(\"invoke_agent\"))) | map(.traceId == \"0af7651916cd43dd8448eb211c80319c\" and .parentSpanId != null) | sort == [false,true,true,true]"
got "requests below the caller's span" "$spans | map(select(.kind == 2)) | length >= 2 and all(.traceId == \"0af7651916cd43dd8448eb211c80319c\" and .parentSpanId == \"b7ad6b7169203331\") and any(.name == \"POST /v1/chat/completions\") and any(.name == \"POST /api/sessions/{}/messages\") and ((map(.spanId) | unique | length) == length)"
got "runs below their requests" "$spans | (map(select(.kind == 2) | .spanId)) as \$served | [.[] | select(.name | startswith(\"invoke_agent\")) | .parentSpanId | select(. as \$p | \$served | index(\$p))] | length == 2"
got "the status of a request" "$attr $spans | map(select(.kind == 2)) | all(attr(\"http.request.method\") == \"POST\" and (attr(\"http.response.status_code\") | tonumber) < 300)"
got "a malformed one is ignored" "$spans | map(select(.name | startswith(\"embeddings\") | not).traceId) | unique | length == 2"
got "embeddings below their request" "${embeddings}[0] as \$e | map(select(.name == \"POST /v1/embeddings\"))[0] | .spanId == \$e.parentSpanId and .traceId == \$e.traceId"
got "embeddings without a trace are a root" "$embeddings | length == 2 and .[1].parentSpanId == null and .[1].traceId != .[0].traceId and (.[1].traceId | test(\"^[0-9a-f]{32}\$\"))"
got "the service of the file" "$attr .[0].body | (.resourceSpans // .resourceLogs // .resourceMetrics)[0].resource | attr(\"service.name\") == \"gate\""
kill -9 $collector_pid $server_pid
wait $collector_pid $server_pid 2>/dev/null
tap_done
