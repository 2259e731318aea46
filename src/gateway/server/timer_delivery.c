/* timer_delivery.c -- see timer_delivery.h. */
#include "gateway/server/timer_delivery.h"

#include "agent/feature/heartbeat/beat.h"
#include "agent/journal/inbox.h"
#include "base/error.h"
#include "gateway/chat/approval_prompt.h"
#include "gateway/chat/chat_lane.h"
#include "gateway/chat/chat_room.h"
#include "gateway/chat/chat_service.h"
#include "gateway/chat/reply_target.h"
#include "gateway/lane/lane.h"
#include "gateway/lane/lane_inbox.h"
#include "gateway/request/gateway_state.h"

static int timer_open_lane(struct ch_delivery *d, struct ch_lane **out, struct chela_error *err) {
    struct ch_chat_service *chat = ch_chat_service_of_session(d->gw, d->key);
    struct ch_lane_opts o = {.agent = ch_gateway_agent(d->gw, ch_sv_str(d->agent)),
                             .key = d->key,
                             .exists = true};
    if (chat)
        return ch_chat_lane_open(d, out, err);
    if (!o.agent)
        return ch_fail(err, CHELA_ENOENT, "there is no agent '%s'", d->agent);
    return ch_lane_use(d->gw, &o, out, err);
}

/* A run that was resumed for another reason, or still waits for people, is not touched: its
 * calls check the clock when they continue. */
static int timer_resume(struct ch_delivery *d, struct ch_lane *l, struct chela_error *err) {
    struct ch_chat_service *chat = ch_chat_service_of_session(d->gw, d->key);
    struct chela_error waits = {0};
    int rc = chat ? ch_reply_target_resume(chat, l, err) : 0;
    if (rc < 0)
        return rc;
    bool paused = !l->running && chela_session_status(l->session) == CHELA_SESSION_PAUSED;
    if (!paused || ch_lane_resume(l, chat ? ch_approval_prompt_policy(chat) : CHELA_APPROVE_ASK,
                                  &waits) < 0) {
        ch_lane_inbox_settle(d->gw, d->key, d->id, NULL, NULL);
        return 0;
    }
    ch_inbox_take(l->session, d->id);
    if (chat && l->running && ch_companion_of(ch_chat_service_agent(chat)))
        ch_chat_room_follow(chat, l);
    return 0;
}

const struct ch_delivery_kind ch_timer_delivery = {.name = CH_DELIVERY_TIMER,
                                                   .turn = CH_TURN_CONTROLS,
                                                   .retried = true,
                                                   .open = timer_open_lane,
                                                   .apply = timer_resume};
