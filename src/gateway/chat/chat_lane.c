/* chat_lane.c -- the lane of a session in a chat: with the tools that act there and the
 * settings that were chosen there. */
#include "gateway/chat/channels.h"

static int equip(chela_gateway *gw, chela_agent *agent, const char *key,
                 struct chela_error *err) {
    int rc = ch_actions_equip(gw, agent, key, err);
    return rc < 0 ? rc : ch_gateway_tool_equip(gw, agent, key, err);
}

int ch_chat_lane(struct ch_chat *chat, const char *key, struct ch_lane **out,
                 struct chela_error *err) {
    struct ch_lane_opts o = {.agent = ch_chat_agent(chat), .key = key, .equip = equip};
    ch_wish_patch(chat, key, &o.patch);
    return ch_lane_use(chat->gw, &o, out, err);
}
