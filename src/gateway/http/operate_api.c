/* operate_api.c -- see operate_api.h. */
#include "gateway/http/operate_api.h"

#include <unistd.h>

#include "agent/journal/outbox.h"
#include "base/error.h"
#include "base/limits.h"
#include "chela/pairing.h"
#include "gateway/chat/chat_service.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/presence_note.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"
#include "store/owner.h"
#include "store/store.h"

/* --- channels */

static int operate_add_pairing(const struct chela_pairing *p, void *user) {
    struct ch_store_lookup *l = user;
    struct ch_jw w = ch_jw(&l->out);
    if (l->out.n)
        ch_buf_addc(&l->out, ',');
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "channel", p->channel);
    ch_jw_kcstr(&w, "sender", p->sender);
    ch_jw_kcstr(&w, "code", p->code);
    ch_jw_kint(&w, "ts", p->ts);
    ch_jw_kint(&w, "until", p->until);
    ch_jw_end(&w, '}');
    return 0;
}

static int query_pairings(struct ch_store_lookup *l, struct chela_error *err) {
    return chela_pairing_list(l->store, operate_add_pairing, l, err);
}

static void operate_write_channel(struct ch_jw *w, const struct ch_chat_service *chat) {
    struct ch_channel *c = chat->channel;
    const char *trouble = ch_channel_trouble(c);
    int64_t next_ms;
    size_t unsent = ch_outbox_stuck(chat->gw->rt, c->ops->name, &next_ms);
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "name", c->ops->name);
    ch_jw_kcstr(w, "agent", *chat->agent ? chat->agent : chat->gw->agents[0]->id);
    ch_jw_kcstr(w, "status", trouble || unsent ? "failing" : "ok");
    ch_jw_kcstr(w, "error", trouble);
    ch_jw_kint(w, "unsent", (int64_t)unsent);
    if (unsent)
        ch_jw_kint(w, "next_attempt_ms", next_ms);
    ch_jw_kbool(w, "leaving", chat->leaving);
    ch_jw_end(w, '}');
}

static void respond_channels(struct ch_request *req, struct ch_store_lookup *l) {
    CH_BUF_AUTO out = {0}, pairings = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kbegin(&w, "channels", '[');
    for (CH_LIST_EACH(k, &req->gw->chats))
        operate_write_channel(&w, CH_CONTAINER(k, struct ch_chat_service, link));
    ch_jw_end(&w, ']');
    ch_buf_addf(&pairings, "[%s]", ch_buf_str(&l->out));
    ch_jw_kraw(&w, "pairings", ch_buf_sv(&pairings));
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, 200, &out);
}

void ch_operate_channels(struct ch_request *req) {
    ch_store_lookup_start(req, ch_sv(NULL, 0), 0, query_pairings, respond_channels);
}

/* --- people: l->key is a code, or a channel, a line feed and a sender */

static int query_pair(struct ch_store_lookup *l, struct chela_error *err) {
    char *sender = strchr(l->key, '\n');
    if (!sender)
        return chela_pairing_approve(l->store, l->key, operate_add_pairing, l, err);
    *sender++ = 0;
    return chela_pairing_remove(l->store, l->key, sender, err);
}

static void respond_paired(struct ch_request *req, struct ch_store_lookup *l) {
    CH_BUF_AUTO out = {0};
    ch_buf_addf(&out, "{\"pairings\":[%s]}", ch_buf_str(&l->out));
    ch_request_respond_json(req, 200, &out);
}

void ch_operate_pairing(struct ch_request *req) {
    struct ch_sv code = ch_json_get_str(req->json, "approve");
    const struct ch_json *who = ch_json_get(req->json, "remove");
    struct ch_sv channel = ch_json_get_str(who, "channel"), sender = ch_json_get_str(who, "sender");
    CH_BUF_AUTO key = {0};
    if (code.n)
        ch_buf_add_sv(&key, code);
    else if (channel.n && sender.n)
        ch_buf_addf(&key, "%.*s\n%.*s", CH_SV_FMT(channel), CH_SV_FMT(sender));
    if (!key.n || (code.n && memchr(code.p, '\n', code.n)))
        ch_request_fail(req, 400, NULL,
                        "`approve` must be a code, or `remove` a channel and a sender");
    else
        ch_store_lookup_start(req, ch_buf_sv(&key), 0, query_pair, respond_paired);
}

/* --- nodes: the gateways of the store, and the processes that hold its sessions */

