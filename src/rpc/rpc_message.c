/* rpc_message.c -- see rpc_message.h. */
#include "rpc/rpc_message.h"

#include <stdio.h>

#include "base/error.h"
#include "base/limits.h"

static bool read_id(const struct ch_json *v, struct ch_rpc_id *out) {
    bool is_string = ch_json_is(v, CH_JSON_STRING);

    if (!is_string && !(ch_json_is(v, CH_JSON_NUMBER) && (v->flags & CH_JSON_INTEGER)))
        return false;
    *out = (struct ch_rpc_id){ch_sv(v->s, v->n), is_string};
    return v->n <= CH_LIMIT_RPC_NAME;
}

/* The member; NULL: it is absent or null. */
static const struct ch_json *member(const struct ch_json *root, const char *name) {
    const struct ch_json *v = ch_json_get(root, name);

    return ch_json_is(v, CH_JSON_NULL) ? NULL : v;
}

/* The members of a request or a notification. */
static int read_call(const struct ch_json *root, const struct ch_json *id,
                     struct ch_rpc_message *m, struct chela_error *err) {
    const struct ch_json *params = member(root, "params");

    if (id && ch_json_is(id, CH_JSON_NULL))
        return ch_fail(err, CHELA_EPROTO, "the id of a request is null");
    if (params && params->type != CH_JSON_OBJECT && params->type != CH_JSON_ARRAY)
        return ch_fail(err, CHELA_EPROTO, "params is neither an object nor an array");
    if (m->method.n == 0)
        return ch_fail(err, CHELA_EPROTO, "the method is empty");
    if (m->method.n > CH_LIMIT_RPC_NAME)
        return ch_fail(err, CHELA_ELIMIT, "the method has %zu bytes", m->method.n);
    m->kind = id ? CH_RPC_REQUEST : CH_RPC_NOTIFICATION;
    m->params = params;
    return 0;
}

static int read_error(const struct ch_json *error, struct ch_rpc_message *m,
                      struct chela_error *err) {
    if (!ch_json_as_int(ch_json_get(error, "code"), &m->code))
        return ch_fail(err, CHELA_EPROTO, "the code of an error is not an integer");
    m->kind = CH_RPC_ERROR;
    m->text = ch_json_get_str(error, "message");
    m->data = ch_json_get(error, "data");
    return 0;
}

static int read_response(const struct ch_json *root, const struct ch_json *id,
                         struct ch_rpc_message *m, struct chela_error *err) {
    const struct ch_json *error = member(root, "error");

    m->result = error ? member(root, "result") : ch_json_get(root, "result");
    if (!m->result == !error)
        return ch_fail(err, CHELA_EPROTO,
                       error ? "the message has both a result and an error"
                             : "the message has neither a method nor a result nor an error");
    if (!m->id.text.p && (!error || (id && !ch_json_is(id, CH_JSON_NULL))))
        return ch_fail(err, CHELA_EPROTO, "the response has no id");
    if (error)
        return read_error(error, m, err);
    m->kind = CH_RPC_RESULT;
    return 0;
}

int ch_rpc_read(struct ch_arena *a, struct ch_sv text, struct ch_rpc_message *out,
                struct chela_error *err) {
    const struct ch_json *root;

    *out = (struct ch_rpc_message){0};
    int rc = ch_json_parse(a, text, CH_JSON_REPLACE, &root, NULL, err);
    return rc < 0 ? rc : ch_rpc_read_json(root, out, err);
}

bool ch_rpc_is_batch(struct ch_sv text) {
    return ch_sv_starts(ch_sv_trim(text), "[");
}

int ch_rpc_read_batch(struct ch_arena *a, struct ch_sv text, const struct ch_json **out,
                      struct chela_error *err) {
    size_t n = 0;
    int rc = ch_json_parse(a, text, CH_JSON_REPLACE, out, NULL, err);

    if (rc < 0)
        return rc;
    for (CH_JSON_EACH(e, *out))
        n++;
    if (n == 0)
        return ch_fail(err, CHELA_EPROTO, "the batch is empty");
    if (n > CH_LIMIT_RPC_BATCH)
        return ch_fail(err, CHELA_ELIMIT, "the batch has %zu messages; the maximum is %d", n,
                       CH_LIMIT_RPC_BATCH);
    return 0;
}

