/* review_api.c -- see review_api.h. Reading and writing files blocks, so the work is done on a
 * worker thread, as are lookups in the store. */
#include "gateway/http/review_api.h"

#include "base/error.h"
#include "base/limits.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"
#include "layer/review.h"

static int query_diff(struct ch_store_lookup *l, struct chela_error *err) {
    return ch_review_show(&(struct ch_review_opts){.session = l->key}, &l->out, err);
}

static void respond_review(struct ch_request *req, struct ch_store_lookup *l) {
    ch_request_respond_json(req, 200, &l->out);
}

void ch_review_api_diff(struct ch_request *req) {
    ch_store_lookup_start(req, req->param, 0, query_diff, respond_review);
}

/* --- apply: l->key is the key, a line feed and the body */

static int read_files(struct ch_arena *a, const struct ch_json *list, struct ch_review_opts *o,
                      struct chela_error *err) {
    size_t n = 0;

    if (!ch_json_is(list, CH_JSON_ARRAY))
        return 0;
    const char **files = ch_arena_zalloc(a, ((size_t)list->n + 1) * sizeof(*files));
    for (CH_JSON_EACH(e, list)) {
        if (!ch_json_is(e, CH_JSON_STRING) || !e->n)
            return ch_fail(err, CHELA_EINVAL, "`files` must hold paths");
        files[n++] = ch_arena_str(a, ch_json_str(e));
    }
    o->files = files;
    return 0;
}

static int read_hunks(struct ch_arena *a, const struct ch_json *list, struct ch_review_opts *o,
                      struct chela_error *err) {
    if (!ch_json_is(list, CH_JSON_ARRAY))
        return 0;
    unsigned *hunks = ch_arena_zalloc(a, ((size_t)list->n + 1) * sizeof(*hunks));
    for (CH_JSON_EACH(e, list)) {
        int64_t hunk = ch_json_int(e, 0);
        if (hunk < 1 || hunk > UINT32_MAX)
            return ch_fail(err, CHELA_EINVAL, "`hunks` must hold numbers from 1");
        hunks[o->nhunks++] = (unsigned)hunk;
    }
    o->hunks = hunks;
    return 0;
}

static int query_apply(struct ch_store_lookup *l, struct chela_error *err) {
    CH_ARENA_AUTO a = {0};
    char *body = strchr(l->key, '\n');
    const struct ch_json *v = NULL;
    struct ch_review_opts o = {.session = l->key};

    *body++ = '\0';
    int rc = ch_json_parse(&a, ch_sv_str(body), CH_JSON_REPLACE, &v, NULL, err);
    if (rc == 0)
        rc = read_files(&a, ch_json_get(v, "files"), &o, err);
    if (rc == 0)
        rc = read_hunks(&a, ch_json_get(v, "hunks"), &o, err);
    if (rc < 0)
        return rc;
    return ch_json_bool(ch_json_get(v, "discard"), false) ? ch_review_discard(&o, &l->out, err)
                                                          : ch_review_apply(&o, &l->out, err);
}

void ch_review_api_apply(struct ch_request *req) {
    CH_BUF_AUTO both = {0};
    struct chela_error err = {0};

    int rc =
        ch_request_check_types(req->json, NULL, "files:array hunks:array discard:boolean", &err);
    if (rc < 0) {
        ch_request_fail_with(req, &err);
        return;
    }
    struct ch_sv body = req->json ? req->body : CH_SV("{}");
    ch_buf_addf(&both, "%.*s\n%.*s", CH_SV_FMT(req->param), CH_SV_FMT(body));
    ch_store_lookup_start(req, ch_arena_sv(&req->arena, ch_buf_sv(&both)), 0, query_apply,
                          respond_review);
}
