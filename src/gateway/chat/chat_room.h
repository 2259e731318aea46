/* chat_room.h -- a chat that an agent listens to, in mode heartbeat.
 *
 * The struct is shared with chat_room_notes.c alone. */
#ifndef CH_GATEWAY_CHAT_ROOM_H
#define CH_GATEWAY_CHAT_ROOM_H
#include "chela/heartbeat.h"
#include "gateway/chat/chat_event.h"

/* Lines for which the decision about a reply was made. After a restart no second decision is
 * made for them. */
struct ch_decided_lines {
    uint64_t *ids; /* owned: a ring of digests; 0: free. Holds at least the lines of the inbox */
    size_t cap, next;
};

struct ch_chat_room {
    struct ch_link link; /* in the service's rooms */
    struct ch_chat_service *chat;
    void (*ready)(struct ch_chat_room *r); /* called when the note was read */
    char *session;                         /* owned */
    bool direct;
    chela_willing *willing;   /* the reply propensity; NULL: the note was not read yet */
    uint64_t settings_serial; /* serial number of the settings that `willing` was made with */
    struct ch_decided_lines decided;
    struct ch_list heard; /* struct ch_chat_event: lines that no run has, oldest first */
    size_t nheard;
    struct ch_list taken;           /* the lines that the next run begins with */
    struct ch_chat_event *pending;  /* newest line of `heard` that will get a reply; NULL: none */
    struct chela_urge pending_urge; /* reason for that reply */
    uint64_t pending_digest;        /* digest of the pending line as stored in the note; 0: none */
    enum chela_urge_reason pending_reason;
    int64_t newest, newest_mono; /* time of the newest line in the chat's and our clock */
    /* latest begin of the turn, however lively the chat is; monotonic */
    int64_t deadline;
    struct ch_timer quiet_timer;
    struct ch_lane_wait wait;
    struct ch_turn turn; /* place in the lane's queue of the line that the next run begins with */
    char *turn_id;       /* owned; may be NULL */
    struct ch_lane_watcher watcher;
    struct ch_chat_event *answering; /* the line that the run answers; NULL: not known */
    bool waiting;                    /* for the lane */
    bool running;
    bool ended;   /* a turn ended before the note was read */
    bool reading; /* the note is being read */
    struct ch_task write_task;
    uint64_t version, written_digest; /* state of the note: number of writes, and digest of the
                                       * text */
    int64_t synced_at;                /* time of the note's last write or reading; monotonic */
};

/* Adds a line to its room, which decides whether to reply. Takes the event. */
void ch_chat_room_hear(struct ch_chat_event *e);
/* Watches a run that was resumed in the lane. */
void ch_chat_room_follow(struct ch_chat_service *chat, struct ch_lane *l);
void ch_chat_rooms_release(struct ch_chat_service *chat);

#endif
