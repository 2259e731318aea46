/* chat_lane.c -- see chat_lane.h. */
#include "gateway/chat/chat_lane.h"

#include "base/error.h"
#include "gateway/chat/chat_actions.h"
#include "gateway/chat/chat_overrides.h"
#include "gateway/chat/chat_service.h"
#include "gateway/chat/gateway_tool.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"

static int equip(chela_gateway *gw, chela_agent *agent, const char *key,
                 struct chela_error *err) {
    int rc = ch_chat_actions_add_tools(gw, agent, key, err);
    return rc < 0 ? rc : ch_gateway_tool_add(gw, agent, key, err);
}

static int chat_lane_use(struct ch_chat_service *chat, const char *key, bool exists,
                         struct ch_lane **out, struct chela_error *err) {
    struct ch_lane_opts o = {.agent = ch_chat_service_agent(chat),
                             .key = key,
                             .exists = exists,
                             .add_tools = equip};
    ch_chat_overrides_apply(chat, key, &o.patch);
    return ch_lane_use(chat->gw, &o, out, err);
}

int ch_chat_lane_use(struct ch_chat_service *chat, const char *key, struct ch_lane **out,
                     struct chela_error *err) {
    return chat_lane_use(chat, key, false, out, err);
}

int ch_chat_lane_resume(struct ch_chat_service *chat, const char *key, struct ch_lane **out,
                        struct chela_error *err) {
    return chat_lane_use(chat, key, true, out, err);
}

int ch_chat_lane_open(struct ch_delivery *d, struct ch_lane **out, struct chela_error *err) {
    struct ch_chat_service *chat = ch_chat_service_of_session(d->gw, d->key);
    return chat ? ch_chat_lane_resume(chat, d->key, out, err)
                : ch_fail(err, CHELA_ENOENT, "the channel of session '%s' is not open", d->key);
}
