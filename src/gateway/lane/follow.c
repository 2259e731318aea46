/* follow.c -- the runs of a stored session, for a process that does not hold it
 * (chela/gateway.h).
 *
 * Events are made from the holder's records (record_events.h). Requests to the holder are
 * events of the store's inbox, in the form of those of HTTP clients (client_input.h). */
#include "agent/machine/media.h"
#include "base/choice.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/random_id.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "chela/gateway.h"
#include "gateway/lane/client_input.h"
#include "gateway/lane/delivery.h"
#include "gateway/lane/orphans.h"
#include "gateway/lane/record_events.h"
#include "store/owner.h"
#include "store/store.h"

struct chela_follow {
    chela_store *store;
    char *key;                     /* owned */
    struct ch_record_events state;
    struct ch_list batches;        /* struct ch_record_batch: not passed on yet */
    uint64_t next;                 /* the first record not read */
    bool past;                     /* the records of earlier runs are being read */
};

static void follow_drop(struct chela_follow *f) {
    for (struct ch_record_batch *b;
         (b = CH_LIST_FIRST(&f->batches, struct ch_record_batch, link));)
        ch_record_batch_free(b);
}

static int follow_on_row(const struct chela_store_session *s, void *user) {
    struct chela_follow *f = user;
    f->next = s->window ? s->window : 1;
    ch_buf_add_str(&f->state.agent, s->agent);
    ch_buf_add_str(&f->state.session, s->key);
    return 0;
}

/* Skips earlier runs: only an unfinished run is passed on. */
static void follow_forget_past(struct chela_follow *f, const struct ch_record_batch *b) {
    for (size_t i = 0; i < b->n; i++) {
        const struct chela_event *ev = &b->events[i];
        bool ended = ev->type == CHELA_EV_RUN_END && ev->end.status != CHELA_STATUS_PAUSED;
        if (ended || (ev->type == CHELA_EV_RUN_START && ev->seq == 0))
            follow_drop(f);
    }
}

static int follow_on_record(const struct chela_store_record *r, void *user) {
    struct chela_follow *f = user;
    struct ch_record_batch *b = ch_record_events_read(&f->state, r);
    f->next = r->seq + 1;
    if (!b)
        return 0;
    if (f->past)
        follow_forget_past(f, b);
    ch_list_add(&f->batches, &b->link);
    return 0;
}

static int follow_load(struct chela_follow *f, struct chela_error *err) {
    return chela_store_records(f->store, f->key, f->next, follow_on_record, f, err);
}

/* The last batch may end a run: then nothing is unfinished. */
static void follow_forget_ended(struct chela_follow *f) {
    const struct chela_event *last = NULL;
    for (CH_LIST_EACH(k, &f->batches)) {
        const struct ch_record_batch *b = CH_CONTAINER(k, struct ch_record_batch, link);
        last = b->n ? &b->events[b->n - 1] : last;
    }
    if (last && last->type == CHELA_EV_RUN_END && last->end.status != CHELA_STATUS_PAUSED)
        follow_drop(f);
}

int chela_follow_new(chela_store *store, const char *key, chela_follow **out,
                     struct chela_error *err) {
    CH_NEEDS_ARG(out, err);
    *out = NULL;
    CH_NEEDS(store, err);
    chela_follow *f = ch_alloc(sizeof(*f));
    struct chela_error why = {0};
    ch_store_ref(store);
    f->store = store;
    f->key = ch_strdup(key);
    f->past = true;
    ch_list_init(&f->batches);
    int rc = chela_store_session(store, key, follow_on_row, f, &why);
    if (rc == 0)
        rc = follow_load(f, &why);
    if (rc < 0) {
        chela_follow_close(f);
        if (err)
            *err = why;
        return rc;
    }
    f->past = false;
    follow_forget_ended(f);
    *out = f;
    return 0;
}

void chela_follow_close(chela_follow *f) {
    if (!f)
        return;
    follow_drop(f);
    ch_record_events_release(&f->state);
    chela_store_close(f->store);
    ch_free(f->key);
    ch_free(f);
}

int chela_follow_read(chela_follow *f, chela_event_fn *fn, void *user, struct chela_error *err) {
    CH_NEEDS(f, err);
    int rc = follow_load(f, err);
    for (struct ch_record_batch *b;
         (b = CH_LIST_FIRST(&f->batches, struct ch_record_batch, link));) {
        for (size_t i = 0; i < b->n; i++)
            fn(&b->events[i], user);
        ch_record_batch_free(b);
    }
    return rc;
}

