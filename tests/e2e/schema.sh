#!/usr/bin/env bash
# chela schema: what it prints and how it exits.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh

mkdir -p "$space/docs/sub"
cat >"$space/tool.json" <<'EOF'
{"type": "object", "properties": {"path": {"type": "string"}, "size": {"$ref": "http://docs.test/sub/int.json"}},
 "required": ["path"], "additionalProperties": false}
EOF
echo '{"type": "integer"}' >"$space/docs/sub/int.json"
echo '{"path": "a", "size": 1}' >"$space/good.json"
echo '{"pth": "a", "size": "x"}' >"$space/bad.json"
echo '{"type": "strin"}' >"$space/wrong.json"
echo '{"path": ' >"$space/cut.json"
map=(--map http://docs.test=docs)

chela schema validate --schema tool.json "${map[@]}" --data good.json
exits "valid" 0
same "valid: nothing to say" "" "$(cat "$out" "$err")"

chela schema validate --schema tool.json "${map[@]}" --data bad.json
exits "invalid" 1
same "invalid: a JSON object a line" '"/pth" "additionalProperties"
"/size" "type"
"" "required"' "$(jq -r '"\"\(.path)\" \"\(.keyword)\""' "$out")"
same "invalid: in words" "unknown key 'pth'; allowed: path, size (did you mean 'path'?)" \
    "$(jq -rs '.[0].message' "$out")"

stdin=$space/good.json chela schema validate --schema tool.json "${map[@]}"
exits "standard input" 0
stdin=$space/bad.json chela schema validate --schema tool.json "${map[@]}" --data -
exits "standard input, by name" 1

chela schema validate --schema tool.json "${map[@]}" --data cut.json
exits "no JSON" 1
same "no JSON: one violation" 1 "$(jq -s length "$out")"

# refused LABEL PATTERN ARG...: exit 2, one line that matches.
refused() {
    local label=$1 pattern=$2
    shift 2
    chela "$@"
    exits "$label" 2
    if [ "$(wc -l <"$err")" = 1 ] && grep -qE -- "$pattern" "$err"; then
        ok "$label: one line that names it"
    else
        not_ok "$label: one line that names it" "$(show)"
    fi
}
refused "bad schema" "wrong.json: #/type: unknown type 'strin'" schema validate --schema wrong.json --data good.json
refused "unknown document" "http://docs.test/sub/int.json" schema validate --schema tool.json --data good.json
refused "document outside of the map" "http://docs.test/sub/int.json" \
    schema validate --schema tool.json --map http://docs.test/other=docs --data good.json
refused "no schema" "--schema" schema validate --data good.json
refused "missing schema" "nowhere.json" schema validate --schema nowhere.json --data good.json
refused "missing data" "nowhere.json" schema validate --schema docs/sub/int.json --data nowhere.json
refused "bad map" "URL=DIR" schema validate --schema tool.json --map docs --data good.json
refused "vendor" "gemini" schema clean --for nobody tool.json

# What leads out of the directory is not read.
echo '{"type": "integer"}' >"$space/secret.json"
for ref in http://docs.test/../secret.json http://docs.test/sub/../../secret.json http://docs.test/%2e%2e/secret.json; do
    echo "{\"\$ref\": \"$ref\"}" >"$space/ref.json"
    chela schema validate --schema ref.json "${map[@]}" --data good.json
    exits "$ref" 2
done

chela schema clean --for openai-strict docs/sub/int.json
exits "clean" 0
echo '{"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}}' >"$space/a.json"
chela schema clean --for openai-strict a.json
exits "clean for strict mode" 0
same "clean: what is printed" '{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"],"additionalProperties":false}' \
    "$(jq -c . "$out")"
same "clean: what was lost" "/properties/a/minLength: 'minLength' left out" "$(cat "$err")"
echo '{"type": "object", "additionalProperties": {"type": "string"}}' >"$space/map.json"
chela schema clean --for openai-strict map.json
exits "cannot be said" 1

echo '{"name": "read_file", "description": "Read a file of the workspace, 16 MB at most.", "parameters":
 {"type": "object", "properties": {"path": {"type": "string", "description": "relative to the workspace"}}}}' >"$space/def.json"
chela schema check def.json
exits "check a good definition" 0
same "check: nothing to say" "" "$(cat "$out" "$err")"
echo '[{"name": "read file", "parameters": {"type": "object", "properties": {"a": {"type": "array"}}}, "description": "x"}]' >"$space/def.json"
chela schema check def.json
exits "check a bad definition" 1
check "check: names the vendor" grep -q 'error: .*/properties/a.*(openai, gemini)' "$out"
chela schema check --json def.json
exits "check, JSON" 1
same "check: levels" "error warning" "$(jq -r .level "$out" | sort -u | paste -sd ' ')"
refused "check no schema" "wrong.json" schema check wrong.json
# --- the schema of an answer
echo '{"type": 5}' >"$space/five.json"
chela run --model scripted/demo --schema five.json hi
exits "run --schema: not a schema" 2
check "run --schema: the file is named" grep -q '^chela: five.json: #/type: ' "$err"
tap_done
