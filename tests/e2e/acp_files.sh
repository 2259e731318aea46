#!/usr/bin/env bash
# Files as the editor holds them: `chela acp` reads unsaved text from the editor and lets the
# editor write. The client is a few lines of shell.
cd "$(dirname "$0")/../.." || exit 2
. tests/support/tap.sh
. tests/support/e2e.sh
. tests/support/acp.sh

cat >"$space/rules.yaml" <<'YAML'
rules:
  - { when: { user: "^look", after: none }, call: { tool: read, args: { file_path: note } } }
  - { when: { user: "^edit", after: none }, call: { tool: edit, args: { file_path: note, edits: [{ old_text: unsaved, new_text: improved }] } } }
  - { when: { user: "^save", after: none }, call: { tool: write, args: { file_path: sub/new, content: "made\n" } } }
  - { when: { user: "^patch", after: none }, call: { tool: apply_patch, args: { input: "*** Begin Patch\n*** Update File: note\n@@\n-unsaved\n+patched\n*** Add File: more\n+more\n*** End Patch\n" } } }
  - { when: { user: "^picture", after: none }, call: { tool: read, args: { file_path: data.bin } } }
  - { when: { user: "^linked", after: none }, call: { tool: read, args: { file_path: link } } }
  - { when: { user: "^hidden", after: none }, call: { tool: read, args: { file_path: ../other } } }
  - { when: { after: any }, say: "seen: {{result}}" }
  - say: hello
YAML
store=sqlite:$tmp/acp.db
note() { printf 'on disk\n' >"$space/note"; }
note
printf 'a\0b' >"$space/data.bin"
ln -s note "$space/link"

# greet READS WRITES: initialize as an editor that can do this.
greet() {
    begin
    request 1 initialize "{\"protocolVersion\":1,\"clientCapabilities\":{\"fs\":{\"readTextFile\":$1,\"writeTextFile\":$2}}}"
    answer 1 >/dev/null
    open 2
    asked=0
}
# asks METHOD: wait for the next request of this kind; $line is the request.
asks() {
    line=$(see ".method == \"fs/$1\" and .id > $asked") || return 1
    asked=$(jq .id <<<"$line")
}
reply() { say "{\"jsonrpc\":\"2.0\",\"id\":$asked,\"result\":$1}"; }
refuse() { say "{\"jsonrpc\":\"2.0\",\"id\":$asked,\"error\":{\"code\":-32603,\"message\":\"no\"}}"; }
questions() { jq -c 'select(.method? // "" | startswith("fs/"))' "$tmp/lines" | wc -l; }

# --- reading
greet true false
prompt 3 look
asks read_text_file
is "the editor is asked for its text by absolute path" "$(jq -c .params <<<"$line")" "{\"sessionId\":\"$id\",\"path\":\"$space/note\"}"
reply '{"content":"unsaved\n"}'
check "the model sees unsaved text" told "seen: unsaved"
answer 3 >/dev/null
prompt 4 look
asks read_text_file
refuse
check "an editor that refuses leaves the file on disk" told "seen: on disk"
answer 4 >/dev/null
n=40
for odd in '{}' null '{"content":null}'; do
    prompt $((++n)) look
    asks read_text_file
    reply "$odd"
    answer $n >/dev/null
    is "an answer without a text is a refusal: $odd" "$(jq -rj '.params.update.content.text? // ""' "$tmp/lines" | grep -o 'seen: on disk' | wc -l)" $((n - 39))
done
prompt 5 linked
asks read_text_file
is "a link is named by its target" "$(jq -r .params.path <<<"$line")" "$space/note"
reply '{"content":""}'
check "an emptied buffer is an empty file" told "(The file is empty.)"
answer 5 >/dev/null
before=$(questions)
prompt 6 picture
answer 6 >/dev/null
prompt 7 hidden
answer 7 >/dev/null
is "no question about data, nor about files elsewhere" "$(questions)" "$before"
prompt 8 look
asks read_text_file
say "{\"jsonrpc\":\"2.0\",\"method\":\"session/cancel\",\"params\":{\"sessionId\":\"$id\"}}"
is "a prompt is cancelled while the editor is asked" "$(answer 8 | jq -r .result.stopReason)" cancelled
reply '{"content":"too late\n"}'
prompt 9 edit
asks read_text_file
reply '{"content":"unsaved\n"}'
check "without writing, the tool writes to disk" told "Edited note"
is "from the editor's text" "$(cat "$space/note")" improved
finish

# --- writing
note
greet true true
prompt 3 edit
asks read_text_file
reply '{"content":"first\nunsaved\n"}'
asks write_text_file
is "the editor is given the whole new text" "$(jq -c .params <<<"$line")" \
    "{\"sessionId\":\"$id\",\"path\":\"$space/note\",\"content\":\"first\\nimproved\\n\"}"
reply null
check "the edit succeeds" told "Edited note"
is "the editor alone writes" "$(cat "$space/note")" "on disk"
answer 3 >/dev/null
prompt 4 save
asks write_text_file
is "a new file, too" "$(jq -r .params.path <<<"$line")" "$space/sub/new"
refuse
check "an editor that refuses has the last word" told "Cannot write sub/new: the editor refused to write the file"
is "nothing is written" "$(ls "$space/sub")" ""
answer 4 >/dev/null
prompt 5 patch
asks read_text_file
reply '{"content":"unsaved\n"}'
asks write_text_file
is "a patch is on disk before the editor has it" "$(cat "$space/note" "$space/more")" "patched
more"
is "and the editor gets the same text" "$(jq -r .params.content <<<"$line")" patched
reply '{}'
asks write_text_file
refuse
check "a patch does not need the editor" told "Applied the patch to 2 files"
answer 5 >/dev/null
printf 'changed\n' >"$space/note"
prompt 6 edit
asks read_text_file
printf 'changed by others\n' >"$space/note"
reply '{"content":"unsaved\n"}'
check "a file that changed meanwhile is not written" told "changed at the same moment"
answer 6 >/dev/null
prompt 7 look
asks read_text_file
stop KILL
finish 2>/dev/null
greet true true
prompt 3 look
asks read_text_file
finish
is "an editor that goes away while it is asked" "$ended" 0
is "no error was printed" "$(cat "$err")" ""

tap_done
