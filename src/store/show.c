/* show.c -- sessions as JSON, for people and programs that inspect a store. */
#include "agent/journal/journal_replay.h"
#include "agent/machine/run_counters.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/writer.h"
#include "model/message/message_json.h"
#include "store/owner.h"
#include "store/store.h"

static void store_show_write_session(struct ch_jw *w, const struct chela_store_session *s) {
    ch_jw_kcstr(w, "key", s->key);
    ch_jw_kcstr(w, "title", s->title);
    ch_jw_kcstr(w, "agent", s->agent);
    ch_jw_kcstr(w, "status", s->status);
    if (*s->parent)
        ch_jw_kcstr(w, "parent", s->parent);
    ch_jw_kint(w, "created", s->created);
    ch_jw_kint(w, "updated", s->updated);
    ch_jw_kint(w, "turns", (int64_t)s->turns);
    ch_jw_kint(w, "messages", (int64_t)s->messages);
    ch_jw_kint(w, "records", (int64_t)(s->last - s->base));
    if (*s->owner) {
        CH_BUF_AUTO who = {0};
        ch_owner_show(s->owner, &who);
        ch_jw_kcstr(w, "in_use_by", ch_buf_str(&who));
    }
}

char *chela_store_session_json(const struct chela_store_session *s) {
    struct ch_buf out = {0};
    struct ch_jw w = ch_jw(&out);

    ch_jw_begin(&w, '{');
    store_show_write_session(&w, s);
    ch_jw_end(&w, '}');
    return ch_buf_take(&out);
}

/* The excerpt without its marks, and the position of the match. */
char *chela_store_hit_json(const struct chela_store_hit *h) {
    struct ch_buf out = {0};
    CH_BUF_AUTO plain = {0};
    struct ch_jw w = ch_jw(&out);

    for (const char *c = h->excerpt; *c; c++)
        if (*c != '\x01' && *c != '\x02')
            ch_buf_addc(&plain, *c);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "key", h->key);
    ch_jw_kcstr(&w, "title", h->title);
    ch_jw_kint(&w, "seq", (int64_t)h->seq);
    ch_jw_kint(&w, "turn", (int64_t)h->turn);
    ch_jw_kint(&w, "ts", h->ts);
    ch_jw_kcstr(&w, "excerpt", ch_buf_str(&plain));
    ch_jw_end(&w, '}');
    return ch_buf_take(&out);
}

/* --- one session, complete --------------------------------------------------------- */

/* Write the open approvals and questions of called agents, which are answered
 * in this session. */
static void store_show_write_below(struct ch_jw *w, const struct ch_journal_replay *p) {
    for (const struct ch_replay_below *b = p->below; b; b = b->next) {
        if (b->answer || b->decision != CHELA_UNDECIDED)
            continue;
        ch_jw_begin(w, '{');
        if (b->approval)
            ch_jw_kcstr(w, "approval_id", b->approval);
        ch_jw_kcstr(w, "id", b->id);
        ch_jw_kcstr(w, "name", b->name);
        ch_jw_kcstr(w, "arguments", b->arguments);
        if (b->approval) {
            ch_jw_kcstr(w, "summary", b->summary);
            ch_jw_kbool(w, "can_remember", b->remember);
        }
        if (*b->child)
            ch_jw_kcstr(w, "child", b->child);
        ch_jw_end(w, '}');
    }
}

static void store_show_write_waiting(struct ch_jw *w, const struct ch_journal_replay *p) {
    size_t at = 0;

    ch_jw_kbegin(w, "waiting", '[');
    for (uint32_t i = 0; p->reply && i < p->reply->nblocks; i++) {
        const struct ch_block *b = &p->reply->blocks[i];
        if (b->type != CH_BLOCK_TOOL_CALL)
            continue;
        const struct ch_replay_call *c = &p->calls[at++];
        if (c->result || c->decision != CHELA_UNDECIDED || c->child ||
            (c->state && !c->approval))
            continue; /* no answer is needed */
        ch_jw_begin(w, '{');
        if (c->approval)
            ch_jw_kcstr(w, "approval_id", c->approval);
        ch_jw_kstr(w, "id", b->id);
        ch_jw_kstr(w, "name", c->approval ? ch_sv_str(c->name) : b->name);
        ch_jw_kstr(w, "arguments", c->approval ? ch_sv_str(c->arguments) : b->text);
        if (c->approval) {
            ch_jw_kcstr(w, "summary", c->summary);
            ch_jw_kbool(w, "can_remember", c->remember);
        }
        ch_jw_end(w, '}');
    }
    store_show_write_below(w, p);
    ch_jw_end(w, ']');
}

struct showing {
    struct ch_jw w;
    struct ch_journal_replay *past;
    struct chela_error *err;
    int rc;
};

/* A session whose first message was refused has a row, because it was opened, and nothing else. */
static int store_show_row(const struct chela_store_session *s, void *user) {
    struct showing *to = user;
    if (!s->last && !*s->title)
        to->rc = ch_fail(to->err, CHELA_ENOENT, "there is no session '%s'", s->key);
    store_show_write_session(&to->w, s);
    return 0;
}

/* Collects all messages, including those that a compaction has replaced. */
static int store_show_record(const struct chela_store_record *r, void *user) {
    struct showing *s = user;
    if (r->type == CH_REC_COMPACTION)
        return 0;
    s->rc = ch_journal_replay_fold(r, s->past, s->err);
    return s->rc < 0;
}

static void store_show_transcript(struct ch_jw *w, const struct ch_transcript *t, size_t after,
                                  size_t limit) {
    size_t from = CH_MIN(after, t->n), end = t->n - from > limit ? from + limit : t->n;

    if (end < t->n)
        ch_jw_kint(w, "next", (int64_t)end);
    ch_jw_kbegin(w, "transcript", '[');
    for (size_t i = from; i < end; i++)
        ch_msg_write(t->msgs[i], w);
    ch_jw_end(w, ']');
}

int chela_store_show(chela_store *store, const char *key, char **out, struct chela_error *err) {
    CH_NEEDS_ARG(out, err);
    *out = NULL;
    CH_NEEDS(store, err);
    return ch_store_show_page(store, key, 0, SIZE_MAX, out, err);
}

int ch_store_show_page(chela_store *store, const char *key, size_t after, size_t limit, char **out,
                       struct chela_error *err) {
    struct chela_error why = {0};
    CH_BUF_AUTO text = {0};
    struct showing s = {
        .w = ch_jw(&text), .past = ch_journal_replay_new(), .err = err ? err : &why};

    ch_jw_begin(&s.w, '{');
    int rc = chela_store_session(store, key, store_show_row, &s, s.err);
    if (rc == 0)
        rc = s.rc;
    if (rc == 0)
        rc = chela_store_records(store, key, 1, store_show_record, &s, s.err);
    if (rc == 0)
        rc = s.rc < 0 ? s.rc : ch_journal_replay_finish(s.past, s.err);
    if (rc == 0 && s.past->full)
        rc = ch_fail(s.err, CHELA_ELIMIT, "the messages of session '%s' are larger than %zu MB",
                     key, CH_LIMIT_HISTORY / CH_MB);
    ch_run_counters_write(&s.past->counters, &s.w);
    store_show_write_waiting(&s.w, s.past);
    store_show_transcript(&s.w, &s.past->transcript, after, limit);
    ch_jw_end(&s.w, '}');
    ch_journal_replay_free(s.past);
    *out = rc == 0 ? ch_buf_take(&text) : NULL;
    return rc;
}
