/* client_history.c -- see client_history.h. */
#include "gateway/lane/client_history.h"

#include "base/base64.h"
#include "base/error.h"
#include "base/grow.h"
#include "base/limits.h"
#include "base/mem.h"
#include "gateway/lane/sealed_reasoning.h"
#include "json/writer.h"
#include "model/message/message_json.h"

#define BEGIN "Begin."
#define GO_ON "Continue your last message exactly where it ends."
#define GO_ON_AFTER_RESULTS "Continue."

void ch_client_history_init(struct ch_client_history *h, struct ch_arena *arena, int64_t now) {
    *h = (struct ch_client_history){.arena = arena, .now = now, .kind = -1};
}

void ch_client_history_release(struct ch_client_history *h) {
    for (size_t i = 0; i < h->n; i++)
        ch_msg_free(h->msgs[i]);
    ch_free(h->msgs);
    ch_free(h->blocks);
    ch_buf_release(&h->system);
}

void ch_client_history_add_system(struct ch_client_history *h, struct ch_sv text) {
    if (text.n && h->system.n)
        ch_buf_add_str(&h->system, "\n\n");
    ch_buf_add_str(&h->system, ch_arena_text(h->arena, text)); /* read as a C string */
}

static void history_push(struct ch_client_history *h, struct ch_msg *m) {
    CH_GROW(h->msgs, h->n, h->cap, 16);
    h->msgs[h->n++] = m;
}

/* Ends the current message. A message without content is dropped. */
static void history_flush(struct ch_client_history *h) {
    if (h->kind >= 0 && h->nblocks > 0)
        history_push(h, ch_msg_by((enum ch_msg_kind)h->kind, h->blocks, h->nblocks, &h->by,
                                  h->now));
    h->nblocks = 0;
    h->kind = -1;
    h->by = (struct ch_msg_author){0};
    h->turn = 0;
    h->lasting = 0;
}

void ch_client_history_settle(struct ch_client_history *h) {
    history_flush(h);
}

void ch_client_history_begin(struct ch_client_history *h, enum ch_msg_kind kind) {
    if (kind != CH_MSG_USER && h->kind == (int)kind)
        return;
    history_flush(h);
    h->kind = (int)kind;
}

void ch_client_history_add_block(struct ch_client_history *h, const struct ch_block *b) {
    CH_GROW(h->blocks, h->nblocks, h->blocks_cap, 8);
    h->blocks[h->nblocks++] = *b;
}

void ch_client_history_add_text(struct ch_client_history *h, struct ch_sv text) {
    if (text.n)
        ch_client_history_add_block(h, &(struct ch_block){.type = CH_BLOCK_TEXT, .text = text});
}

void ch_client_history_add_data(struct ch_client_history *h, enum ch_block_type kind,
                                struct ch_sv type, struct ch_sv data, struct ch_sv name) {
    ch_client_history_add_block(
        h, &(struct ch_block){.type = (uint8_t)kind, .id = name, .name = type, .text = data});
}

void ch_client_history_add_absent(struct ch_client_history *h, const char *what,
                                  struct ch_sv name) {
    h->lacks_media = true;
    ch_client_history_add_text(
        h, ch_sv_str(ch_arena_printf(h->arena, "[%s %.*s: not available here]", what,
                                     CH_SV_FMT(name))));
}

size_t ch_client_history_add_result(struct ch_client_history *h, struct ch_sv id,
                                    struct ch_sv text, bool is_error) {
    ch_client_history_begin(h, CH_MSG_RESULTS);
    ch_client_history_add_block(h, &(struct ch_block){.type = CH_BLOCK_TOOL_RESULT,
                                                      .flags = is_error ? CH_F_ERROR : 0,
                                                      .id = id,
                                                      .text = text});
    return h->nblocks - 1;
}

void ch_client_history_close_result(struct ch_client_history *h, size_t at) {
    h->blocks[at].span = (uint16_t)CH_MIN(h->nblocks - at - 1, UINT16_MAX);
}

/* --- blocks of the vendor that wrote them */

static bool same_author(const struct ch_msg_author *a, const struct ch_msg_author *b) {
    return strcmp(a->api, b->api) == 0 && ch_sv_eq(a->asked, b->asked);
}

