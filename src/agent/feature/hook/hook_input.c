/* hook_input.c -- see hook_input.h. */
#include "agent/feature/hook/hook_input.h"

#include "json/json.h"

static const struct {
    const char *ours, *theirs;
} tools[] = {
    {"exec", "Bash"},           {"read", "Read"},
    {"write", "Write"},         {"edit", "Edit"},
    {"apply_patch", "Edit"},    {"ls", "LS"},
    {"find", "Glob"},           {"grep", "Grep"},
    {"todo", "TodoWrite"},      {"web_fetch", "WebFetch"},
    {"web_search", "WebSearch"}, {"ask_user", "AskUserQuestion"},
    {"process", "BashOutput"},
};

const char *ch_hook_tool_name(struct ch_arena *a, struct ch_sv tool) {
    for (size_t i = 0; i < CH_LEN(tools); i++)
        if (ch_sv_is(tool, tools[i].ours))
            return tools[i].theirs;
    const char *name = ch_arena_str(a, tool);
    return strstr(name, "__") ? ch_arena_printf(a, "mcp__%s", name) : name;
}

static const char *input_mode(const chela_run *run) {
    if (!run)
        return "default";
    return run->permit.ask_means == CH_CONSENT_AUTO   ? "bypassPermissions"
           : run->permit.ask_means == CH_CONSENT_DENY ? "dontAsk"
                                                      : "default";
}

void ch_hook_input_begin(struct ch_jw *w, const chela_session *s, const chela_run *run,
                         enum ch_hook_event event) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "session_id", s->key);
    ch_jw_kcstr(w, "transcript_path", ""); /* sessions are in a store, not in files */
    ch_jw_kcstr(w, "cwd", s->agent->workspace);
    ch_jw_kcstr(w, "permission_mode", input_mode(run));
    ch_jw_kcstr(w, "hook_event_name", ch_hook_event_name(event));
    ch_jw_kcstr(w, "agent", s->agent->id);
}

/* --- arguments ------------------------------------------------------------------------------ */

static struct ch_sv input_path(const struct ch_json *args) {
    static const char *const names[] = {"file_path", "path", "filePath", "filename"};
    for (size_t i = 0; i < CH_LEN(names); i++) {
        struct ch_sv path = ch_json_get_str(args, names[i]);
        if (path.n)
            return path;
    }
    return CH_SV("");
}

/* The path of a file tool, absolute. */
static void input_write_path(struct ch_jw *w, const char *workspace, struct ch_sv path) {
    CH_BUF_AUTO whole = {0};
    if (!ch_sv_starts(path, "/"))
        ch_buf_addf(&whole, "%s/", strcmp(workspace, "/") == 0 ? "" : workspace);
    while (ch_sv_starts(path, "./"))
        path = ch_sv(path.p + 2, path.n - 2);
    ch_buf_add_sv(&whole, path);
    ch_jw_kstr(w, "file_path", ch_buf_sv(&whole));
}

/* One replacement has the names that it has there. */
static void input_write_edit(struct ch_jw *w, const struct ch_json *args) {
    const struct ch_json *edits = ch_json_get(args, "edits");
    if (!edits || edits->type != CH_JSON_ARRAY || edits->n != 1)
        return;
    for (CH_JSON_EACH(edit, edits)) {
        struct ch_sv old_text = ch_json_get_str(edit, "old_text");
        struct ch_sv new_text = ch_json_get_str(edit, "new_text");
        ch_jw_kstr(w, "old_string", old_text);
        ch_jw_kstr(w, "new_string", new_text);
    }
}

static bool has_files(struct ch_sv tool) {
    return ch_sv_is(tool, "read") || ch_sv_is(tool, "write") || ch_sv_is(tool, "edit");
}

static void input_arguments(struct ch_jw *w, const chela_session *s, struct ch_sv tool,
                            const struct ch_json *args) {
    struct ch_sv path = has_files(tool) ? input_path(args) : CH_SV("");
    ch_jw_begin(w, '{');
    for (CH_JSON_MEMBERS(name, value, args)) {
        if (path.n && ch_sv_is(ch_json_str(name), "file_path"))
            continue;
        ch_jw_key_sv(w, ch_json_str(name));
        ch_jw_value(w, value);
    }
    if (path.n)
        input_write_path(w, s->agent->workspace, path);
    if (ch_sv_is(tool, "edit") && !ch_json_get(args, "old_string"))
        input_write_edit(w, args);
    ch_jw_end(w, '}');
}

void ch_hook_input_call(struct ch_jw *w, const chela_session *s, struct ch_sv id, struct ch_sv name,
                        struct ch_sv arguments) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *args = NULL;
    ch_jw_kcstr(w, "tool_name", ch_hook_tool_name(&arena, name));
    ch_jw_kstr(w, "tool", name);
    ch_jw_kstr(w, "tool_use_id", id);
    ch_jw_key(w, "tool_input");
    if (ch_json_parse(&arena, arguments, CH_JSON_STRICT, &args, NULL, NULL) == 0 &&
        args->type == CH_JSON_OBJECT)
        input_arguments(w, s, name, args);
    else
        ch_jw_raw(w, CH_SV("{}"));
}

void ch_hook_input_result(struct ch_jw *w, const struct ch_result *r, struct ch_sv arguments) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *args = NULL;
    bool good = !r->is_error && !r->failed;
    ch_jw_kbegin(w, "tool_response", '{');
    ch_jw_kbool(w, "success", good);
    ch_jw_kbool(w, "is_error", r->is_error);
    ch_jw_kstr(w, "content", r->content);
    if (ch_sv_is(r->name, "exec")) {
        ch_jw_kstr(w, "stdout", r->content);
        ch_jw_kcstr(w, "stderr", "");
        ch_jw_kbool(w, "interrupted", false);
    } else if (has_files(r->name) &&
               ch_json_parse(&arena, arguments, CH_JSON_STRICT, &args, NULL, NULL) == 0) {
        ch_jw_kstr(w, "filePath", input_path(args));
    }
    ch_jw_end(w, '}');
}