int ch_rpc_read_json(const struct ch_json *root, struct ch_rpc_message *out,
                     struct chela_error *err) {
    *out = (struct ch_rpc_message){0};
    if (root->type == CH_JSON_ARRAY)
        return ch_fail(err, CHELA_EPROTO, "the message is a batch, which this version of the "
                       "protocol does not have");
    if (root->type != CH_JSON_OBJECT)
        return ch_fail(err, CHELA_EPROTO, "the message is not a JSON object");
    const struct ch_json *id = ch_json_get(root, "id"), *method = ch_json_get(root, "method");
    if (id && !ch_json_is(id, CH_JSON_NULL) && !read_id(id, &out->id)) {
        out->id = (struct ch_rpc_id){0};
        return ch_fail(err, CHELA_EPROTO, "the id is neither a short string nor an integer");
    }
    out->kind = method ? CH_RPC_REQUEST : CH_RPC_ERROR;
    if (!ch_sv_is(ch_json_get_str(root, "jsonrpc"), "2.0"))
        return ch_fail(err, CHELA_EPROTO, "the member jsonrpc is not \"2.0\"");
    if (!method)
        return read_response(root, id, out, err);
    if (!ch_json_is(method, CH_JSON_STRING))
        return ch_fail(err, CHELA_EPROTO, "the method is not a string");
    out->method = ch_json_str(method);
    return read_call(root, id, out, err);
}

enum ch_rpc_code ch_rpc_code_of(int rc) {
    return rc == CHELA_EPARSE ? CH_RPC_PARSE_ERROR : CH_RPC_INVALID_REQUEST;
}

bool ch_rpc_id_eq(struct ch_rpc_id a, struct ch_rpc_id b) {
    return a.is_string == b.is_string && !a.text.p == !b.text.p && ch_sv_eq(a.text, b.text);
}

bool ch_rpc_id_is(struct ch_rpc_id id, int64_t number) {
    char text[24];
    int n = snprintf(text, sizeof(text), "%lld", (long long)number);

    return !id.is_string && id.text.p && ch_sv_eq(id.text, ch_sv(text, (size_t)n));
}

void ch_rpc_write_id(struct ch_jw *w, struct ch_rpc_id id) {
    if (!id.text.p)
        ch_jw_null(w);
    else if (id.is_string)
        ch_jw_str(w, id.text);
    else
        ch_jw_raw(w, id.text);
}

/* A message is one line. In valid JSON a line break stands only between values. */
static void add_json(struct ch_jw *w, const char *key, struct ch_sv json) {
    if (json.n == 0)
        return;
    ch_jw_key(w, key);
    size_t at = w->out->n;
    ch_jw_raw(w, json);
    for (; at < w->out->n; at++)
        if (w->out->p[at] == '\n' || w->out->p[at] == '\r')
            w->out->p[at] = ' ';
}

static struct ch_jw open_message(struct ch_buf *out) {
    struct ch_jw w = ch_jw(out);

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "jsonrpc", "2.0");
    return w;
}

void ch_rpc_write_request(struct ch_buf *out, int64_t id, const char *method,
                          struct ch_sv params) {
    struct ch_jw w = open_message(out);

    ch_jw_kint(&w, "id", id);
    ch_jw_kcstr(&w, "method", method);
    add_json(&w, "params", params);
    ch_jw_end(&w, '}');
}

void ch_rpc_write_notification(struct ch_buf *out, const char *method, struct ch_sv params) {
    struct ch_jw w = open_message(out);

    ch_jw_kcstr(&w, "method", method);
    add_json(&w, "params", params);
    ch_jw_end(&w, '}');
}

void ch_rpc_write_result(struct ch_buf *out, struct ch_rpc_id id, struct ch_sv result) {
    struct ch_jw w = open_message(out);

    ch_jw_key(&w, "id");
    ch_rpc_write_id(&w, id);
    add_json(&w, "result", result);
    ch_jw_end(&w, '}');
}

void ch_rpc_write_error(struct ch_buf *out, struct ch_rpc_id id, int64_t code, struct ch_sv text,
                        struct ch_sv data) {
    struct ch_jw w = open_message(out);

    ch_jw_key(&w, "id");
    ch_rpc_write_id(&w, id);
    ch_jw_kbegin(&w, "error", '{');
    ch_jw_kint(&w, "code", code);
    ch_jw_kstr(&w, "message", text);
    add_json(&w, "data", data);
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
}