static void history_drop_reasoning(struct ch_client_history *h) {
    size_t n = h->lasting;
    for (size_t i = n; i < h->nblocks; i++)
        if (h->blocks[i].type != CH_BLOCK_REASONING)
            h->blocks[n++] = h->blocks[i];
    h->nblocks = h->lasting = n;
}

/* True: a block of this author and turn can be appended to the current message. */
static bool history_takes(struct ch_client_history *h, const struct ch_msg_author *by,
                          int64_t turn) {
    if (!by->api || turn < h->turn || (h->by.api && !same_author(&h->by, by)))
        return false;
    if (turn > h->turn)
        history_drop_reasoning(h);
    h->turn = turn;
    h->by = *by;
    return true;
}

void ch_client_history_add_reasoning(struct ch_client_history *h, const struct ch_block *b,
                                     struct ch_sv sealed) {
    struct ch_sealed_reasoning r = {.block = *b, .by = h->vendor, .turn = 1};
    ch_reasoning_unseal(h->arena, sealed, &r);
    if (history_takes(h, &r.by, r.turn))
        ch_client_history_add_block(h, &r.block);
}

static void history_lose(struct ch_client_history *h, struct ch_sv type) {
    const char *name = ch_arena_str(h->arena, type);
    if (h->lost.n > 200 || (h->lost.n && ch_sv_contains_nocase(h->lost, name)))
        return;
    h->lost = ch_sv_str(ch_arena_printf(h->arena, "%.*s%s%.64s", CH_SV_FMT(h->lost),
                                        h->lost.n ? ", " : "", name));
}

bool ch_client_history_is_of_vendor(struct ch_client_history *h) {
    return h->kind == CH_MSG_ASSISTANT && history_takes(h, &h->vendor, h->turn);
}

void ch_client_history_add_opaque(struct ch_client_history *h, struct ch_sv type,
                                  const struct ch_json *block) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    if (!history_takes(h, &h->vendor, h->turn)) {
        history_lose(h, type);
        return;
    }
    ch_jw_value(&w, block);
    struct ch_sv text = ch_arena_sv(h->arena, ch_buf_sv(&json));
    ch_client_history_add_block(
        h, &(struct ch_block){.type = CH_BLOCK_OPAQUE, .name = type, .text = text});
}

int ch_client_history_add_media(struct ch_client_history *h, enum ch_block_type type,
                                struct ch_sv url, struct ch_sv name, struct chela_error *err) {
    struct ch_block b = {.type = (uint8_t)type, .id = name, .text = url, .flags = CH_F_URL};
    if (ch_sv_starts(url, "data:")) {
        struct ch_sv rest = ch_sv(url.p + 5, url.n - 5), head = ch_sv_split(&rest, ',');
        b.name = ch_sv_split(&head, ';');
        while (head.n && memchr(head.p, ';', head.n))
            ch_sv_split(&head, ';'); /* parameters, such as charset */
        if (!rest.p || !ch_sv_is(head, "base64") || !b.name.n)
            return ch_fail(err, CHELA_EINVAL, "a data URL must have the form data:TYPE;base64,...");
        b.text = rest;
        b.flags = 0;
        if (ch_sv_is(b.name, "application/pdf"))
            b.type = CH_BLOCK_DOCUMENT;
    } else if (!ch_sv_starts(url, "https://") && !ch_sv_starts(url, "http://")) {
        return ch_fail(err, CHELA_EINVAL,
                       "the URL of a picture must begin with data:, https: or http:");
    }
    ch_client_history_add_block(h, &b);
    return 0;
}

/* --- calls and their results */

/* The result of a call. Some clients send no ids: their results come in the order of the calls.
 * *nameless counts the results without an id that were taken. */
static const struct ch_block *history_find_result(const struct ch_msg *m, struct ch_sv id,
                                                  size_t *nameless) {
    const struct ch_block *found = NULL;
    size_t n = 0;
    for (uint32_t i = 0; i < m->nblocks; i++) {
        const struct ch_block *b = &m->blocks[i];
        if (b->type != CH_BLOCK_TOOL_RESULT)
            continue;
        if (b->id.n && ch_sv_eq(b->id, id))
            return b;
        if (!b->id.n && n++ == *nameless)
            found = b;
    }
    *nameless += found != NULL;
    return found;
}

