/* hooks.c -- POST /hooks/{name}: a program tells an agent that something
 * happened.
 *
 * The sender signs: X-Chela-Timestamp is the time in seconds, X-Chela-Signature
 * is "sha256=" and, in hexadecimal, the HMAC of timestamp, a full stop and the
 * body as it is sent. What is older than five minutes is refused, and what was
 * accepted before is not done again, in this process or another: the inbox of
 * the store knows every signature.
 *
 * An event is acknowledged once it is in the inbox, and delivered from there
 * (delivery.h); one that was accepted by a process that died is taken up by
 * another (orphan_scan.h). */
#include "agent/journal/journal.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/proof.h"
#include "base/opts.h"
#include "gateway/lane/delivery.h"
#include "gateway/http/routes.h"


/* --- a call */

struct knock {
    struct ch_link link;       /* in the gateway's knocks */
    struct ch_visit *visit;    /* NULL: the client left */
    struct ch_delivery *delivery; /* owned */
    bool closed;               /* the gateway was: nothing follows */
};

static void free_knock(struct knock *k) {
    ch_list_del(&k->link);
    ch_free(k);
}

static void accepted(int rc, const struct chela_error *err, void *user) {
    struct knock *k = user;
    struct ch_visit *v = k->visit;
    struct ch_delivery *d = k->delivery;
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    bool closed = k->closed;
    free_knock(k);
    if (v) {
        v->left = NULL;
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "session", ch_delivery_key(d));
        ch_jw_kbool(&w, "duplicate", rc == CHELA_EEXIST);
        ch_jw_end(&w, '}');
        if (rc == 0 || rc == CHELA_EEXIST)
            ch_visit_json(v, rc == 0 ? 202 : 200, &out);
        else
            ch_visit_fail(v, 503, NULL, "the event cannot be stored: %s",
                          err ? err->message : chela_error_text(rc));
    }
    if (rc < 0 || closed) { /* what was accepted and not delivered is recovered */
        ch_delivery_free(d);
        return;
    }
    ch_delivery_start(d);
}

static void on_left(struct ch_visit *v) {
    ((struct knock *)v->user)->visit = NULL;
}

static void accept_event(struct ch_visit *v, struct ch_delivery *d, const char *id) {
    struct ch_journal *j = v->gw->rt->journal;
    struct knock *k = ch_alloc(sizeof(*k));
    CH_BUF_AUTO data = {0};
    ch_delivery_write(d, &data);
    ch_list_add(&v->gw->knocks, &k->link);
    k->visit = v;
    k->delivery = d;
    v->user = k;
    v->left = on_left;
    struct chela_store_change c = {.kind = CHELA_STORE_ACCEPT,
                                   .id = id,
                                   .key = ch_delivery_key(d),
                                   .data = data.p,
                                   .n = data.n,
                                   .now = ch_now_ms(ch_loop_clock(v->gw->rt->loop))};
    j->ops->change(j, &c, j->gate, accepted, k);
}

/* *signature: as it was shown, in hexadecimal. */
static bool is_signed(struct ch_visit *v, const char *secret, struct ch_sv *signature) {
    const struct ch_inbound *in = ch_exchange_inbound(v->x);
    struct ch_sv timestamp = ch_inbound_header(in, "x-chela-timestamp");
    struct ch_sv shown = ch_inbound_header(in, "x-chela-signature");
    unsigned char its[CH_SHA256_SIZE], ours[CH_SHA256_SIZE];
    CH_BUF_AUTO text = {0};
    if (!ch_sv_starts(shown, "sha256=") || ch_inbound_count(in, "x-chela-signature") != 1)
        return false;
    *signature = ch_arena_sv(&v->arena, ch_sv(shown.p + 7, shown.n - 7));
    if (!ch_sha256_read(*signature, its))
        return false;
    ch_buf_addf(&text, "%.*s.", CH_SV_FMT(timestamp));
    ch_buf_add_sv(&text, v->body);
    ch_hmac_sha256(ch_sv_str(secret), ch_buf_sv(&text), ours);
    return ch_sha256_equal(its, ours) &&
           ch_proof_fresh(timestamp, ch_now_ms(ch_loop_clock(v->gw->rt->loop)) / 1000);
}

