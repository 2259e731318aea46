/* embed.c -- see embed.h. */
#include "model/wire/embed.h"

#include <float.h>
#include <math.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "json/json.h"
#include "json/writer.h"
#include "model/codec/encode.h"

struct ch_embed {
    struct ch_transport *transport;
    struct ch_http_call *call;
    struct ch_http_request http;
    struct ch_arena arena; /* memory of the request */
    struct ch_buf post, body;
    struct ch_sv sent;
    size_t n;
    int status;
    ch_embed_fn *fn;
    void *user;
    struct ch_embed_observer *const *observer; /* that was told of the begin; NULL: none */
    struct ch_embed_record record;             /* for the observer */
};

static void free_embed(struct ch_embed *e) {
    ch_arena_release(&e->arena);
    ch_buf_release(&e->post);
    ch_buf_release(&e->body);
    ch_free(e);
}

float ch_embed_product(const float *a, const float *b, size_t dim) {
    float sum = 0;

    for (size_t i = 0; i < dim; i++)
        sum += a[i] * b[i];
    return sum;
}

/* --- the observer ------------------------------------------------------------- */

static void embed_tell_begin(struct ch_embed *e, const struct ch_embed_opts *o) {
    struct ch_embed_record *r = &e->record;

    if (!o->observer || !*o->observer)
        return;
    e->observer = o->observer;
    r->endpoint = o->endpoint;
    r->model = ch_arena_sv(&e->arena, o->model);
    (*o->observer)->begin(*o->observer, o, r);
    if (*r->inside)
        ch_encode_add_header(&e->arena, &e->http, (struct ch_header){CH_SV("traceparent"),
                                                                     ch_sv_str(r->inside)});
}

static void embed_tell_end(struct ch_embed *e, int64_t tokens, const struct chela_error *err) {
    if (!e->observer || !*e->observer)
        return;
    e->record.status = e->status;
    e->record.tokens = tokens;
    e->record.err = err;
    (*e->observer)->end(*e->observer, &e->record);
}

/* --- the answer --------------------------------------------------------------- */

static int embed_bad(struct chela_error *err, const char *what) {
    return ch_fail(err, CHELA_EPROTO, "this is no answer with embeddings: %s", what);
}

/* Read one vector and normalize it to length 1. */
static bool embed_read_row(const struct ch_json *v, float *row, size_t dim) {
    double square = 0;
    size_t i = 0;

    for (CH_JSON_EACH(x, v)) {
        double d = ch_json_double(x, NAN);
        if (!(fabs(d) <= FLT_MAX) || i == dim)
            return false;
        row[i++] = (float)d;
        square += d * d;
    }
    if (i != dim || square <= 0)
        return false;
    for (i = 0; i < dim; i++)
        row[i] = (float)(row[i] / sqrt(square));
    return true;
}

static int read_rows(const struct ch_json *data, size_t n, size_t dim, float *rows,
                     struct chela_error *err) {
    CH_AUTOFREE bool *seen = ch_alloc(n);
    size_t at = 0;

    for (CH_JSON_EACH(e, data)) {
        int64_t i = ch_json_int(ch_json_get(e, "index"), (int64_t)at++);
        if (i < 0 || (size_t)i >= n || seen[i])
            return embed_bad(err, "an index is wrong");
        seen[i] = true;
        if (!embed_read_row(ch_json_get(e, "embedding"), rows + (size_t)i * dim, dim))
            return embed_bad(err, "a vector has another size than the first, or is no vector");
    }
    return 0;
}

static int embed_read_answer(struct ch_embed *e, struct ch_embedded *out, float **rows,
                             struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *root;

    if (e->status < 200 || e->status >= 300)
        return ch_fail(err, e->status == 401 || e->status == 403 ? CHELA_EAUTH : CHELA_EPROTO,
                       "HTTP status %d", e->status);
    if (ch_json_parse(&arena, ch_buf_sv(&e->body), CH_JSON_STRICT, &root, NULL, err) < 0)
        return embed_bad(err, "it is no JSON");
    const struct ch_json *data = ch_json_get(root, "data"), *first = NULL;
    for (CH_JSON_EACH(x, data)) {
        first = x;
        break;
    }
    first = ch_json_get(first, "embedding");
    if (!ch_json_is(data, CH_JSON_ARRAY) || data->n != e->n)
        return embed_bad(err, "there is not one vector for each text");
    if (!ch_json_is(first, CH_JSON_ARRAY) || first->n == 0 || first->n > CH_LIMIT_EMBED_SIZE)
        return embed_bad(err, "the first embedding is not a vector");
    int64_t tokens = ch_json_int(ch_json_path(root, "usage", "prompt_tokens", NULL), 0);
    *out = (struct ch_embedded){.n = e->n, .dim = first->n, .tokens = CH_MAX(tokens, 0)};
    out->rows = *rows = ch_alloc(e->n * first->n * sizeof(**rows));
    return read_rows(data, e->n, first->n, *rows, err);
}

