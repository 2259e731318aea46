/* channels.h -- what channels.c and commands.c share. */
#ifndef CH_GATEWAY_CHANNELS_H
#define CH_GATEWAY_CHANNELS_H
#include "channel/channel.h"
#include "gateway/lane.h"

/* A chat service that is served. */
struct ch_chat {
    struct ch_link link; /* in the gateway's chats */
    chela_gateway *gw;
    struct ch_channel *channel; /* owned */
    char *agent;                /* owned; "": the first */
    struct ch_list parcels, desks;
};

/* An arrival on its way: from the callback, or the inbox, until its run ended. */
struct ch_parcel {
    struct ch_link link;
    struct ch_chat *chat;   /* NULL: the gateway was closed, nothing follows */
    struct ch_visit *visit; /* to be answered; NULL */
    chela_accepted_fn *done; /* the channel, to be told that it is safe; NULL */
    void *tag;
    struct ch_lane_wait wait;
    struct ch_watcher watcher;
    struct ch_arena arena;
    struct ch_arrival in; /* in the arena */
    bool accepting;       /* on its way into the inbox */
    bool later;           /* its channel cannot judge yet */
};

/* Each ends the parcel: it needs no agent, or it was answered without one. */
void ch_parcel_settle(struct ch_parcel *p);
void ch_parcel_drop(struct ch_parcel *p); /* it stays in the inbox */
void ch_parcel_answer(struct ch_parcel *p, const char *text);

/* commands.c: if it is a command for the gateway, see to it; false: it is not. */
bool ch_parcel_command(struct ch_parcel *p);

#endif
