/* openai_embeddings.c -- see openai_embeddings.h.
 *
 * The texts go to the service in batches, one after the other, because a service accepts a
 * limited number at once. */
#include "gateway/http/openai_embeddings.h"

#include "agent/api/agent.h"
#include "agent/context/tool_embedding.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "gateway/http/contract.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "model/wire/embed.h"

struct embedding {
    struct ch_request *request;
    chela_agent *agent; /* held */
    struct ch_embed *call;
    struct ch_sv *texts; /* in the request's arena */
    size_t n, sent;
    int64_t dimensions; /* 0: the model's */
    int64_t tokens;
    bool base64;
    struct ch_buf data; /* entries of the response */
};

static void free_embedding(struct embedding *e) {
    ch_embed_cancel(e->call, CHELA_ECANCELED);
    ch_agent_release(e->agent);
    ch_buf_release(&e->data);
    ch_free(e);
}

static void embedding_on_disconnect(struct ch_request *req) {
    free_embedding(req->user);
}

/* --- the response */

/* Little-endian floats, as OpenAI's clients ask for. */
static void write_base64(struct ch_jw *w, const float *row, size_t dim) {
    CH_BUF_AUTO bytes = {0}, text = {0};
    for (size_t i = 0; i < dim; i++) {
        uint32_t bits;
        memcpy(&bits, &row[i], sizeof(bits));
        for (unsigned k = 0; k < 4; k++)
            ch_buf_addc(&bytes, (char)(bits >> (8 * k) & 0xff));
    }
    ch_base64_add(&text, ch_buf_sv(&bytes));
    ch_jw_str(w, ch_buf_sv(&text));
}

static void write_numbers(struct ch_jw *w, const float *row, size_t dim) {
    ch_jw_begin(w, '[');
    for (size_t i = 0; i < dim; i++)
        ch_jw_double(w, row[i]);
    ch_jw_end(w, ']');
}

static void add_rows(struct embedding *e, const struct ch_embedded *got) {
    for (size_t i = 0; i < got->n; i++) {
        CH_BUF_AUTO one = {0};
        struct ch_jw w = ch_jw(&one);
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "object", "embedding");
        ch_jw_kint(&w, "index", (int64_t)(e->sent + i));
        ch_jw_key(&w, "embedding");
        (e->base64 ? write_base64 : write_numbers)(&w, got->rows + i * got->dim, got->dim);
        ch_jw_end(&w, '}');
        ch_buf_addf(&e->data, "%s%s", e->data.n ? "," : "", ch_buf_str(&one));
    }
    e->sent += got->n;
    e->tokens += got->tokens;
}

static void embedding_respond(struct embedding *e) {
    CH_BUF_AUTO out = {0}, data = {0};
    struct ch_jw w = ch_jw(&out);
    struct ch_request *req = e->request;
    ch_buf_addf(&data, "[%s]", ch_buf_str(&e->data));
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "object", "list");
    ch_jw_kraw(&w, "data", ch_buf_sv(&data));
    ch_jw_kcstr(&w, "model", e->agent->embedding->embedder.spec);
    ch_jw_kbegin(&w, "usage", '{');
    ch_jw_kint(&w, "prompt_tokens", e->tokens);
    ch_jw_kint(&w, "total_tokens", e->tokens);
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
    req->on_disconnect = NULL;
    free_embedding(e);
    ch_request_respond_json(req, 200, &out);
}

static void embedding_refuse(struct embedding *e, const struct chela_error *err) {
    struct ch_request *req = e->request;
    req->on_disconnect = NULL;
    free_embedding(e);
    if (err->code == CHELA_EINVAL || err->code == CHELA_ELIMIT)
        ch_request_fail_with(req, err);
    else
        ch_request_fail(req, 502, NULL, "the embedding model failed: %s", err->message);
}

/* --- the calls */

static void embedding_next(struct embedding *e);

static void embedding_on_batch(const struct ch_embedded *got, const struct chela_error *err,
                               void *user) {
    struct embedding *e = user;
    e->call = NULL;
    if (err) {
        embedding_refuse(e, err);
        return;
    }
    add_rows(e, got);
    if (e->sent == e->n)
        embedding_respond(e);
    else
        embedding_next(e);
}

