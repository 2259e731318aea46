/* encoder.c -- an incrementally built request body; see codec.h.
 *
 * Codecs encode one message; this file decides which messages are encoded. Every vendor
 * requires that each call is answered by the next message and that each result has a call.
 * The encoder ensures this pairing for all codecs. It looks back one message only, so
 * appending stays cheap:
 *
 *     a results message answers the assistant message before it: results are put
 *       in call order, substituted if missing, dropped if they have no call;
 *     any other message after unanswered calls is preceded by substitute results;
 *     unanswered calls at the end are answered in the tail, which is rebuilt for
 *       the next request, because the real results may still arrive.
 *
 * Results are matched to calls by id within these two messages, whatever ids other messages
 * use. If ids repeat further apart, calls are sent with new ids (adapt.h), and results are
 * matched by position. */
#include "model/codec/encoder.h"

#include <stdlib.h>

#include "base/shared_text.h"
#include "base/error.h"
#include "model/codec/adapt.h"
#include "model/codec/codec.h"
#include "model/codec/compacted.h"

#define NO_RESULT "No result provided: the call was not run or its result was lost."

static void forget_renewed(struct ch_encoder *e) {
    ch_msg_free(e->renewed);
    e->renewed = NULL;
}

/* Empties the head or the tail, which may be shared. */
static void clear_part(struct ch_buf *part, const char **shared) {
    if (*shared)
        *part = (struct ch_buf){0};
    ch_shared_text_release(CH_TAKE(*shared));
    ch_buf_clear(part);
}

static void clear_head(struct ch_encoder *e) {
    clear_part(&e->head, &e->shared_head);
}

static void share_part(struct ch_buf *part, const char **shared, const char **last) {
    size_t n = part->n;
    if (*shared)
        return;
    *shared = ch_shared_text(last, ch_buf_sv(part));
    ch_buf_release(part);
    *part = (struct ch_buf){.p = (char *)*shared, .n = n}; /* not written: see clear_part */
}

void ch_encoder_share(struct ch_encoder *e, const char **last_head, const char **last_tail) {
    share_part(&e->head, &e->shared_head, last_head);
    if (!e->padded && !e->cut)
        share_part(&e->tail, &e->shared_tail, last_tail);
}

void ch_encoder_clear(struct ch_encoder *e) {
    clear_head(e);
    ch_buf_clear(&e->messages);
    clear_part(&e->tail, &e->shared_tail);
    ch_call_ids_release(&e->ids);
    forget_renewed(e);
    e->nmessages = e->pending = e->cut = 0;
    e->padded = false;
    e->epoch++;
}

void ch_encoder_release(struct ch_encoder *e) {
    ch_encoder_clear(e);
    ch_buf_release(&e->head);
    ch_buf_release(&e->messages);
    ch_buf_release(&e->tail);
    *e = (struct ch_encoder){.epoch = e->epoch};
}

/* The next block of a type at or after *at, or NULL. */
static const struct ch_block *encoder_next_of(const struct ch_msg *m, uint32_t *at,
                                              enum ch_block_type type) {
    while (*at < m->nblocks && m->blocks[*at].type != type)
        (*at)++;
    return *at < m->nblocks ? &m->blocks[(*at)++] : NULL;
}

/* A result, in the order of ids and of the message. */
struct answer {
    const struct ch_block *result;
    size_t taken; /* in the first result of an id: calls that got one */
};