static int follow_on_lease(const struct chela_store_session *s, void *user) {
    enum chela_holder *out = user;
    *out = !ch_orphans_lease_is_held(s, ch_store_now()) ? CHELA_HOLDER_NONE
           : ch_owner_serves(s->owner)                  ? CHELA_HOLDER_SERVES
                                                        : CHELA_HOLDER_OTHER;
    return 0;
}

int chela_follow_holder(chela_follow *f, enum chela_holder *out, struct chela_error *err) {
    CH_NEEDS(f, err);
    return chela_store_session(f->store, f->key, follow_on_lease, out, err);
}

/* --- requests */

static void follow_begin(struct ch_jw *w, const struct ch_delivery_kind *kind) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "kind", kind->name);
    ch_jw_kcstr(w, "agent", "");
}

static int follow_post(chela_follow *f, struct ch_jw *w, struct chela_error *err) {
    char random[24];
    CH_BUF_AUTO id = {0};
    struct chela_error why = {0};
    ch_jw_end(w, '}');
    if (w->out->n > CH_LIMIT_INPUT)
        return ch_fail(err, CHELA_ELIMIT, "the message is larger than %zu MB",
                       CH_LIMIT_INPUT / CH_MB);
    ch_random_id("", random);
    ch_buf_addf(&id, CH_API_EVENT "%s", random);
    struct chela_store_change c = {.kind = CHELA_STORE_ACCEPT,
                                   .id = ch_buf_str(&id),
                                   .key = f->key,
                                   .data = w->out->p,
                                   .n = w->out->n,
                                   .now = ch_store_now()};
    int rc = ch_store_change(f->store, &c, &why);
    if (rc < 0 && err)
        *err = why;
    return rc;
}

static int follow_check(const char *text, size_t n, struct chela_error *err) {
    if (n > CH_LIMIT_INPUT)
        return ch_fail(err, CHELA_ELIMIT, "the message is larger than %zu MB",
                       CH_LIMIT_INPUT / CH_MB);
    if (!ch_utf8_valid(ch_sv(text, n)) || memchr(text, 0, n))
        return ch_fail(err, CHELA_EINVAL, "the message is not UTF-8 text");
    return 0;
}

int chela_follow_say(chela_follow *f, const char *text, size_t n, struct chela_error *err) {
    CH_NEEDS(f, err);
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);
    int rc = follow_check(text, n, err);
    if (rc < 0)
        return rc;
    struct ch_msg *m = ch_msg_text(CH_MSG_USER, ch_sv(text, n), ch_store_now());
    follow_begin(&w, &ch_client_message);
    ch_client_input_write(&w, m, CH_SV("steer"));
    ch_msg_free(m);
    return follow_post(f, &w, err);
}

int chela_follow_cancel(chela_follow *f, struct chela_error *err) {
    CH_NEEDS(f, err);
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);
    follow_begin(&w, &ch_client_cancel);
    return follow_post(f, &w, err);
}

int chela_follow_decide(chela_follow *f, const char *approval_id, enum chela_decision decision,
                        const char *reason, struct chela_error *err) {
    CH_NEEDS(f, err);
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);
    int rc = follow_check(reason ? reason : "", reason ? strlen(reason) : 0, err);
    if (rc == 0)
        rc = ch_choice_check(CHELA_CHOICE_DECISION, decision, err);
    if (rc < 0)
        return rc;
    follow_begin(&w, &ch_client_decision);
    ch_jw_kcstr(&w, "approval", approval_id);
    ch_jw_kint(&w, "decision", decision);
    if (reason)
        ch_jw_kcstr(&w, "text", reason);
    return follow_post(f, &w, err);
}

int chela_follow_answer(chela_follow *f, const char *call_id, const char *text, size_t n,
                        struct chela_error *err) {
    CH_NEEDS(f, err);
    CH_BUF_AUTO data = {0};
    struct ch_jw w = ch_jw(&data);
    int rc = follow_check(text, n, err);
    if (rc < 0)
        return rc;
    follow_begin(&w, &ch_client_results);
    ch_jw_kbegin(&w, "results", '[');
    ch_client_input_write_result(&w, ch_sv_str(call_id), ch_sv(text, n), false);
    ch_jw_end(&w, ']');
    return follow_post(f, &w, err);
}
