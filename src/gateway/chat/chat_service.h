/* chat_service.h -- a chat service, such as Feishu, that the gateway serves.
 *
 * The struct has the data that each file of chat/ keeps for the service; each list belongs
 * to the file named beside it. Loop thread only. */
#ifndef CH_GATEWAY_CHAT_SERVICE_H
#define CH_GATEWAY_CHAT_SERVICE_H
#include "channel/channel.h"
#include "gateway/request/gateway_state.h"

struct ch_chat_event;

struct ch_chat_speaker { /* chat_language.c */
    uint32_t id;         /* digest of the sender's id */
    unsigned char language;
};

struct ch_chat_service {
    struct ch_link link; /* in the gateway's chats */
    chela_gateway *gw;
    struct ch_channel *channel; /* owned */
    char *agent;                /* owned; the id of the agent that answers, "": the first */
    /* Passes an event to the agent: ch_chat_dispatch_event, for files that may not call the
     * dispatcher. */
    void (*dispatch)(struct ch_chat_event *e);
    struct ch_list events;           /* chat_event.c */
    struct ch_list reply_targets;    /* reply_target.c */
    struct ch_list approval_prompts; /* approval_prompt.c */
    size_t napproval_prompts;
    struct ch_list decisions;            /* approval_decision.c */
    struct ch_list actions, known_chats; /* chat_actions.c */
    struct ch_list config_jobs;          /* gateway_tool.c */
    struct ch_list overrides;            /* chat_overrides.c */
    size_t noverrides;
    struct ch_list rooms;                      /* chat_room.c */
    struct ch_chat_room_reading *room_reading; /* chat_room_notes.c: in progress; else NULL */
    struct ch_timer room_read_timer;           /* chat_room_notes.c */
    struct ch_list notes, note_writes;         /* chat_notes.c */
    struct ch_list callbacks;                  /* chat_callback.c */
    struct ch_chat_speaker speakers[2048];     /* chat_language.c */
    struct ch_list windows;                    /* chat_window.c */
    size_t nwindows;
    struct ch_timer window_timer;
    /* chat_lifecycle.c */
    unsigned char options_digest[CH_SHA256_SIZE];
    struct ch_list old_channels; /* replaced, with work in progress */
    bool leaving;                /* no longer configured: accepts nothing, closes when idle */
    int64_t overrides_since; /* chat_overrides.c: monotonic: start of the last read */
    bool overrides_read;     /* chat_recovery.c: the store was read: overrides, unsettled events */
};

/* A service without a channel, in no list. Freed with ch_free while nothing was added. */
struct ch_chat_service *ch_chat_service_new(chela_gateway *gw,
                                            void (*dispatch)(struct ch_chat_event *e));

/* Borrowed; NULL: none. A session's key begins with the name of its service. */
struct ch_chat_service *ch_chat_service_named(const chela_gateway *gw, struct ch_sv name);
struct ch_chat_service *ch_chat_service_of_session(const chela_gateway *gw, const char *session);

/* The agent that answers there; the first agent if the configured one is gone. */
chela_agent *ch_chat_service_agent(const struct ch_chat_service *chat);
/* The agent's workspace, as struct ch_channel_gateway wants it; chat is the service. */
const char *ch_chat_service_workspace(void *chat);
/* "oc_1" of the session "feishu:oc_1:omt_2"; the caller frees it. */
char *ch_chat_service_chat_id(const char *session);

#endif
