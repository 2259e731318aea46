/* chat_event.h -- a received message, from the callback or the inbox until its run ends.
 *
 * The store keeps the message in the inbox until it is settled, so an event that is
 * dropped is found again by the next process. Loop thread only. */
#ifndef CH_GATEWAY_CHAT_EVENT_H
#define CH_GATEWAY_CHAT_EVENT_H
#include "gateway/chat/chat_service.h"
#include "gateway/lane/lane.h"
#include "gateway/lane/lane_inbox.h"

struct ch_chat_event {
    struct ch_link link;         /* in the service's events */
    struct ch_chat_service *chat; /* NULL: the gateway was closed */
    chela_accepted_fn *on_accepted; /* called when the inbox has the event; NULL: no caller waits */
    void *accepted_tag;
    struct ch_lane_wait wait;
    struct ch_budget_wait budget;
    struct ch_turn turn;
    struct ch_lane_watcher watcher;
    struct ch_lane *lane;     /* the lane that the event watches */
    struct ch_link room_link; /* chat_room.c: in a list of its room */
    struct ch_arena arena;
    struct chela_channel_arrival in; /* in the arena */
    bool accepting;       /* a worker or the store has it: a callback follows */
    bool shows_working;   /* the chat shows that the agent is working */
    bool awaits_channel;  /* the channel needs more data before it can judge the sender */
    bool preparing;       /* the channel completes it */
    bool prepared;        /* the channel has completed it */
    bool queued;          /* waits for an earlier event of its session that is preparing */
    bool decided;         /* chat_room.c: whether to reply was decided */
    bool wants_reply;     /* chat_room.c: addressed to the agent */
};

/* Adds an event to the service; the caller fills `in`, allocated in the arena. */
struct ch_chat_event *ch_chat_event_new(struct ch_chat_service *chat);
/* Frees the event. The inbox keeps it. */
void ch_chat_event_drop(struct ch_chat_event *e);
/* Removes the event from the inbox and frees it. */
void ch_chat_event_settle(struct ch_chat_event *e);
/* Replies without the agent. The event stays. */
void ch_chat_event_say(const struct ch_chat_event *e, const char *text);
/* Replies without the agent, then settles the event. */
void ch_chat_event_reply(struct ch_chat_event *e, const char *text);
/* Shows people in the chat that the agent works on the message, or no longer does. */
void ch_chat_event_show_working(struct ch_chat_event *e, bool working);

#endif