static void embed_on_head(const struct ch_http_head *head, void *user) {
    ((struct ch_embed *)user)->status = head->status;
}

static void embed_on_data(struct ch_sv data, void *user) {
    ch_buf_add_sv(&((struct ch_embed *)user)->body, data);
}

static void embed_on_done(const struct chela_error *failed, void *user) {
    struct ch_embed *e = user;
    struct ch_embedded got = {0};
    struct chela_error err = {0};
    CH_AUTOFREE float *rows = NULL;
    ch_embed_fn *fn = e->fn;
    void *whose = e->user;

    if (failed)
        err = *failed;
    else
        embed_read_answer(e, &got, &rows, &err);
    embed_tell_end(e, got.tokens, err.code ? &err : NULL);
    free_embed(e);
    fn(err.code ? NULL : &got, err.code ? &err : NULL, whose);
}

/* --- the request ---------------------------------------------------------------- */

bool ch_embed_possible(const struct ch_endpoint *ep) {
    return ep->codec == &ch_codec_openai || ep->codec == &ch_codec_responses;
}

static void write_post(struct ch_embed *e, const struct ch_embed_opts *o,
                       const struct ch_sv *texts) {
    struct ch_jw w = ch_jw(&e->post);

    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "model", o->model);
    ch_jw_kbegin(&w, "input", '[');
    for (size_t i = 0; i < e->n; i++)
        ch_jw_str(&w, o->whole ? texts[i] : ch_utf8_cut(texts[i], CH_LIMIT_EMBED_TEXT));
    ch_jw_end(&w, ']');
    ch_jw_kcstr(&w, "encoding_format", "float");
    if (o->dimensions > 0)
        ch_jw_kint(&w, "dimensions", o->dimensions);
    ch_jw_end(&w, '}');
}

static int embed_prepare(struct ch_embed *e, const struct ch_embed_opts *o,
                         struct chela_error *err) {
    struct ch_model_request req = {.endpoint = o->endpoint, .model = o->model, .no_stream = true};
    int64_t ms = o->timeout_ms ? o->timeout_ms : CH_DEFAULT_EMBED_MS;
    int rc = o->endpoint->codec->http(&req, &e->arena, &e->http, err);

    if (rc < 0)
        return rc;
    e->sent = ch_buf_sv(&e->post);
    e->http.method = "POST";
    e->http.url = ch_encode_url(&e->arena, o->endpoint->base_url, "/embeddings");
    e->http.body = &e->sent;
    e->http.nbody = 1;
    e->http.max_body = CH_LIMIT_EMBED_ANSWER;
    e->http.timeouts = (struct ch_http_timeouts){ms, ms, ms, ms};
    return 0;
}

int ch_embed_start(const struct ch_embed_opts *o, const struct ch_sv *texts, size_t n,
                   ch_embed_fn *fn, void *user, struct ch_embed **out, struct chela_error *err) {
    static const struct ch_http_handler handler = {embed_on_head, embed_on_data, embed_on_done};

    if (!ch_embed_possible(o->endpoint))
        return ch_fail(err, CHELA_ECONFIG, "%s has no embeddings in OpenAI's protocol",
                       o->endpoint->provider);
    if (n == 0 || n > CH_LIMIT_EMBED_BATCH)
        return ch_fail(err, CHELA_ELIMIT, "%zu texts at once: 1 to %d are possible", n,
                       CH_LIMIT_EMBED_BATCH);
    struct ch_embed *e = ch_alloc(sizeof(*e));
    e->transport = o->transport;
    e->n = n;
    e->fn = fn;
    e->user = user;
    write_post(e, o, texts);
    int rc = embed_prepare(e, o, err);
    if (rc < 0) {
        free_embed(e);
        return rc;
    }
    *out = e;
    embed_tell_begin(e, o);
    e->call = ch_transport_start(e->transport, &e->http, &handler, e);
    return 0;
}

void ch_embed_cancel(struct ch_embed *e, int code) {
    if (!e)
        return;
    embed_tell_end(e, 0, &(struct chela_error){.code = code});
    ch_transport_cancel(e->transport, e->call);
    free_embed(e);
}