static int compare_ids(struct ch_sv a, struct ch_sv b) {
    int order = memcmp(a.p, b.p, CH_MIN(a.n, b.n));
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

static int by_id(const void *a, const void *b) {
    const struct ch_block *x = ((const struct answer *)a)->result;
    const struct ch_block *y = ((const struct answer *)b)->result;
    int order = compare_ids(x->id, y->id);
    return order ? order : (x > y) - (x < y);
}

/* The results of m, sorted: a client may send many. m may be NULL. */
static struct answer *sort_results(const struct ch_msg *m, size_t *n) {
    struct answer *list = ch_alloc((m ? m->nblocks + 1 : 1) * sizeof(*list));
    *n = 0;
    for (uint32_t i = 0; m && i < m->nblocks; i++)
        if (m->blocks[i].type == CH_BLOCK_TOOL_RESULT)
            list[(*n)++].result = &m->blocks[i];
    qsort(list, *n, sizeof(*list), by_id);
    return list;
}

/* The next result of this id. An id has several calls only if the history was imported: the
 * first result is the first call's. */
static const struct ch_block *take_result(struct answer *list, size_t n, struct ch_sv id) {
    size_t from = 0, to = n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (compare_ids(list[middle].result->id, id) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    if (from == n || !ch_sv_eq(list[from].result->id, id))
        return NULL;
    size_t at = from + list[from].taken++;
    return at < n && ch_sv_eq(list[at].result->id, id) ? list[at].result : NULL;
}

/* True if results has exactly one result per call, in order. */
static bool is_paired(const struct ch_msg *calls, const struct ch_msg *results) {
    uint32_t c = 0, r = 0;
    for (;;) {
        const struct ch_block *call = calls ? encoder_next_of(calls, &c, CH_BLOCK_TOOL_CALL) : NULL;
        const struct ch_block *result = encoder_next_of(results, &r, CH_BLOCK_TOOL_RESULT);
        if (!call || !result)
            return !call && !result;
        if (!ch_sv_eq(call->id, result->id) || !ch_sv_eq(call->name, result->name))
            return false;
    }
}

/* Build one result per call, in call order, with the ids of `sent` (the calls as they were
 * sent). calls, sent and results may be NULL. Other blocks (text beside results) are kept
 * at the end. */
static struct ch_msg *encoder_pair(const struct ch_msg *calls, const struct ch_msg *sent,
                                   const struct ch_msg *results) {
    size_t room = (calls ? calls->nblocks : 0) + (results ? results->nblocks : 0), n = 0;
    struct ch_block *out = ch_alloc((room + 1) * sizeof(*out));
    uint32_t at = 0;
    const struct ch_block *call, *result;
    size_t nanswers;
    struct answer *answers = sort_results(results, &nanswers);
    while (calls && (call = encoder_next_of(calls, &at, CH_BLOCK_TOOL_CALL))) {
        struct ch_sv id = sent->blocks[call - calls->blocks].id;
        if ((result = take_result(answers, nanswers, call->id))) {
            memcpy(&out[n], result, (1u + result->span) * sizeof(*out));
            out[n].id = id;
            out[n].name = call->name; /* Gemini matches by name */
            n += 1u + result->span;
        } else {
            out[n++] = (struct ch_block){.type = CH_BLOCK_TOOL_RESULT,
                                         .flags = CH_F_ERROR,
                                         .text = CH_SV(NO_RESULT),
                                         .id = id,
                                         .name = call->name};
        }
    }
    for (uint32_t i = 0; results && i < results->nblocks; i++) {
        if (results->blocks[i].type == CH_BLOCK_TOOL_RESULT)
            i += results->blocks[i].span;
        else
            out[n++] = results->blocks[i];
    }
    struct ch_msg *m = ch_msg_new(CH_MSG_RESULTS, out, n, 0);
    ch_free(answers);
    ch_free(out);
    return m;
}

/* Encode a message with its context, and with notes instead of images for a text-only
 * model. */
static int encode_message(const struct ch_model_request *req, const struct ch_msg *m,
                          struct ch_buf *out, struct chela_error *err) {
    struct ch_msg *whole = ch_with_context(m);
    struct ch_msg *plain = ch_without_images(req, whole ? whole : m);
    int rc = req->endpoint->codec->message(req, plain ? plain : whole ? whole : m, out, err);
    ch_msg_free(plain);
    ch_msg_free(whole);
    return rc;
}

static int encode_pair(struct ch_encoder *e, const struct ch_model_request *req,
                       const struct ch_msg *results, struct chela_error *err) {
    const struct ch_msg *calls = e->pending ? req->messages[e->pending - 1] : NULL;
    struct ch_model_request answering = *req;
    answering.answered = e->renewed ? e->renewed : calls;
    if (results && !e->renewed && is_paired(calls, results))
        return encode_message(&answering, results, &e->messages, err);
    struct ch_msg *m = encoder_pair(calls, answering.answered, results);
    int rc = encode_message(&answering, m, &e->messages, err);
    ch_msg_free(m);
    return rc;
}

static enum ch_id_rule id_rule(const struct ch_model_request *req) {
    const struct ch_codec *codec = req->endpoint->codec;
    return codec->ids ? codec->ids(req) : CH_ID_64;
}

static int encode_calls(struct ch_encoder *e, const struct ch_model_request *req,
                        const struct ch_msg *m, struct chela_error *err) {
    forget_renewed(e);
    e->renewed = ch_call_ids_renew(&e->ids, id_rule(req), m, e->nmessages);
    return encode_message(req, e->renewed ? e->renewed : m, &e->messages, err);
}

static int encoder_append(struct ch_encoder *e, const struct ch_model_request *req,
                          const struct ch_msg *m, struct chela_error *err) {
    if (m->kind == CH_MSG_RESULTS)
        return encode_pair(e, req, m, err);
    int rc = e->pending ? encode_pair(e, req, NULL, err) : CHELA_OK;
    if (rc < 0)
        return rc;
    bool calls = m->kind == CH_MSG_ASSISTANT && ch_msg_has_calls(m);
    return calls ? encode_calls(e, req, m, err) : encode_message(req, m, &e->messages, err);
}

/* The codec whose bytes are sent. */
static const struct ch_codec *wire_codec(const struct ch_encoder *e) {
    return e->codec->inner ? e->codec->inner : e->codec;
}

static void cut_back(struct ch_buf *b, size_t n) {
    b->n = n;
    b->overflow = false;
    if (b->p)
        b->p[n] = '\0';
}

/* The summary of a compaction that the service does not read goes before its message. */
static int append_summary(struct ch_encoder *e, const struct ch_model_request *req,
                          struct chela_error *err) {
    const struct ch_codec *codec = req->endpoint->codec;
    const struct ch_msg *m = req->messages[req->from];
    if (codec->reads_compaction && codec->reads_compaction(req, m))
        return CHELA_OK;
    struct ch_msg *text = ch_compacted_text(m);
    int rc = text ? encode_message(req, text, &e->messages, err) : CHELA_OK;
    ch_msg_free(text);
    return rc;
}

static int append_new(struct ch_encoder *e, const struct ch_model_request *req,
                      struct chela_error *err) {
    struct ch_model_request plain = *req;
    plain.without_reasoning = true;
    size_t size = 0; /* that of a message is close to the size of its JSON */
    for (size_t i = e->nmessages; i < req->nmessages; i++)
        size += req->messages[i]->size;
    ch_buf_expect(&e->messages, size);
    while (e->nmessages < req->nmessages) {
        const struct ch_msg *m = req->messages[e->nmessages];
        bool bound = e->nmessages >= req->unbound;
        bool summed = req->compacted && e->nmessages == req->from;
        int rc = summed ? append_summary(e, req, err) : CHELA_OK;
        if (rc == CHELA_OK)
            rc = encoder_append(e, bound ? req : &plain, m, err);
        if (rc == CHELA_OK && e->messages.overflow)
            rc = ch_fail(err, CHELA_ELIMIT, "the conversation is too large to send");
        if (rc < 0)
            return rc;
        e->nmessages++;
        e->pending = m->kind == CH_MSG_ASSISTANT && ch_msg_has_calls(m) ? e->nmessages : 0;
        if (!e->pending)
            forget_renewed(e);
    }
    return CHELA_OK;
}

/* Add text that only this request contains. */
static int encoder_add_note(struct ch_encoder *e, const struct ch_model_request *req,
                            struct chela_error *err) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO note = {0};
    struct ch_sv own = e->codec->note ? e->codec->note(req, &arena) : CH_SV("");
    ch_buf_add_sv(&note, req->note);
    ch_buf_add_str(&note, req->note.n && own.n ? "\n" : "");
    ch_buf_add_sv(&note, own);
    if (!note.n)
        return CHELA_OK;
    struct ch_msg *m = ch_msg_text(CH_MSG_USER, ch_buf_sv(&note), 0);
    int rc = e->codec->message(req, m, &e->messages, err);
    ch_msg_free(m);
    return rc;
}

static uint64_t encoder_note_of(const struct ch_model_request *req) {
    return req->note.n ? ch_hash(1, req->note) : 0;
}

/* Parts of this request alone (substitute results, a note, the end of an open message) are
 * appended to messages first, so that the codec writes the right separators, and then moved
 * to the tail. */
static int make_tail(struct ch_encoder *e, const struct ch_model_request *req,
                     struct chela_error *err) {
    const struct ch_codec *wire = wire_codec(e);
    size_t mark = e->messages.n;
    clear_part(&e->tail, &e->shared_tail);
    e->cut = 0;
    e->noted = encoder_note_of(req);
    if (req->note.n && wire->mark && !e->pending)
        e->cut = wire->mark(req, ch_buf_sv(&e->messages), &e->tail);
    int rc = e->pending ? encode_pair(e, req, NULL, err) : CHELA_OK;
    if (rc == CHELA_OK)
        rc = encoder_add_note(e, req, err);
    if (rc == CHELA_OK && wire->close)
        wire->close(req, &e->messages);
    e->padded = e->messages.n > mark;
    if (e->padded)
        ch_buf_add(&e->tail, e->messages.p + mark, e->messages.n - mark);
    cut_back(&e->messages, mark);
    return rc < 0 ? rc : e->codec->tail(req, &e->tail, err);
}

/* Hash of everything that the bytes of a message depend on. Includes whether the head
 * contains a message, which decides about the first comma. */
static uint64_t shape_of(const struct ch_model_request *req) {
    const struct ch_endpoint *ep = req->endpoint;
    bool prompted = ep->codec->inner && req->ntools;
    uint64_t hash = ch_hash(ch_hash(0, ch_sv_str(ep->provider)), req->model);
    hash = ch_hash(hash, ch_sv((const char *)&ep->quirks, sizeof(ep->quirks)));
    hash = ch_hash(hash, ch_sv((const char *)&req->unbound, sizeof(req->unbound)));
    if (req->compacted)
        hash = ch_hash(hash, ch_sv((const char *)&req->from, sizeof(req->from)));
    if (ep->learnt.rules)
        hash = ch_hash(hash, ch_sv((const char *)&ep->learnt, sizeof(ep->learnt)));
    return ch_hash(hash, ch_sv_trim(req->system).n || prompted ? CH_SV("s") : CH_SV(""));
}

int ch_encoder_update(struct ch_encoder *e, const struct ch_model_request *req,
                      struct chela_error *err) {
    uint64_t shape = shape_of(req);
    if (e->codec != req->endpoint->codec || e->shape != shape || e->nmessages > req->nmessages)
        ch_encoder_clear(e);
    e->codec = req->endpoint->codec;
    e->shape = shape;
    e->nmessages = CH_MAX(e->nmessages, req->from);

    const struct ch_codec *wire = wire_codec(e);
    bool grows = e->nmessages < req->nmessages &&
                 (wire->close || (wire->tail_follows && wire->tail_follows(req)));
    bool stale = !e->head.n || e->revision != req->revision;
    bool noted = e->noted != encoder_note_of(req);
    int rc = CHELA_OK;
    if (stale) {
        clear_head(e);
        rc = e->codec->head(req, &e->head, err);
    }
    if (rc == CHELA_OK)
        rc = append_new(e, req, err);
    if (rc == CHELA_OK && (stale || grows || noted || e->padded || e->pending))
        rc = make_tail(e, req, err);
    if (rc < 0) {
        ch_encoder_clear(e); /* the next update starts over */
        return rc;
    }
    e->revision = req->revision;
    ch_buf_fit(&e->messages); /* many requests may wait for a model at the same time */
    return CHELA_OK;
}
