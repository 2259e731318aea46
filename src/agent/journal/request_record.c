/* request_record.c -- see request_record.h. */
#include "agent/journal/request_record.h"

#include "agent/handle/lookup.h"
#include "agent/machine/run.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/redact.h"
#include "model/catalog/model_columns.h"
#include "model/catalog/provider.h"
#include "model/catalog/model_facts.h"
#include "model/codec/codec.h"
#include "model/codec/encode.h"
#include "model/codec/errors.h"
#include "model/codec/refusals.h"
#include "model/message/message_json.h"

static void request_append(chela_run *owner, enum ch_record_type type, struct ch_sv json) {
    ch_run_journal_append(owner->session, type, json, CH_SYNC_LATER);
}

/* --- parts ---------------------------------------------------------------------------- */

static struct ch_request_digests *digests_of(chela_run *owner) {
    chela_agent *a = ch_agent_root(owner->session->agent);
    if (!a->requests)
        a->requests = ch_alloc(sizeof(*a->requests));
    return a->requests;
}

/* The parts of a setup that the session lacks. They are stored in one record. */
struct new_parts {
    chela_run *owner;
    struct ch_buf json;                 /* the record without its end; empty: no part */
    struct ch_request_digests *digests; /* of the agent; NULL: the next part is not among them */
    size_t position;                    /* of the next part in `digests` */
};

static void append_parts(struct new_parts *p) {
    if (!p->json.n)
        return;
    ch_buf_add_str(&p->json, "]}");
    request_append(p->owner, CH_REC_PART, ch_buf_sv(&p->json));
    ch_buf_clear(&p->json);
}

/* Adds a part unless the session has it. rest: its members after "id", without braces. */
static uint64_t add_part(struct new_parts *p, const struct ch_buf *rest) {
    uint64_t id = p->digests ? ch_request_digests_part(p->digests, p->position++, ch_buf_sv(rest))
                          : ch_part_id(ch_buf_sv(rest));
    char hex[CH_PART_HEX];
    if (rest->overflow || rest->n > CH_LIMIT_RECORD / 2 ||
        !ch_part_ids_add(&p->owner->session->journal->parts, id))
        return id;
    if (p->json.n + rest->n > CH_LIMIT_RECORD / 2)
        append_parts(p);
    ch_part_id_write(id, hex);
    ch_buf_addf(&p->json, "%s{\"id\":\"%s\",", p->json.n ? "," : "{\"parts\":[", hex);
    ch_buf_add_sv(&p->json, ch_buf_sv(rest));
    ch_buf_addc(&p->json, '}');
    return id;
}

static void write_id(struct ch_jw *w, uint64_t id) {
    char hex[CH_PART_HEX];
    ch_part_id_write(id, hex);
    ch_jw_cstr(w, hex);
}

static uint64_t add_system(struct new_parts *p, const struct ch_request_made *m) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_kcstr(&w, "kind", "system");
    ch_jw_key(&w, "sections");
    if (m->sections) {
        ch_jw_raw(&w, ch_sv_str(m->sections));
    } else {
        ch_jw_begin(&w, '[');
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "name", "system");
        ch_jw_kcstr(&w, "origin", m->origin);
        ch_jw_kint(&w, "at", 0);
        ch_jw_kint(&w, "bytes", (int64_t)m->req->system.n);
        ch_jw_end(&w, '}');
        ch_jw_end(&w, ']');
    }
    ch_jw_kstr(&w, "text", m->req->system);
    return add_part(p, &out);
}

static uint64_t add_tool(struct new_parts *p, const struct ch_tool_def *t) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_kcstr(&w, "kind", "tool");
    ch_jw_kstr(&w, "name", t->name);
    ch_jw_kstr(&w, "description", t->description);
    if (t->schema.n)
        ch_jw_kraw(&w, "parameters", t->schema);
    if (t->strict)
        ch_jw_kbool(&w, "strict", true);
    ch_encode_deferral(t, &w);
    return add_part(p, &out);
}

/* --- the setup ------------------------------------------------------------------------ */

/* "=": exactly these quirks, instead of those in the provider's table. */
static void write_quirks(struct ch_jw *w, unsigned quirks) {
    const char *name;
    unsigned bit;
    ch_jw_kbegin(w, "quirks", '[');
    ch_jw_cstr(w, "=");
    for (size_t i = 0; (name = ch_quirk_name(i, &bit)); i++)
        if (quirks & bit)
            ch_jw_cstr(w, name);
    ch_jw_end(w, ']');
}

/* What the user's file and the configuration say differently from the built-in table. */
static void write_facts(struct ch_jw *w, const struct ch_model_facts *f, struct ch_sv model) {
    struct ch_some_facts some = {.facts = *f};
    some.known = ch_columns_compare(f, ch_model_facts(model)) & CH_COLUMNS_OF_REQUEST;
    if (!(f->flags & (CH_M_TEXT | CH_M_IMAGES)))
        some.known &= ~CH_COLUMN_BIT(modalities_in);
    if (!some.known)
        return;
    ch_jw_kbegin(w, "facts", '{');
    ch_some_facts_write(w, &some);
    ch_jw_end(w, '}');
}

