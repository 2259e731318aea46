/* responses_vendor.c -- see responses_vendor.h. */
#include "model/vendor/responses/responses_vendor.h"

#include "json/json.h"
#include "json/scan.h"
#include "json/writer.h"
#include "model/codec/encode.h"

#define TEXT "input" /* the argument that holds the free text of a custom tool */

enum { CUSTOM, SHELL, LOCAL_SHELL, APPLY_PATCH };

static const struct ch_responses_vendor rows[] = {
    [CUSTOM] = {"custom_tool_call", "custom", NULL, TEXT},
    [SHELL] = {"shell_call", "shell", "shell", "action"},
    [LOCAL_SHELL] = {"local_shell_call", "local_shell", "local_shell", "action"},
    [APPLY_PATCH] = {"apply_patch_call", "apply_patch", "apply_patch", "operation"},
};

const struct ch_responses_vendor *ch_responses_vendor(struct ch_sv item) {
    for (size_t i = 0; i < CH_LEN(rows); i++)
        if (ch_sv_is(item, rows[i].item))
            return &rows[i];
    return NULL;
}

/* The environment of a shell: without one it is the client's machine. */
static bool is_local(const struct ch_json *shell) {
    const struct ch_json *environment = ch_json_get(shell, "environment");
    return !ch_json_is(environment, CH_JSON_OBJECT) ||
           ch_sv_is(ch_json_get_str(environment, "type"), "local");
}

bool ch_responses_vendor_is_ours(const struct ch_responses_vendor *v, const struct ch_endpoint *ep,
                                 struct ch_sv server_tools, struct ch_sv name) {
    CH_ARENA_AUTO arena = {0};
    if (!ep) /* a recording: what its request declared is not known */
        return v == &rows[CUSTOM];
    const struct ch_json *declared =
        ch_encode_declared(ep, server_tools, v->tool, v->name ? CH_SV("") : name, &arena);
    return declared && (v != &rows[SHELL] || is_local(declared));
}

const struct ch_responses_vendor *ch_responses_vendor_of(const struct ch_model_request *req,
                                                         const struct ch_block *call, bool own) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *extra = NULL, *arguments = NULL;
    if (!own || call->runner != CH_RUN_RUNTIME || call->flags & (CH_F_CUT | CH_F_INVALID) ||
        ch_json_parse(&arena, call->extra, CH_JSON_STRICT, &extra, NULL, NULL) < 0 ||
        ch_json_parse(&arena, call->text, CH_JSON_STRICT, &arguments, NULL, NULL) < 0)
        return NULL;
    const struct ch_responses_vendor *v = ch_responses_vendor(ch_json_get_str(extra, "type"));
    if (!v || (v == &rows[CUSTOM] && !ch_json_is(ch_json_get(arguments, TEXT), CH_JSON_STRING)))
        return NULL;
    return ch_responses_vendor_is_ours(v, req->endpoint, req->server_tools, call->name)
               ? v
               : NULL;
}

void ch_responses_vendor_call(const struct ch_responses_vendor *v, const struct ch_block *call,
                              struct ch_jw *w) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *arguments = NULL;
    if (v != &rows[CUSTOM]) {
        ch_jw_kcstr(w, "status", "completed");
        ch_jw_kraw(w, v->member, call->text);
        return;
    }
    ch_json_parse(&arena, call->text, CH_JSON_STRICT, &arguments, NULL, NULL);
    ch_jw_kstr(w, "name", call->name);
    ch_jw_kstr(w, TEXT, ch_json_get_str(arguments, TEXT));
}

/* The exit code that the last line of a command's result names ("[exit code 3]"). */
static int exit_code(const struct ch_block *result) {
    static const struct ch_sv mark = CH_SV("[exit code ");
    size_t at = result->text.n;
    int code = 0;
    if (!ch_result_failed(result))
        return 0;
    while (at && result->text.p[at - 1] != '\n')
        at--;
    struct ch_sv line = ch_sv(result->text.p + at, result->text.n - at);
    if (line.n <= mark.n || memcmp(line.p, mark.p, mark.n) != 0)
        return 1;
    for (size_t i = mark.n; i < line.n && ch_scan_is_digit(line.p[i]) && code < 1000; i++)
        code = 10 * code + line.p[i] - '0';
    return code;
}

static bool timed_out(const struct ch_block *result) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *error = NULL;
    if (result->flags & CH_F_ERROR)
        ch_json_parse(&arena, result->text, CH_JSON_STRICT, &error, NULL, NULL);
    return ch_sv_is(ch_json_get_str(error, "error_type"), "timeout");
}

static void write_shell(const struct ch_block *call, const struct ch_block *result,
                        struct ch_jw *w) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *action = NULL;
    bool error = result->flags & CH_F_ERROR, late = timed_out(result);
    ch_json_parse(&arena, call->text, CH_JSON_STRICT, &action, NULL, NULL);
    const struct ch_json *most = ch_json_get(action, "max_output_length");
    if (ch_json_is(most, CH_JSON_NUMBER)) /* the service wants it back */
        ch_jw_kvalue(w, "max_output_length", most);
    ch_jw_kbegin(w, "output", '[');
    ch_jw_begin(w, '{');
    ch_jw_kstr(w, "stdout", error ? CH_SV("") : result->text);
    ch_jw_kstr(w, "stderr", error ? result->text : CH_SV(""));
    ch_jw_kbegin(w, "outcome", '{');
    ch_jw_kcstr(w, "type", late ? "timeout" : "exit");
    if (!late)
        ch_jw_kint(w, "exit_code", exit_code(result));
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
    ch_jw_end(w, ']');
}

/* The output of a local shell is JSON in a string. */
static void write_local_shell(const struct ch_block *result, struct ch_jw *w) {
    CH_BUF_AUTO text = {0};
    struct ch_jw inner = ch_jw(&text);
    ch_jw_begin(&inner, '{');
    ch_jw_kstr(&inner, "output", result->text);
    ch_jw_kbegin(&inner, "metadata", '{');
    ch_jw_kint(&inner, "exit_code", exit_code(result));
    ch_jw_end(&inner, '}');
    ch_jw_end(&inner, '}');
    ch_jw_kstr(w, "output", ch_buf_sv(&text));
}

void ch_responses_vendor_output(const struct ch_responses_vendor *v, const struct ch_block *call,
                                const struct ch_block *result, struct ch_jw *w) {
    if (v == &rows[SHELL]) {
        write_shell(call, result, w);
    } else if (v == &rows[LOCAL_SHELL]) {
        write_local_shell(result, w);
    } else {
        if (v == &rows[APPLY_PATCH])
            ch_jw_kcstr(w, "status", ch_result_failed(result) ? "failed" : "completed");
        ch_jw_kstr(w, "output", ch_is_blank(result->text) ? CH_SV("(no output)") : result->text);
    }
}
