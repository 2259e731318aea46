/* session_open.c -- see session_open.h. */
#include "gateway/http/session_open.h"

#include "gateway/request/lookup.h"

struct seek {
    struct ch_visit *visit;
    struct ch_lane_wait wait;
};

static int keep_agent(const struct chela_store_session *s, void *user) {
    ((struct ch_lookup *)user)->found = ch_strdup(s->agent);
    return 0;
}

static int ask_agent(struct ch_lookup *l, struct chela_error *err) {
    int rc = chela_store_session(l->store, l->key, keep_agent, l, err);
    bool may_lack = l->number;
    return rc == CHELA_ENOENT && may_lack ? 0 : rc;
}

static void on_ready(struct ch_lane_wait *w, struct ch_lane *l, const struct chela_error *err) {
    struct seek *s = CH_CONTAINER(w, struct seek, wait);
    struct ch_visit *v = s->visit;
    v->left = NULL;
    ch_free(s);
    if (err)
        ch_visit_error(v, err);
    else
        v->found(v, l);
}

static void on_left(struct ch_visit *v) {
    struct seek *s = v->user;
    ch_list_del(&s->wait.link);
    ch_free(s);
}

static void told_agent(struct ch_visit *v, struct ch_lookup *l) {
    struct chela_error err = {0};
    struct ch_lane *lane;
    if (!l->found) {
        v->found(v, NULL);
        return;
    }
    chela_agent *agent = ch_gateway_agent(v->gw, ch_sv_str(l->found));
    struct ch_lane_opts o = {.agent = agent ? agent : v->gw->agents[0], .key = l->key};
    if (ch_lane_use(v->gw, &o, &lane, &err) < 0) {
        ch_visit_error(v, &err);
        return;
    }
    struct seek *s = ch_alloc(sizeof(*s));
    s->visit = v;
    s->wait.ready = on_ready;
    v->user = s;
    v->left = on_left;
    ch_lane_when_ready(lane, &s->wait);
}

void ch_seek(struct ch_visit *v, bool may_lack,
             void (*found)(struct ch_visit *v, struct ch_lane *l)) {
    struct ch_lane *lane = ch_lane_find(v->gw, v->param);
    v->found = found;
    if (lane && lane->ready)
        found(v, lane);
    else
        ch_lookup(v, v->param, may_lack, ask_agent, told_agent);
}