static void write_endpoint(struct ch_jw *w, const struct ch_model_request *req) {
    const struct ch_endpoint *ep = req->endpoint;
    struct ch_sv extra = ep->extra_body, passed = req->passed;
    CH_BUF_AUTO url = {0};
    ch_buf_add_str(&url, ep->base_url ? ep->base_url : "");
    if (url.n)
        ch_redact(url.p);
    ch_jw_kcstr(w, "provider", ep->provider);
    ch_jw_kcstr(w, "base_url", ch_buf_str(&url));
    ch_jw_kstr(w, "model", req->model);
    write_quirks(w, ep->quirks);
    if (ep->facts)
        write_facts(w, ep->facts, req->model);
    if (!extra.n && !passed.n)
        return;
    ch_buf_clear(&url);
    ch_buf_addf(&url, "{%.*s%s%.*s}", CH_SV_FMT(passed), extra.n && passed.n ? "," : "",
                CH_SV_FMT(extra));
    ch_jw_kraw(w, "extra_body", ch_buf_sv(&url));
}

static void write_sampling(struct ch_jw *w, const struct ch_model_request *req) {
    if (req->has_temperature)
        ch_jw_kdouble(w, "temperature", req->temperature);
    if (req->has_top_p)
        ch_jw_kdouble(w, "top_p", req->top_p);
    if (req->top_k)
        ch_jw_kint(w, "top_k", req->top_k);
    if (req->has_seed)
        ch_jw_kint(w, "seed", req->seed);
    if (req->logprobs)
        ch_jw_kint(w, "logprobs", req->logprobs);
    if (req->max_output_tokens)
        ch_jw_kint(w, "max_output_tokens", req->max_output_tokens);
    if (req->kept_free)
        ch_jw_kint(w, "kept_free", req->kept_free);
    if (req->effort != CH_EFFORT_DEFAULT)
        ch_jw_kcstr(w, "reasoning", ch_effort_name(req->effort));
    if (!req->nstop)
        return;
    ch_jw_kbegin(w, "stop", '[');
    for (size_t i = 0; i < req->nstop; i++)
        ch_jw_str(w, req->stop[i]);
    ch_jw_end(w, ']');
}

static void write_options(struct ch_jw *w, const struct ch_model_request *req) {
    static const char *const caches[] = {"short", "off", "long"};
    static const char *const choices[] = {NULL, "any", "none"};
    if (req->choice == CH_CHOICE_ONE)
        ch_jw_kstr(w, "tool_choice", req->choice_name);
    else if (choices[req->choice])
        ch_jw_kcstr(w, "tool_choice", choices[req->choice]);
    if (req->no_parallel)
        ch_jw_kbool(w, "parallel", false);
    if (req->no_stream)
        ch_jw_kbool(w, "stream", false);
    if (req->endpoint->learnt.rules) {
        ch_jw_kbegin(w, "learnt", '{');
        ch_refusal_write_all(&req->endpoint->learnt, w);
        ch_jw_end(w, '}');
    }
    if (req->unbound)
        ch_jw_kint(w, "unbound", (int64_t)req->unbound);
    if (req->compact_at)
        ch_jw_kint(w, "compact_at", req->compact_at);
    if (req->compact_now)
        ch_jw_kbool(w, "compact_now", true);
    if (req->no_calls)
        ch_jw_kbool(w, "no_calls", true);
    if (req->output_schema.n)
        ch_jw_kraw(w, "output_schema", req->output_schema);
    if (req->server_tools.n)
        ch_jw_kraw(w, "server_tools", req->server_tools);
    ch_jw_kcstr(w, "cache", caches[req->cache]);
    if (req->cache_key.n)
        ch_jw_kstr(w, "cache_key", req->cache_key);
}

static uint64_t store_setup(chela_run *owner, const struct ch_request_made *m) {
    const struct ch_model_request *req = m->req;
    struct new_parts parts = {.owner = owner, .digests = m->role ? NULL : digests_of(owner)};
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_kcstr(&w, "kind", "setup");
    ch_jw_kcstr(&w, "version", CHELA_VERSION);
    ch_jw_kcstr(&w, "api", req->endpoint->codec->name);
    if (req->system.n) {
        ch_jw_key(&w, "system");
        write_id(&w, add_system(&parts, m));
    }
    ch_jw_kbegin(&w, "tools", '[');
    for (size_t i = 0; i < req->ntools; i++)
        write_id(&w, add_tool(&parts, &req->tools[i]));
    ch_jw_end(&w, ']');
    ch_jw_kbegin(&w, "request", '{');
    write_endpoint(&w, req);
    write_sampling(&w, req);
    write_options(&w, req);
    ch_jw_end(&w, '}');
    parts.digests = NULL; /* a setup names its conversation */
    uint64_t id = add_part(&parts, &out);
    append_parts(&parts);
    ch_buf_release(&parts.json);
    return id;
}

/* --- the digest ----------------------------------------------------------------------- */

static bool continues(const struct ch_request_sum *s, const struct ch_encoder *e) {
    return s->known && s->shape == e->shape && s->revision == e->revision &&
           s->epoch == e->epoch && s->messages <= e->messages.n - e->cut;
}

