/* webhooks.c -- see webhooks.h.
 *
 * The sender signs each event. X-Chela-Timestamp is the time in seconds. X-Chela-Signature
 * is "sha256=" and the hexadecimal HMAC of the timestamp, a full stop and the body. Events
 * older than five minutes are refused. An event is accepted once, by whatever process: its
 * id contains the signature.
 *
 * An event is acknowledged when the inbox holds it, then delivered (lane/delivery.h). An
 * event whose process died is delivered by another (server/orphan_scan.h). */
#include "gateway/http/webhooks.h"

#include "agent/journal/journal.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/proof.h"
#include "base/redact.h"
#include "gateway/lane/delivery.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"

struct webhook {
    char *name, *secret, *agent, *session; /* owned; the last two may be NULL */
};

struct ch_webhooks {
    struct webhook *list; /* owned */
    size_t n;
};

/* --- a call */

struct webhook_call {
    struct ch_link link;          /* in the gateway's webhook_calls */
    struct ch_request *request;   /* NULL: the client has left */
    struct ch_delivery *delivery; /* owned */
    bool closed;                  /* the gateway was closed: the event is not delivered */
};

static void webhook_call_free(struct webhook_call *k) {
    ch_list_del(&k->link);
    ch_free(k);
}

static void webhook_on_accepted(int rc, const struct chela_error *err, void *user) {
    struct webhook_call *k = user;
    struct ch_request *req = k->request;
    struct ch_delivery *d = k->delivery;
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    bool closed = k->closed;
    webhook_call_free(k);
    if (req) {
        req->on_disconnect = NULL;
        ch_jw_begin(&w, '{');
        ch_jw_kcstr(&w, "session", ch_delivery_key(d));
        ch_jw_kbool(&w, "duplicate", rc == CHELA_EEXIST);
        ch_jw_end(&w, '}');
        if (rc == 0 || rc == CHELA_EEXIST)
            ch_request_respond_json(req, rc == 0 ? 202 : 200, &out);
        else
            ch_request_fail(req, 503, NULL, "the event cannot be stored: %s",
                            err ? err->message : chela_error_text(rc));
    }
    if (rc < 0 || closed) { /* the next gateway delivers an event that was accepted */
        ch_delivery_free(d);
        return;
    }
    ch_delivery_start(d);
}

static void webhook_on_disconnect(struct ch_request *req) {
    ((struct webhook_call *)req->user)->request = NULL;
}

static void webhook_accept(struct ch_request *req, struct ch_delivery *d, const char *id) {
    struct ch_journal *j = req->gw->rt->journal;
    struct webhook_call *k = ch_alloc(sizeof(*k));
    CH_BUF_AUTO data = {0};
    ch_delivery_write(d, &data);
    ch_list_add(&req->gw->webhook_calls, &k->link);
    k->request = req;
    k->delivery = d;
    req->user = k;
    req->on_disconnect = webhook_on_disconnect;
    struct chela_store_change c = {.kind = CHELA_STORE_ACCEPT,
                                   .id = id,
                                   .key = ch_delivery_key(d),
                                   .data = data.p,
                                   .n = data.n,
                                   .now = ch_now_ms(ch_loop_clock(req->gw->rt->loop))};
    j->ops->change(j, &c, j->gate, webhook_on_accepted, k);
}

/* *signature: in hexadecimal, as it was sent. */
static bool webhook_is_signed(struct ch_request *req, const char *secret, struct ch_sv *signature) {
    const struct ch_inbound *in = ch_exchange_inbound(req->x);
    struct ch_sv timestamp = ch_inbound_header(in, "x-chela-timestamp");
    struct ch_sv shown = ch_inbound_header(in, "x-chela-signature");
    unsigned char its[CH_SHA256_SIZE], ours[CH_SHA256_SIZE];
    CH_BUF_AUTO text = {0};
    if (!ch_sv_starts(shown, "sha256=") || ch_inbound_count(in, "x-chela-signature") != 1)
        return false;
    *signature = ch_arena_sv(&req->arena, ch_sv(shown.p + 7, shown.n - 7));
    if (!ch_sha256_read(*signature, its))
        return false;
    ch_buf_addf(&text, "%.*s.", CH_SV_FMT(timestamp));
    ch_buf_add_sv(&text, req->body);
    ch_hmac_sha256(ch_sv_str(secret), ch_buf_sv(&text), ours);
    return ch_sha256_equal(its, ours) &&
           ch_proof_fresh(timestamp, ch_now_ms(ch_loop_clock(req->gw->rt->loop)) / 1000);
}

