/* memory_api.c -- see memory_api.h.
 *
 * A file is found among the notes of the workspace, so that no other file can be read. Keys in
 * the texts are redacted. */
#include "gateway/http/memory_api.h"

#include "agent/handle/agent.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/redact.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"
#include "tool/memory/notes.h"

/* --- the list: l->key has a line with the id and a line with the workspace of each agent */

static void memory_add_file(const char *path, int64_t ts, struct ch_sv text, void *user) {
    struct ch_jw *w = user;
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "file", path);
    ch_jw_kint(w, "bytes", (int64_t)text.n);
    ch_jw_kint(w, "ts", ts);
    ch_jw_end(w, '}');
}

static int query_list(struct ch_store_lookup *l, struct chela_error *err) {
    struct ch_jw w = ch_jw(&l->out);
    struct ch_sv rest = ch_sv_str(l->key);
    (void)err;
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "agents", '[');
    while (rest.n) {
        struct ch_sv id = ch_sv_split(&rest, '\n'), at = ch_sv_split(&rest, '\n');
        CH_AUTOFREE char *workspace = ch_strndup(at.p, at.n);
        ch_jw_begin(&w, '{');
        ch_jw_kstr(&w, "id", id);
        ch_jw_kstr(&w, "workspace", at);
        ch_jw_kbegin(&w, "files", '[');
        ch_notes_files(workspace, memory_add_file, &w);
        ch_jw_end(&w, ']');
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, ']');
    ch_jw_end(&w, '}');
    return 0;
}

static void memory_respond(struct ch_request *req, struct ch_store_lookup *l) {
    ch_request_respond_json(req, 200, &l->out);
}

void ch_memory_api_list(struct ch_request *req) {
    CH_BUF_AUTO key = {0};
    for (chela_agent **a = req->gw->agents; *a; a++)
        if ((*a)->workspace && !strchr((*a)->workspace, '\n'))
            ch_buf_addf(&key, "%s\n%s\n", (*a)->id, (*a)->workspace);
    ch_store_lookup_start(req, key.n ? ch_buf_sv(&key) : CH_SV(""), 0, query_list, memory_respond);
}

/* --- one file: l->key is the workspace and the name, in a line each */

struct memory_wanted {
    struct ch_sv file;
    struct ch_buf *out;
    bool found;
};

static void memory_pick(const char *path, int64_t ts, struct ch_sv text, void *user) {
    struct memory_wanted *wanted = user;
    (void)ts;
    if (wanted->found || !ch_sv_is(wanted->file, path))
        return;
    CH_BUF_AUTO safe = {0};
    struct ch_jw w = ch_jw(wanted->out);
    wanted->found = true;
    ch_redact_copy(&safe, text);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "file", path);
    ch_jw_kbool(&w, "cut", text.n >= CH_LIMIT_NOTE_FILE);
    ch_jw_kstr(&w, "text", ch_buf_sv(&safe));
    ch_jw_end(&w, '}');
}

static int query_file(struct ch_store_lookup *l, struct chela_error *err) {
    struct ch_sv rest = ch_sv_str(l->key), at = ch_sv_split(&rest, '\n');
    CH_AUTOFREE char *workspace = ch_strndup(at.p, at.n);
    struct memory_wanted wanted = {.file = rest, .out = &l->out};
    ch_notes_files(workspace, memory_pick, &wanted);
    return wanted.found ? 0 : ch_fail(err, CHELA_ENOENT, "there is no such note");
}

void ch_memory_api_get(struct ch_request *req) {
    const chela_agent *a = ch_gateway_agent(req->gw, req->param);
    struct ch_sv file = ch_http_route_decode_query(&req->arena, ch_request_query(req, "file"));
    CH_BUF_AUTO key = {0};
    if (!a || !a->workspace) {
        ch_request_fail(req, 404, NULL, "there is no such agent, or the agent has no workspace");
        return;
    }
    ch_buf_addf(&key, "%s\n%.*s", a->workspace, CH_SV_FMT(file));
    ch_store_lookup_start(req, ch_buf_sv(&key), 0, query_file, memory_respond);
}