struct node_row {
    char *owner; /* owned */
    int64_t sessions, running, until;
    bool serves; /* a gateway */
};

struct node_listing {
    struct node_row *rows; /* owned */
    size_t n;
};

static struct node_row *node_of(struct node_listing *l, const char *owner) {
    for (size_t i = 0; i < l->n; i++)
        if (ch_owner_is_same(l->rows[i].owner, owner))
            return &l->rows[i];
    if (l->n == CH_LIMIT_NODES)
        return NULL;
    l->rows = ch_realloc(l->rows, (l->n + 1) * sizeof(*l->rows));
    l->rows[l->n] = (struct node_row){.owner = ch_strdup(owner)};
    return &l->rows[l->n++];
}

struct node_query {
    struct node_listing list;
    int64_t now;
};

static int node_count(const struct chela_store_session *s, void *user) {
    struct node_query *q = user;
    struct node_row *n = *s->owner && s->until > q->now ? node_of(&q->list, s->owner) : NULL;
    if (!n)
        return 0;
    n->sessions++;
    n->running += strcmp(s->status, "running") == 0;
    n->until = CH_MAX(n->until, s->until);
    n->serves |= ch_owner_serves(s->owner);
    return 0;
}

static int node_present(const struct chela_store_item *note, void *user) {
    struct node_query *q = user;
    int64_t until;
    const char *owner = ch_presence_owner(note, q->now, &until);
    struct node_row *n = owner ? node_of(&q->list, owner) : NULL;
    if (n) {
        n->until = CH_MAX(n->until, until);
        n->serves = true;
    }
    return 0;
}

static void node_write(struct ch_jw *w, const struct node_row *n) {
    CH_BUF_AUTO name = {0};
    ch_owner_show(n->owner, &name);
    ch_jw_begin(w, '{');
    ch_jw_kstr(w, "name", ch_buf_sv(&name));
    ch_jw_kcstr(w, "kind", n->serves ? "gateway" : "program");
    ch_jw_kcstr(w, "state", ch_owner_is_dead(n->owner)      ? "dead"
                            : ch_owner_is_stopped(n->owner) ? "stopped"
                            : ch_owner_lives(n->owner)      ? "alive"
                                                            : "unknown");
    ch_jw_kint(w, "sessions", n->sessions);
    ch_jw_kint(w, "running", n->running);
    ch_jw_kint(w, "until", n->until);
    ch_jw_end(w, '}');
}

static int query_nodes(struct ch_store_lookup *l, struct chela_error *err) {
    struct node_query q = {.now = l->now};
    struct chela_store_filter filter = CHELA_STORE_FILTER(.limit = CH_LIMIT_LISTED);
    struct ch_jw w = ch_jw(&l->out);
    int rc = chela_store_list(l->store, &filter, node_count, &q, err);
    if (rc == 0)
        rc = chela_store_items(l->store, CHELA_STORE_NOTES, node_present, &q, err);
    ch_jw_begin(&w, '[');
    for (size_t i = 0; i < q.list.n; i++) {
        node_write(&w, &q.list.rows[i]);
        ch_free(q.list.rows[i].owner);
    }
    ch_jw_end(&w, ']');
    ch_free(q.list.rows);
    l->after = ch_store_lookup_exceeds(l); /* l->number is 0: all sessions */
    return rc;
}

static void respond_nodes(struct ch_request *req, struct ch_store_lookup *l) {
    const chela_gateway *gw = req->gw;
    const char *note = chela_store_note(gw->store);
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "store", gw->store->ops->name);
    ch_jw_kcstr(&w, "note", note);
    ch_jw_kbool(&w, "shared", ch_gateway_is_shared(gw));
    ch_jw_kcstr(&w, "version", chela_version());
    ch_jw_kint(&w, "pid", (int64_t)getpid());
    ch_jw_kint(&w, "uptime_ms", ch_mono_ms(ch_loop_clock(gw->rt->loop)) - gw->started);
    ch_jw_kint(&w, "lanes", (int64_t)gw->nlanes);
    ch_jw_kraw(&w, "nodes", ch_buf_sv(&l->out));
    ch_jw_kbool(&w, "truncated", l->after);
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, 200, &out);
}

void ch_operate_nodes(struct ch_request *req) {
    ch_store_lookup_start(req, ch_sv(NULL, 0), 0, query_nodes, respond_nodes);
}