static void embedding_next(struct embedding *e) {
    struct ch_embed_opts opts = e->agent->embedding->embedder.opts;
    struct chela_error err = {0};
    opts.timeout_ms = CH_DEFAULT_EMBED_ROUTE_MS;
    opts.dimensions = e->dimensions;
    opts.whole = true;
    opts.trace = e->request->traceparent;
    size_t n = CH_MIN(e->n - e->sent, CH_LIMIT_EMBED_BATCH);
    if (ch_embed_start(&opts, e->texts + e->sent, n, embedding_on_batch, e, &e->call, &err) < 0)
        embedding_refuse(e, &err);
}

/* --- the request */

static int embedding_add_text(struct embedding *e, const struct ch_json *v,
                              struct chela_error *err) {
    struct ch_sv text = ch_json_str(v);
    if (!ch_json_is(v, CH_JSON_STRING) || !text.n)
        return ch_fail(err, CHELA_EINVAL, "`input` must be a text or a list of texts, none empty");
    if (text.n > CH_LIMIT_EMBED_INPUT)
        return ch_fail(err, CHELA_EINVAL, "a text of `input` is longer than %zu bytes",
                       (size_t)CH_LIMIT_EMBED_INPUT);
    e->texts[e->n++] = text;
    return 0;
}

static int embedding_read(struct embedding *e, struct chela_error *err) {
    struct ch_request *req = e->request;
    const struct ch_json *input = ch_json_get(req->json, "input");
    size_t max = ch_json_is(input, CH_JSON_ARRAY) ? input->n : 1;
    struct ch_sv format = ch_json_get_str(req->json, "encoding_format");
    int rc = ch_request_check_types(
        req->json, NULL, "model:string encoding_format:string dimensions:integer", err);
    CH_BUF_AUTO dropped = {0};
    if (rc == 0)
        rc = ch_contract_apply(ch_contract_embeddings, req->json, NULL, &dropped, err);
    if (rc < 0)
        return rc;
    if (dropped.n)
        ch_request_add_header(req, "X-Chela-Dropped", ch_buf_str(&dropped));
    if (max == 0 || max > CH_LIMIT_EMBED_INPUTS)
        return ch_fail(err, CHELA_EINVAL, "`input` must have 1 to %d texts", CH_LIMIT_EMBED_INPUTS);
    if (format.n && !ch_sv_is(format, "float") && !ch_sv_is(format, "base64"))
        return ch_fail(err, CHELA_EINVAL, "`encoding_format` must be float or base64");
    e->base64 = ch_sv_is(format, "base64");
    e->dimensions = ch_json_int(ch_json_get(req->json, "dimensions"), 0);
    e->texts = ch_arena_alloc(&req->arena, max * sizeof(*e->texts));
    if (!ch_json_is(input, CH_JSON_ARRAY))
        return embedding_add_text(e, input, err);
    for (CH_JSON_EACH(v, input))
        if (rc == 0)
            rc = embedding_add_text(e, v, err);
    return rc;
}

/* The agent that `model` names, or else the first one with an embedding model. */
static chela_agent *embedding_agent(const chela_gateway *gw, struct ch_sv model) {
    chela_agent *named = model.n ? ch_gateway_agent(gw, model) : NULL;
    if (named && named->embedding)
        return named;
    for (chela_agent **a = gw->agents; *a; a++)
        if ((*a)->embedding)
            return *a;
    return NULL;
}

void ch_openai_embeddings(struct ch_request *req) {
    chela_agent *agent = embedding_agent(req->gw, ch_json_get_str(req->json, "model"));
    struct chela_error err = {0};
    if (!agent) {
        ch_request_fail(req, 404, "model_not_found",
                        "no agent has an embedding model: see `embedding` in the configuration");
        return;
    }
    struct embedding *e = ch_alloc(sizeof(*e));
    e->request = req;
    e->agent = agent;
    ch_agent_hold(agent);
    int rc = embedding_read(e, &err);
    if (rc < 0) {
        embedding_refuse(e, &err);
        return;
    }
    req->user = e;
    req->on_disconnect = embedding_on_disconnect;
    embedding_next(e);
}