static size_t count_type(const struct ch_msg *m, enum ch_block_type type) {
    size_t n = 0;
    for (uint32_t i = 0; m && i < m->nblocks; i++)
        n += m->blocks[i].type == type;
    return n;
}

/* Replaces the results that follow a reply: ordered as its calls, with the names of the
 * tools. */
static int history_pair_results(struct ch_client_history *h, size_t reply,
                                struct chela_error *err) {
    const struct ch_msg *calls = h->msgs[reply];
    struct ch_msg *next = reply + 1 < h->n ? h->msgs[reply + 1] : NULL;
    struct ch_msg *results = next && next->kind == CH_MSG_RESULTS ? next : NULL;
    size_t want = count_type(calls, CH_BLOCK_TOOL_CALL), nameless = 0;
    size_t got = count_type(results, CH_BLOCK_TOOL_RESULT);
    if (CH_MAX(want, got) > CH_LIMIT_CLIENT_CALLS)
        return ch_fail(err, CHELA_EINVAL, "a message has more than %d tool calls or results",
                       CH_LIMIT_CLIENT_CALLS);
    for (uint32_t i = 0; i < calls->nblocks; i++) {
        const struct ch_block *call = &calls->blocks[i];
        if (call->type != CH_BLOCK_TOOL_CALL)
            continue;
        const struct ch_block *r =
            results ? history_find_result(results, call->id, &nameless) : NULL;
        if (!r)
            return ch_fail(err, CHELA_EINVAL, "the tool call '%.*s' has no result",
                           CH_SV_FMT(call->id));
        struct ch_block named = *r;
        named.id = call->id;
        named.name = call->name;
        ch_client_history_add_block(h, &named);
        for (unsigned k = 1; k <= r->span; k++)
            ch_client_history_add_block(h, r + k);
    }
    if (got != want)
        return ch_fail(err, CHELA_EINVAL,
                       "a tool result has no call in the preceding message, or repeats one");
    if (results) {
        h->kind = CH_MSG_RESULTS;
        h->msgs[reply + 1] = ch_msg_new(CH_MSG_RESULTS, h->blocks, h->nblocks, h->now);
        ch_msg_free(results);
    }
    h->nblocks = 0;
    return 0;
}

static int history_pair_all(struct ch_client_history *h, struct chela_error *err) {
    for (size_t i = 0; i < h->n; i++) {
        bool after_reply = i > 0 && h->msgs[i - 1]->kind == CH_MSG_ASSISTANT;
        if (h->msgs[i]->kind == CH_MSG_RESULTS && !after_reply)
            return ch_fail(err, CHELA_EINVAL, "a tool result does not follow a message with calls");
        int rc = h->msgs[i]->kind == CH_MSG_ASSISTANT ? history_pair_results(h, i, err) : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}

static bool history_is_data(const struct ch_block *b) {
    bool media = b->type == CH_BLOCK_IMAGE || b->type == CH_BLOCK_AUDIO ||
                 b->type == CH_BLOCK_DOCUMENT;
    return media && !(b->flags & CH_F_URL);
}

int ch_client_history_check_media(const struct ch_client_history *h, struct chela_error *err) {
    CH_BUF_AUTO bytes = {0};
    for (size_t i = 0; i < h->n; i++)
        for (uint32_t k = 0; k < h->msgs[i]->nblocks; k++) {
            const struct ch_block *b = &h->msgs[i]->blocks[k];
            ch_buf_clear(&bytes);
            if (history_is_data(b) && (!ch_base64_read(b->text, &bytes) || !bytes.n))
                return ch_fail(err, CHELA_EINVAL,
                               "the data of a part of type %s (%.*s) is empty or not base64",
                               ch_block_type_name(b->type), CH_SV_FMT(b->name));
        }
    return 0;
}

int ch_client_history_finish(struct ch_client_history *h, struct ch_msg **input,
                             struct chela_error *err) {
    history_flush(h);
    int rc = ch_client_history_check_media(h, err);
    if (rc == 0)
        rc = history_pair_all(h, err);
    if (rc < 0)
        return rc;
    if (h->n == 0 && h->system.n) /* instructions alone */
        history_push(h, ch_msg_text(CH_MSG_USER, CH_SV(BEGIN), h->now));
    if (h->n == 0)
        return ch_fail(err, CHELA_EINVAL, "there is no message");
    if (h->msgs[h->n - 1]->kind == CH_MSG_ASSISTANT)
        history_push(h, ch_msg_text(CH_MSG_USER, CH_SV(GO_ON), h->now));
    *input = h->msgs[--h->n];
    return 0;
}

void ch_client_history_ask_on(struct ch_client_history *h) {
    history_push(h, ch_msg_text(CH_MSG_USER, CH_SV(GO_ON_AFTER_RESULTS), h->now));
}

struct history_export {
    struct ch_buf *out;
    int64_t now;
    int64_t seq;
};

static struct ch_jw history_begin_record(struct history_export *e, const char *type) {
    struct ch_jw w = ch_jw(e->out);
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "seq", ++e->seq);
    ch_jw_kcstr(&w, "type", type);
    ch_jw_kint(&w, "ts", e->now);
    ch_jw_kbegin(&w, "data", '{');
    ch_jw_kcstr(&w, "run", "run_history");
    return w;
}

