/* chat_service.c -- see chat_service.h. */
#include "gateway/chat/chat_service.h"

#include "channel/id.h"
#include "gateway/chat/chat_event.h"
#include "gateway/request/gateway_state.h"

struct ch_chat_service *ch_chat_service_new(chela_gateway *gw,
                                            void (*dispatch)(struct ch_chat_event *e)) {
    struct ch_chat_service *chat = ch_alloc(sizeof(*chat));
    struct ch_list *lists[] = {&chat->events,      &chat->reply_targets, &chat->approval_prompts,
                               &chat->decisions,   &chat->actions,       &chat->known_chats,
                               &chat->config_jobs, &chat->overrides,     &chat->rooms,
                               &chat->notes,       &chat->note_writes,   &chat->old_channels,
                               &chat->callbacks,   &chat->windows};
    chat->gw = gw;
    chat->dispatch = dispatch;
    for (size_t i = 0; i < CH_LEN(lists); i++)
        ch_list_init(lists[i]);
    return chat;
}

chela_agent *ch_chat_service_agent(const struct ch_chat_service *chat) {
    chela_agent *agent = ch_gateway_agent(chat->gw, ch_sv_str(chat->agent));
    return agent ? agent : chat->gw->agents[0];
}

const char *ch_chat_service_workspace(void *user) {
    return ch_chat_service_agent(user)->workspace;
}

struct ch_chat_service *ch_chat_service_named(const chela_gateway *gw, struct ch_sv name) {
    for (CH_LIST_EACH(k, &gw->chats)) {
        struct ch_chat_service *chat = CH_CONTAINER(k, struct ch_chat_service, link);
        if (ch_sv_is(name, chat->channel->ops->name))
            return chat;
    }
    return NULL;
}

struct ch_chat_service *ch_chat_service_of_session(const chela_gateway *gw, const char *key) {
    struct ch_sv rest = ch_sv_str(key);
    return ch_chat_service_named(gw, ch_sv_split(&rest, ':'));
}

char *ch_chat_service_chat_id(const char *session) {
    struct ch_sv rest = ch_sv_str(session);
    ch_sv_split(&rest, ':');
    struct ch_sv id = ch_sv_split(&rest, ':');
    CH_BUF_AUTO out = {0};
    ch_id_read(&out, id);
    return out.n ? ch_buf_take(&out) : ch_strdup("");
}
