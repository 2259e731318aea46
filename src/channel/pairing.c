/* pairing.c -- see chela/pairing.h. Notes in the store:
 *
 *       pairing:CHANNEL:SENDER   {"code","until","told"}: an unknown sender
 *       paired:CHANNEL:SENDER    {}: an approved sender
 *
 * A code has 40 random bits and is valid for an hour. The sender gets the code at most TOLD
 * times, so that repeated messages are not all answered. At most CH_LIMIT_PAIRINGS unknown
 * senders of a channel have a code. */
#include "channel/pairing.h"

#include <sys/random.h>

#include "base/entry.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/writer.h"
#include "store/store.h"

#define CODE_CHARS 8
#define CODE_MS (60 * 60 * 1000)
#define TOLD 3

/* No characters that look alike. */
static const char alphabet[] = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

struct note {
    struct chela_pairing p; /* texts in the arena */
    int64_t ntold; /* messages that told the sender the code */
};

/* Parse "CHANNEL:SENDER" after a prefix. */
static bool channel_pairing_read_name(const char *id, const char *prefix, struct ch_arena *a,
                                      struct chela_pairing *out) {
    struct ch_sv rest = ch_sv_str(id);
    if (!ch_sv_starts(rest, prefix))
        return false;
    rest = ch_sv(rest.p + strlen(prefix), rest.n - strlen(prefix));
    out->channel = ch_arena_str(a, ch_sv_split(&rest, ':'));
    out->sender = rest.n ? ch_arena_str(a, rest) : NULL;
    return out->sender != NULL;
}

static bool read_note(const struct chela_store_item *i, struct ch_arena *a, struct note *out) {
    const struct ch_json *v;
    *out = (struct note){.p = {.ts = i->ts}};
    if (channel_pairing_read_name(i->id, "paired:", a, &out->p))
        return true;
    if (!channel_pairing_read_name(i->id, "pairing:", a, &out->p) ||
        ch_json_parse(a, ch_arena_sv(a, ch_sv(i->data, i->n)), CH_JSON_REPLACE, &v, NULL, NULL) < 0)
        return false;
    struct ch_sv code = ch_json_get_str(v, "code");
    out->p.code = ch_arena_str(a, code.p ? code : ch_sv("", 0));
    out->p.until = ch_json_int(ch_json_get(v, "until"), 0);
    out->ntold = ch_json_int(ch_json_get(v, "told"), 0);
    return true;
}

static int channel_pairing_change(chela_store *store, enum chela_store_change_kind kind,
                                  const char *id, struct ch_sv data, struct chela_error *err) {
    struct chela_store_change c = {.kind = kind, .id = id, .key = "", .data = data.p,
                                   .n = data.n, .now = ch_store_now()};
    int rc = ch_store_commit(store, &c, 1, true, err);
    if (rc == 0 && c.rc < 0)
        rc = ch_fail(err, c.rc, "%s", chela_error_text(c.rc));
    return rc;
}

static void name_note(struct ch_buf *out, const char *prefix, const struct chela_pairing *p) {
    ch_buf_clear(out);
    ch_buf_addf(out, "%s%s:%s", prefix, p->channel, p->sender);
}

/* --- the list */

struct listing {
    chela_pairing_fn *fn;
    void *user;
    int64_t now;
};

static int list_one(const struct chela_store_item *i, void *user) {
    const struct listing *l = user;
    CH_ARENA_AUTO arena = {0};
    struct note n;
    if (!read_note(i, &arena, &n) || (n.p.code && n.p.until < l->now))
        return 0;
    return l->fn(&n.p, l->user);
}

int chela_pairing_list(chela_store *store, chela_pairing_fn *fn, void *user,
                       struct chela_error *err) {
    CH_NEEDS(store, err);
    struct listing l = {fn, user, ch_store_now()};
    int rc = chela_store_items(store, CHELA_STORE_NOTES, list_one, &l, err);
    return rc > 0 ? 0 : rc;
}

/* --- approving */

struct search {
    const char *channel; /* NULL: any */
    const char *code;
    struct ch_arena arena;
    struct chela_pairing found; /* sender NULL: none */
};

static int find_code(const struct chela_pairing *p, void *user) {
    struct search *s = user;
    if (!p->code || strcasecmp(p->code, s->code) != 0 ||
        (s->channel && strcmp(p->channel, s->channel) != 0))
        return 0;
    s->found = *p;
    s->found.channel = ch_arena_str(&s->arena, ch_sv_str(p->channel));
    s->found.sender = ch_arena_str(&s->arena, ch_sv_str(p->sender));
    s->found.code = NULL;
    return 0;
}

