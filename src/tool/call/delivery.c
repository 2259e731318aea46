/* delivery.c -- see delivery.h. */
#include "tool/call/delivery.h"

#include "base/limits.h"
#include "base/mem.h"
#include "tool/call/state.h"

struct delivery {
    char *run, *call, *text; /* owned; text: words separated by single blanks */
    bool done;
};

struct deliveries {
    struct delivery all[CH_LIMIT_DELIVERIES]; /* ring buffer */
    size_t next;
};

static void call_delivery_forget(struct delivery *d) {
    ch_free(d->run);
    ch_free(d->call);
    ch_free(d->text);
    *d = (struct delivery){0};
}

static void *make_deliveries(void) {
    return ch_alloc(sizeof(struct deliveries));
}

static void free_deliveries(void *value) {
    struct deliveries *ds = value;

    for (size_t i = 0; i < CH_LIMIT_DELIVERIES; i++)
        call_delivery_forget(&ds->all[i]);
    ch_free(ds);
}

static const struct ch_state_kind kind = {.make = make_deliveries, .free = free_deliveries};

static bool call_delivery_is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static char *call_delivery_words_of(struct ch_sv text) {
    CH_BUF_AUTO out = {0};

    text = ch_sv_trim(text);
    for (size_t i = 0; i < text.n; i++)
        if (!call_delivery_is_space(text.p[i]))
            ch_buf_addc(&out, text.p[i]);
        else if (!call_delivery_is_space(text.p[i - 1]))
            ch_buf_addc(&out, ' ');
    return out.n ? ch_buf_take(&out) : ch_strdup("");
}

static struct delivery *call_delivery_find(struct deliveries *ds, const char *run,
                                           struct ch_sv call) {
    for (size_t i = 0; ds && i < CH_LIMIT_DELIVERIES; i++) {
        struct delivery *d = &ds->all[i];
        if (d->run && strcmp(d->run, run) == 0 && ch_sv_is(call, d->call))
            return d;
    }
    return NULL;
}

void ch_delivery_begin(struct ch_session_state *s, const char *run, struct ch_sv call,
                       struct ch_sv text) {
    struct deliveries *ds = ch_session_state_get(s, &kind);
    struct delivery *d = call_delivery_find(ds, run, call);

    if (!d)
        d = &ds->all[ds->next++ % CH_LIMIT_DELIVERIES];
    call_delivery_forget(d);
    *d = (struct delivery){
        .run = ch_strdup(run),
        .call = ch_strndup(call.p, call.n),
        .text = call_delivery_words_of(text),
    };
}

void ch_delivery_done(struct ch_session_state *s, const char *run, struct ch_sv call) {
    struct delivery *d = call_delivery_find(ch_session_state_find(s, &kind), run, call);

    if (d)
        d->done = true;
}

const char *ch_delivery_text(struct ch_session_state *s, const char *run, struct ch_sv call) {
    const struct delivery *d = call_delivery_find(ch_session_state_find(s, &kind), run, call);

    return d && d->done ? d->text : NULL;
}

bool ch_delivery_has(struct ch_session_state *s, const char *run, struct ch_sv answer) {
    const struct deliveries *ds = ch_session_state_find(s, &kind);
    if (!ds) /* most sessions never deliver anything */
        return false;
    CH_AUTOFREE char *words = call_delivery_words_of(answer);

    for (size_t i = 0; *words && i < CH_LIMIT_DELIVERIES; i++) {
        const struct delivery *d = &ds->all[i];
        if (d->done && strcmp(d->run, run) == 0 && strcmp(d->text, words) == 0)
            return true;
    }
    return false;
}
