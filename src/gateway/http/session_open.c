/* session_open.c -- see session_open.h. */
#include "gateway/http/session_open.h"

#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"
#include "gateway/request/store_lookup.h"

struct session_opening {
    struct ch_request *request;
    struct ch_lane_wait wait;
};

static int copy_agent_id(const struct chela_store_session *s, void *user) {
    ((struct ch_store_lookup *)user)->found = ch_strdup(s->agent);
    return 0;
}

static int session_open_query_agent(struct ch_store_lookup *l, struct chela_error *err) {
    int rc = chela_store_session(l->store, l->key, copy_agent_id, l, err);
    bool may_lack = l->number;
    return rc == CHELA_ENOENT && may_lack ? 0 : rc;
}

static void session_open_on_ready(struct ch_lane_wait *w, struct ch_lane *l,
                                  const struct chela_error *err) {
    struct session_opening *s = CH_CONTAINER(w, struct session_opening, wait);
    struct ch_request *req = s->request;
    req->on_disconnect = NULL;
    ch_free(s);
    if (err && err->code != CHELA_EBUSY)
        ch_request_fail_with(req, err);
    else
        req->on_lane(req, err ? NULL : l, err != NULL);
}

static void session_open_on_disconnect(struct ch_request *req) {
    struct session_opening *s = req->user;
    ch_list_del(&s->wait.link);
    ch_free(s);
}

void ch_session_open_wait(struct ch_request *req, struct ch_lane *lane,
                          ch_session_open_fn *on_lane) {
    struct session_opening *s = ch_alloc(sizeof(*s));
    s->request = req;
    s->wait.ready = session_open_on_ready;
    req->on_lane = on_lane;
    req->user = s;
    req->on_disconnect = session_open_on_disconnect;
    ch_lane_when_ready(lane, &s->wait);
}

/* A lane that another request has opened meanwhile keeps its options. */
static void session_open_on_agent(struct ch_request *req, struct ch_store_lookup *l) {
    struct chela_error err = {0};
    struct ch_lane *lane = ch_lane_find(req->gw, req->param);
    chela_agent *agent = l->found ? ch_gateway_agent(req->gw, ch_sv_str(l->found)) : NULL;
    struct ch_lane_opts o = {.agent = agent ? agent : req->gw->agents[0],
                             .key = l->key,
                             .exists = true}; /* unless it was deleted since the lookup */
    if (!lane && !l->found)
        req->on_lane(req, NULL, false);
    else if (!lane && ch_lane_use(req->gw, &o, &lane, &err) < 0)
        ch_request_fail_with(req, &err);
    else
        ch_session_open_wait(req, lane, req->on_lane);
}

void ch_session_open_lane(struct ch_request *req, bool may_lack, ch_session_open_fn *on_lane) {
    struct ch_lane *lane = ch_lane_find(req->gw, req->param);
    req->on_lane = on_lane;
    if (lane && lane->ready)
        on_lane(req, lane, false);
    else
        ch_store_lookup_start(req, req->param, may_lack, session_open_query_agent,
                              session_open_on_agent);
}