/* Brings the sum up to the encoder's messages, and the setup's id up to its revision. */
static void sum_messages(struct ch_request_sum *s, chela_run *owner,
                         const struct ch_request_made *m) {
    const struct ch_encoder *e = m->encoder;
    size_t n = e->messages.n - e->cut;
    if (!continues(s, e)) {
        *s = (struct ch_request_sum){.shape = e->shape,
                                     .revision = e->revision,
                                     .epoch = e->epoch,
                                     .setup = store_setup(owner, m),
                                     .known = true};
        if (e->shared_head && !m->role) {
            s->sha = ch_request_digests_head(digests_of(owner), e->shared_head);
        } else {
            ch_sha256_init(&s->sha);
            ch_sha256_add(&s->sha, e->head.p, e->head.n);
        }
    }
    if (n > s->messages)
        ch_sha256_add(&s->sha, e->messages.p + s->messages, n - s->messages);
    s->messages = n;
}

static void digest_of(const struct ch_request_sum *s, const struct ch_encoder *e,
                      char out[2 * CH_SHA256_SIZE + 1]) {
    unsigned char digest[CH_SHA256_SIZE];
    struct ch_sha256 sha = s->sha;
    if (e->tail.n)
        ch_sha256_add(&sha, e->tail.p, e->tail.n);
    ch_sha256_end(&sha, digest);
    ch_sha256_hex(digest, out);
}

/* --- records -------------------------------------------------------------------------- */

static struct ch_jw request_begin(struct ch_run_journal *k, const chela_run *owner,
                                  const char *role) {
    ch_buf_clear(&k->scratch);
    struct ch_jw w = ch_jw(&k->scratch);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "run", owner->id);
    ch_jw_kint(&w, "turn", owner->m.turns);
    if (role)
        ch_jw_kcstr(&w, "role", role);
    return w;
}

static void write_view(struct ch_jw *w, const struct ch_model_request *req) {
    ch_jw_kbegin(w, "view", '[');
    for (size_t i = 0; i < req->nmessages; i++)
        ch_msg_write(req->messages[i], w);
    ch_jw_end(w, ']');
}

void ch_request_record(chela_run *owner, const struct ch_request_made *m) {
    struct ch_run_journal *k = ch_run_journal_of(owner);
    const struct ch_transcript *t = &owner->session->transcript;
    struct ch_request_sum apart = {0};
    char digest[2 * CH_SHA256_SIZE + 1];
    if (!k)
        return;
    struct ch_request_sum *sum = m->role ? &apart : &k->sum;
    sum_messages(sum, owner, m);
    digest_of(sum, m->encoder, digest);
    struct ch_jw w = request_begin(k, owner, m->role);
    if (owner->m.attempt && !m->role)
        ch_jw_kint(&w, "attempt", owner->m.attempt);
    ch_jw_key(&w, "setup");
    write_id(&w, sum->setup);
    ch_jw_kint(&w, "messages", (int64_t)m->req->nmessages);
    ch_jw_kint(&w, "bytes",
               (int64_t)(m->encoder->head.n + sum->messages + m->encoder->tail.n));
    ch_jw_kcstr(&w, "digest", digest);
    if (m->req->note.n)
        ch_jw_kstr(&w, "note", m->req->note);
    size_t mark = k->scratch.n;
    if (m->req->messages != (const struct ch_msg *const *)t->msgs)
        write_view(&w, m->req);
    if (k->scratch.n > CH_LIMIT_RECORD / 2) { /* too large to store: the record notes this */
        k->scratch.n = mark;
        ch_jw_kbool(&w, "unstored", true);
    }
    ch_jw_end(&w, '}');
    request_append(owner, CH_REC_REQUEST, ch_buf_sv(&k->scratch));
}

void ch_request_record_failure(chela_run *owner, const char *role, const struct ch_reply *r,
                               struct ch_sv text, double cost) {
    struct ch_run_journal *k = ch_run_journal_of(owner);
    if (!k)
        return;
    struct ch_jw w = request_begin(k, owner, role);
    bool refused = r->error.cls == CH_ERR_NONE;
    ch_jw_kcstr(&w, "class", refused ? "refused" : ch_error_class_name(r->error.cls));
    if (r->error.status)
        ch_jw_kint(&w, "status", r->error.status);
    if (r->error.retry_after_ms)
        ch_jw_kint(&w, "retry_after_ms", r->error.retry_after_ms);
    ch_jw_kstr(&w, "text", text);
    if (r->usage.input || r->usage.output) {
        ch_jw_kbegin(&w, "usage", '{');
        ch_jw_kint(&w, "input", r->usage.input);
        ch_jw_kint(&w, "output", r->usage.output);
        ch_jw_kint(&w, "cache_read", r->usage.cache_read);
        ch_jw_end(&w, '}');
    }
    if (cost > 0)
        ch_jw_kdouble(&w, "cost", cost);
    ch_jw_end(&w, '}');
    request_append(owner, CH_REC_FAILURE, ch_buf_sv(&k->scratch));
}