static const struct webhook *webhook_find(const chela_gateway *gw, struct ch_sv name) {
    for (size_t i = 0; i < gw->webhooks->n; i++)
        if (ch_sv_is(name, gw->webhooks->list[i].name))
            return &gw->webhooks->list[i];
    return NULL;
}

void ch_webhooks_receive(struct ch_request *req) {
    const struct webhook *h = webhook_find(req->gw, req->param);
    struct ch_sv signature;
    CH_BUF_AUTO id = {0}, key = {0}, text = {0};
    if (!h || !webhook_is_signed(req, h->secret, &signature)) {
        req->gw->counters.refused++;
        ch_request_fail(req, 401, NULL, "no such hook, or a wrong signature");
        return;
    }
    ch_buf_addf(&id, CH_WEBHOOK_EVENT "%s/%.*s", h->name, CH_SV_FMT(signature));
    if (h->session)
        ch_buf_add_str(&key, h->session);
    else
        ch_buf_addf(&key, CH_WEBHOOK_SESSION "%s:%.16s", h->name, signature.p);
    ch_buf_addf(&text, "%s: %.*s", h->name, CH_SV_FMT(req->body));
    struct ch_delivery_opts o = {.id = ch_buf_str(&id), .key = ch_buf_str(&key),
                                 .agent = h->agent, .text = ch_buf_str(&text)};
    webhook_accept(req, ch_delivery_new(req->gw, &o), o.id);
}

bool ch_webhooks_own_session(const chela_gateway *gw, const char *session) {
    for (size_t i = 0; i < gw->webhooks->n; i++)
        if (gw->webhooks->list[i].session && strcmp(session, gw->webhooks->list[i].session) == 0)
            return true;
    return strncmp(session, CH_WEBHOOK_SESSION, strlen(CH_WEBHOOK_SESSION)) == 0;
}

/* --- life */

static int add_webhook(struct ch_webhooks *all, const struct chela_gateway_hook *h,
                       struct chela_error *err) {
    if (!h->secret || strlen(h->secret) < 16)
        return ch_fail(err, CHELA_ECONFIG, "hook %s needs a secret of at least 16 bytes", h->name);
    ch_redact_add(h->secret);
    all->list[all->n++] = (struct webhook){.name = ch_strdup(h->name),
                                           .secret = ch_strdup(h->secret),
                                           .agent = h->agent ? ch_strdup(h->agent) : NULL,
                                           .session = h->session ? ch_strdup(h->session) : NULL};
    return 0;
}

int ch_webhooks_new(chela_gateway *gw, const struct chela_gateway_opts *o,
                    struct ch_webhooks **out, struct chela_error *err) {
    if (o->nhooks && !gw->rt->journal)
        return ch_fail(err, CHELA_ECONFIG, "hooks need a store, so that no event is lost");
    struct ch_webhooks *all = ch_alloc(sizeof(*all));
    int rc = 0;
    all->list = ch_alloc((o->nhooks + 1) * sizeof(*all->list));
    for (size_t i = 0; rc == 0 && i < o->nhooks; i++)
        rc = add_webhook(all, &o->hooks[i], err);
    if (rc < 0)
        ch_webhooks_free(all);
    else
        *out = all;
    return rc;
}

void ch_webhooks_abandon_calls(chela_gateway *gw) {
    for (struct webhook_call *k;
         (k = CH_LIST_FIRST(&gw->webhook_calls, struct webhook_call, link));) {
        k->closed = true;
        ch_list_del(&k->link);
    }
}

void ch_webhooks_free(struct ch_webhooks *all) {
    if (!all)
        return;
    for (size_t i = 0; i < all->n; i++) {
        ch_free(all->list[i].name);
        ch_free(all->list[i].secret);
        ch_free(all->list[i].agent);
        ch_free(all->list[i].session);
    }
    ch_free(all->list);
    ch_free(all);
}
