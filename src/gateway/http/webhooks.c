/* webhooks.c -- see webhooks.h.
 *
 * The sender signs each event. X-Chela-Timestamp is the time in seconds. X-Chela-Signature
 * is "sha256=" and the hexadecimal HMAC of the timestamp, a full stop and the body. Events
 * older than five minutes are refused. An event is accepted once among all processes,
 * because its id contains the signature.
 *
 * An event is acknowledged when the inbox holds it, then delivered (lane/delivery.h). An
 * event whose process died is delivered by another (server/orphan_scan.h). */
#include "gateway/http/webhooks.h"

#include "agent/journal/journal.h"
#include "base/error.h"
#include "base/proof.h"
#include "base/opts.h"
#include "gateway/lane/client_input.h"
#include "gateway/lane/delivery.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/idempotency.h"
#include "gateway/request/request.h"
#include "guard/secrets.h"

struct webhook {
    char *name, *secret, *agent, *session; /* owned; the last two may be NULL */
};

struct ch_webhooks {
    struct webhook *list; /* owned */
    size_t n;
};

/* --- a call */

static void webhook_told(struct ch_delivery *d, enum ch_delivery_stage stage, struct ch_lane *l,
                         const struct chela_error *err, void *user) {
    struct ch_request *req = user;
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    (void)l;
    ch_delivery_leave(d);
    req->on_disconnect = NULL;
    if (stage == CH_DELIVERY_FAILED) {
        ch_request_fail(req, 503, NULL, "the event cannot be stored: %s", err->message);
        return;
    }
    if (stage == CH_DELIVERY_REFUSED) {
        ch_request_fail_with(req, err);
        return;
    }
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "session", d->key);
    ch_jw_kbool(&w, "duplicate", stage == CH_DELIVERY_DUPLICATE);
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, stage == CH_DELIVERY_DUPLICATE ? 200 : 202, &out);
}

static void webhook_on_disconnect(struct ch_request *req) {
    ch_delivery_leave(req->user);
}

static void webhook_accept(struct ch_request *req, struct ch_delivery *d) {
    req->user = d;
    req->on_disconnect = webhook_on_disconnect;
    ch_delivery_admit(d, webhook_told, req);
}

/* *signature: in hexadecimal, as received. */
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

/* req->event ends with the signature of the first request with the same key. */
static void webhook_deliver(struct ch_request *req) {
    const struct webhook *h = webhook_find(req->gw, req->param);
    CH_BUF_AUTO key = {0}, text = {0}, data = {0};
    struct ch_jw w = ch_jw(&data);
    if (!h) { /* the gateway was configured anew meanwhile */
        ch_request_fail(req, 503, NULL, "the hook is gone");
        return;
    }
    if (h->session)
        ch_buf_add_str(&key, h->session);
    else
        ch_buf_addf(&key, CH_WEBHOOK_SESSION "%s:%.16s", h->name, strrchr(req->event, '/') + 1);
    ch_idempotency_belongs(req, ch_buf_str(&key));
    ch_buf_addf(&text, "%s: %.*s", h->name, CH_SV_FMT(req->body));
    ch_jw_kcstr(&w, "text", ch_buf_str(&text));
    ch_client_input_write_context(&data, req, false);
    webhook_accept(req, ch_delivery_new(req->gw, NULL, req->event, ch_buf_str(&key), h->agent,
                                        ch_buf_sv(&data)));
}

void ch_webhooks_receive(struct ch_request *req) {
    const struct webhook *h = webhook_find(req->gw, req->param);
    struct ch_sv signature;
    CH_BUF_AUTO id = {0};
    if (!h || !webhook_is_signed(req, h->secret, &signature)) {
        req->gw->counters.refused++;
        ch_request_fail(req, 401, NULL, "no such hook, or a wrong signature");
        return;
    }
    ch_buf_addf(&id, CH_WEBHOOK_EVENT "%s/%.*s", h->name, CH_SV_FMT(signature));
    ch_idempotency_begin(req, ch_arena_str(&req->arena, ch_buf_sv(&id)), webhook_deliver);
}

bool ch_webhooks_own_session(const chela_gateway *gw, const char *session) {
    for (size_t i = 0; i < gw->webhooks->n; i++)
        if (gw->webhooks->list[i].session && strcmp(session, gw->webhooks->list[i].session) == 0)
            return true;
    return strncmp(session, CH_WEBHOOK_SESSION, strlen(CH_WEBHOOK_SESSION)) == 0;
}

/* --- life */

static int add_webhook(struct ch_webhooks *all, const struct chela_gateway_hook *given,
                       struct chela_error *err) {
    struct chela_gateway_hook h;
    int rc = CH_OPTS_NEED(chela_gateway_hook, &h, given, err);
    if (rc < 0)
        return rc;
    if (!h.name || !*h.name)
        return ch_fail(err, CHELA_ECONFIG, "a hook needs a name");
    if (!h.secret || strlen(h.secret) < 16)
        return ch_fail(err, CHELA_ECONFIG, "hook %s needs a secret of at least 16 bytes", h.name);
    ch_secret_add(h.secret, "the secret of hook %s", h.name);
    all->list[all->n++] = (struct webhook){.name = ch_strdup(h.name),
                                           .secret = ch_strdup(h.secret),
                                           .agent = h.agent ? ch_strdup(h.agent) : NULL,
                                           .session = h.session ? ch_strdup(h.session) : NULL};
    return 0;
}

int ch_webhooks_new(chela_gateway *gw, const struct chela_gateway_opts *o,
                    struct ch_webhooks **out, struct chela_error *err) {
    size_t n = 0;
    while (o->hooks && o->hooks[n])
        n++;
    if (n && !gw->rt->journal)
        return ch_fail(err, CHELA_ECONFIG, "hooks need a store, so that no event is lost");
    struct ch_webhooks *all = ch_alloc(sizeof(*all));
    int rc = 0;
    all->list = ch_alloc((n + 1) * sizeof(*all->list));
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = add_webhook(all, o->hooks[i], err);
    if (rc < 0)
        ch_webhooks_free(all);
    else
        *out = all;
    return rc;
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