static void history_end_record(struct history_export *e, struct ch_jw *w) {
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
    ch_buf_addc(e->out, '\n');
}

/* call: index of the call whose result the message has; negative: no result. */
static void history_export_record(struct history_export *e, const char *type,
                                  const struct ch_msg *m, int64_t call) {
    struct ch_jw w = history_begin_record(e, type);
    if (strcmp(type, "inbound") == 0)
        ch_jw_kcstr(&w, "mode", "start");
    if (call >= 0)
        ch_jw_kint(&w, "call", call);
    ch_jw_key(&w, "message");
    ch_msg_write(m, &w);
    history_end_record(e, &w);
}

/* The runs of the history have ended. */
static void history_export_end(struct history_export *e) {
    struct ch_jw w = history_begin_record(e, "state");
    ch_jw_kcstr(&w, "status", "done");
    ch_jw_kcstr(&w, "reason", "task_completed");
    history_end_record(e, &w);
}

static void history_export_message(struct history_export *e, const struct ch_msg *m) {
    if (m->kind != CH_MSG_RESULTS) {
        history_export_record(e, m->kind == CH_MSG_USER ? "inbound" : "message", m, -1);
        return;
    }
    for (uint32_t i = 0; i < m->nblocks; i++) {
        struct ch_msg *one = ch_msg_new(CH_MSG_RESULTS, &m->blocks[i], 1, e->now);
        history_export_record(e, "done", one, i);
        ch_msg_free(one);
    }
}

void ch_client_history_export(const struct ch_client_history *h, struct ch_sv key,
                              const char *agent, struct ch_buf *out) {
    struct history_export e = {.out = out, .now = h->now};
    struct ch_jw w = ch_jw(out);
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "chela_session", 1);
    ch_jw_kstr(&w, "key", key);
    ch_jw_kcstr(&w, "agent", agent);
    ch_jw_end(&w, '}');
    ch_buf_addc(out, '\n');
    for (size_t i = 0; i + 1 < h->n; i++)
        history_export_message(&e, h->msgs[i]);
    history_export_end(&e);
}

struct ch_msg *ch_client_history_join_user(struct ch_client_history *h) {
    history_flush(h);
    for (size_t i = 0; i < h->n; i++)
        for (uint32_t k = 0; h->msgs[i]->kind == CH_MSG_USER && k < h->msgs[i]->nblocks; k++)
            ch_client_history_add_block(h, &h->msgs[i]->blocks[k]);
    struct ch_msg *all = h->nblocks ? ch_msg_new(CH_MSG_USER, h->blocks, h->nblocks, h->now) : NULL;
    h->nblocks = 0;
    return all;
}

void ch_client_history_keep_new(struct ch_client_history *h) {
    size_t keep = 0;
    history_flush(h);
    for (size_t i = h->n; i > 0 && h->msgs[i - 1]->kind != CH_MSG_ASSISTANT; i--)
        keep++;
    for (size_t i = 0; i < h->n - keep; i++)
        ch_msg_free(h->msgs[i]);
    if (keep < h->n)
        memmove(h->msgs, h->msgs + (h->n - keep), keep * sizeof(*h->msgs));
    h->n = keep;
}