int ch_pairing_approve(chela_store *store, const char *channel, const char *code,
                       chela_pairing_fn *fn, void *user, struct chela_error *err) {
    struct chela_error why = {0};
    struct search s = {.channel = channel, .code = code};
    CH_BUF_AUTO id = {0};
    err = err ? err : &why;
    int rc = chela_pairing_list(store, find_code, &s, err);
    if (rc == 0 && !s.found.sender)
        rc = ch_fail(err, CHELA_ENOENT, "there is no code '%s', or it is older than an hour", code);
    if (rc == 0) {
        name_note(&id, "paired:", &s.found);
        rc = channel_pairing_change(store, CHELA_STORE_NOTE, ch_buf_str(&id), CH_SV("{}"), err);
    }
    if (rc == 0) {
        name_note(&id, "pairing:", &s.found);
        rc =
            channel_pairing_change(store, CHELA_STORE_FORGET, ch_buf_str(&id), ch_sv(NULL, 0), err);
        rc = rc == CHELA_ENOENT ? 0 : rc;
    }
    if (rc == 0 && fn)
        fn(&s.found, user);
    ch_arena_release(&s.arena);
    return rc;
}

int chela_pairing_approve(chela_store *store, const char *code, chela_pairing_fn *fn, void *user,
                          struct chela_error *err) {
    CH_NEEDS(store, err);
    return ch_pairing_approve(store, NULL, code, fn, user, err);
}

int chela_pairing_remove(chela_store *store, const char *channel, const char *sender,
                         struct chela_error *err) {
    CH_NEEDS(store, err);
    struct chela_error why = {0};
    struct chela_pairing p = {.channel = channel, .sender = sender};
    CH_BUF_AUTO id = {0};
    err = err ? err : &why;
    name_note(&id, "paired:", &p);
    int rc =
        channel_pairing_change(store, CHELA_STORE_FORGET, ch_buf_str(&id), ch_sv(NULL, 0), err);
    if (rc == CHELA_ENOENT)
        return ch_fail(err, rc, "%s is not paired with channel %s", sender, channel);
    return rc;
}

/* --- a sender writes */

struct meeting {
    struct chela_pairing who;
    int64_t now;
    struct ch_arena arena;
    bool paired;
    struct note pending; /* p.code NULL: none */
    size_t others;       /* senders of this channel with a code */
    struct ch_buf stale; /* NUL-terminated ids of notes with expired codes */
};

static int channel_pairing_look(const struct chela_store_item *i, void *user) {
    struct meeting *m = user;
    CH_ARENA_AUTO arena = {0};
    struct note n;
    if (!read_note(i, &arena, &n) || strcmp(n.p.channel, m->who.channel) != 0)
        return 0;
    bool same = strcmp(n.p.sender, m->who.sender) == 0;
    bool good = n.p.code && n.p.until >= m->now;
    if (n.p.code && !good && !same)
        ch_buf_add(&m->stale, i->id, strlen(i->id) + 1);
    m->paired |= same && !n.p.code;
    m->others += !same && good;
    if (same && good) {
        m->pending = n;
        m->pending.p.code = ch_arena_str(&m->arena, ch_sv_str(n.p.code));
    }
    return 0;
}

static int draw_code(struct ch_buf *out, struct chela_error *err) {
    unsigned char bytes[CODE_CHARS];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return ch_fail(err, CHELA_EIO, "there are no random numbers");
    for (size_t i = 0; i < sizeof(bytes); i++)
        ch_buf_addc(out, alphabet[bytes[i] % (sizeof(alphabet) - 1)]);
    return 0;
}

static int channel_pairing_keep(chela_store *store, const struct meeting *m, struct ch_buf *code,
                                struct chela_error *err) {
    CH_BUF_AUTO id = {0}, data = {0};
    struct ch_jw w = ch_jw(&data);
    bool known = m->pending.p.code != NULL;
    int rc = known ? ch_buf_add_str(code, m->pending.p.code) : draw_code(code, err);
    if (rc < 0)
        return rc;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "code", ch_buf_str(code));
    ch_jw_kint(&w, "until", known ? m->pending.p.until : m->now + CODE_MS);
    ch_jw_kint(&w, "told", m->pending.ntold + 1);
    ch_jw_end(&w, '}');
    name_note(&id, "pairing:", &m->who);
    return channel_pairing_change(store, CHELA_STORE_NOTE, ch_buf_str(&id), ch_buf_sv(&data), err);
}

static void channel_pairing_sweep(chela_store *store, const struct meeting *m) {
    struct chela_error ignored = {0};
    for (const char *id = m->stale.p; id && id < m->stale.p + m->stale.n; id += strlen(id) + 1)
        channel_pairing_change(store, CHELA_STORE_FORGET, id, ch_sv(NULL, 0), &ignored);
}

int ch_pairing_meet(chela_store *store, const char *channel, const char *sender,
                    enum ch_pairing *out, struct ch_buf *code, struct chela_error *err) {
    struct meeting m = {.who = {.channel = channel, .sender = sender}, .now = ch_store_now()};
    int rc = chela_store_items(store, CHELA_STORE_NOTES, channel_pairing_look, &m, err);
    *out = CH_UNPAIRED;
    if (rc == 0 && m.paired) {
        *out = CH_PAIRED;
    } else if (rc == 0 && m.pending.ntold < TOLD && m.others < CH_LIMIT_PAIRINGS) {
        *out = CH_PAIRING;
        rc = channel_pairing_keep(store, &m, code, err);
        channel_pairing_sweep(store, &m);
    }
    ch_buf_release(&m.stale);
    ch_arena_release(&m.arena);
    return rc;
}