static const struct ch_hook *find(const chela_gateway *gw, struct ch_sv name) {
    for (size_t i = 0; i < gw->hooks.n; i++)
        if (ch_sv_is(name, gw->hooks.list[i].name))
            return &gw->hooks.list[i];
    return NULL;
}

void ch_hook_call(struct ch_visit *v) {
    const struct ch_hook *h = find(v->gw, v->param);
    struct ch_sv signature;
    CH_BUF_AUTO id = {0}, key = {0}, text = {0};
    if (!h || !is_signed(v, h->secret, &signature)) {
        v->gw->counters.refused++;
        ch_visit_fail(v, 401, NULL, "there is no such hook, or the signature is not its own");
        return;
    }
    ch_buf_addf(&id, CH_HOOK_EVENT "%s/%.*s", h->name, CH_SV_FMT(signature));
    if (h->session)
        ch_buf_add_str(&key, h->session);
    else
        ch_buf_addf(&key, CH_HOOK_SESSION "%s:%.16s", h->name, signature.p);
    ch_buf_addf(&text, "%s: %.*s", h->name, CH_SV_FMT(v->body));
    struct ch_delivery_opts o = {.id = ch_buf_str(&id), .key = ch_buf_str(&key),
                                 .agent = h->agent, .text = ch_buf_str(&text)};
    accept_event(v, ch_delivery_new(v->gw, &o), o.id);
}

bool ch_hooks_own(const chela_gateway *gw, const char *session) {
    for (size_t i = 0; i < gw->hooks.n; i++)
        if (gw->hooks.list[i].session && strcmp(session, gw->hooks.list[i].session) == 0)
            return true;
    return strncmp(session, CH_HOOK_SESSION, strlen(CH_HOOK_SESSION)) == 0;
}

/* --- life */

int ch_hooks_init(chela_gateway *gw, const struct chela_gateway_opts *o, struct ch_hooks *out,
                  struct chela_error *err) {
    size_t n = 0;
    while (o->hooks && o->hooks[n])
        n++;
    if (n && !gw->rt->journal)
        return ch_fail(err, CHELA_ECONFIG, "hooks need a store: an event must not be lost");
    out->list = ch_alloc((n + 1) * sizeof(*out->list));
    for (size_t i = 0; i < n; i++) {
        struct chela_gateway_hook h;
        int rc = CH_OPTS_NEED(chela_gateway_hook, &h, o->hooks[i], err);
        if (rc < 0)
            return rc;
        if (!h.name || !*h.name)
            return ch_fail(err, CHELA_ECONFIG, "a hook needs a name");
        if (!h.secret || strlen(h.secret) < 16)
            return ch_fail(err, CHELA_ECONFIG,
                           "hook %s needs a secret of at least 16 bytes that its sender signs with",
                           h.name);
        ch_redact_add(h.secret);
        out->list[out->n++] = (struct ch_hook){
            .name = ch_strdup(h.name),
            .secret = ch_strdup(h.secret),
            .agent = h.agent ? ch_strdup(h.agent) : NULL,
            .session = h.session ? ch_strdup(h.session) : NULL};
    }
    return 0;
}

void ch_knocks_forget(chela_gateway *gw) {
    for (struct knock *k; (k = CH_LIST_FIRST(&gw->knocks, struct knock, link));) {
        k->closed = true;
        ch_list_del(&k->link);
    }
}

void ch_hooks_release(struct ch_hooks *hooks) {
    for (size_t i = 0; i < hooks->n; i++) {
        ch_free(hooks->list[i].name);
        ch_free(hooks->list[i].secret);
        ch_free(hooks->list[i].agent);
        ch_free(hooks->list[i].session);
    }
    ch_free(hooks->list);
    *hooks = (struct ch_hooks){0};
}
