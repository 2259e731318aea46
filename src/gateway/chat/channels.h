/* channels.h -- what channels.c, reply_target.c, chat_overrides.c and commands.c share. */
#ifndef CH_GATEWAY_CHANNELS_H
#define CH_GATEWAY_CHANNELS_H
#include "channel/channel.h"
#include "gateway/lane/lane.h"

/* A chat service that is served. */
struct ch_chat {
    struct ch_link link; /* in the gateway's chats */
    chela_gateway *gw;
    struct ch_channel *channel; /* owned */
    char *agent;                /* owned; "": the first */
    struct ch_list parcels;
    struct ch_list desks, asks, decidings; /* reply_target.c */
    struct ch_list actings, places;        /* actions.c */
    struct ch_list chores;                 /* gateway_tool.c */
    struct ch_list wishes; /* chat_overrides.c */
    struct ch_list rooms;  /* rooms.c */
    struct ch_room_reading *reading; /* ... what is known of them; NULL */
    struct ch_timer read_again;
    struct ch_list notes, notings; /* chat_notes.c */
    size_t nasks, nwishes;
    /* chats.c */
    unsigned char made_of[CH_SHA256_SIZE]; /* digest of its options */
    struct ch_list formers; /* channels that were replaced and still have something to do */
    bool reminded; /* of the wishes that are in the store: once, they change here */
    bool leaving; /* no longer configured: it takes nothing in, and goes after its last answer */
};

/* chats.c: one that has no channel yet and is in no list; it is freed with ch_free. */
struct ch_chat *ch_chat_new(chela_gateway *gw);

/* The agent that a chat service's messages are for. */
chela_agent *ch_chat_agent(const struct ch_chat *chat);
/* The lane of a session, with the chat's agent. */
int ch_chat_lane(struct ch_chat *chat, const char *key, struct ch_lane **out,
                 struct chela_error *err);

/* An arrival on its way: from the callback, or the inbox, until its run ended. */
struct ch_parcel {
    struct ch_link link;
    struct ch_chat *chat;   /* NULL: the gateway was closed, nothing follows */
    struct ch_visit *visit; /* to be answered; NULL */
    chela_accepted_fn *done; /* the channel, to be told that it is safe; NULL */
    void *tag;
    struct ch_lane_wait wait;
    struct ch_watcher watcher;
    struct ch_lane *lane; /* that is watched */
    struct ch_link room; /* rooms.c: in a list of its room's */
    struct ch_arena arena;
    struct ch_arrival in; /* in the arena */
    bool accepting;       /* on its way into the inbox */
    bool at_work;         /* people are shown that it is worked on */
    bool later;           /* its channel cannot judge yet */
    bool preparing;       /* its channel completes it */
    bool behind;          /* waits for one of its session that is */
    bool put_off;         /* its session is in use elsewhere */
    bool sought;          /* put off when a look at the inbox began */
    unsigned tries;       /* that it was */
    bool decided;         /* rooms.c: whether it is to be answered */
    bool asks;            /* rooms.c: for an answer */
};

/* Each ends the parcel: it needs no agent, or it was answered without one. */
void ch_parcel_settle(struct ch_parcel *p);
void ch_parcel_drop(struct ch_parcel *p); /* it stays in the inbox */
void ch_parcel_answer(struct ch_parcel *p, const char *text);
void ch_parcel_take_in(struct ch_parcel *p); /* its sender may: to the agent with it */
void ch_parcel_working(struct ch_parcel *p, bool at_work); /* show people that it is worked on */

/* What a channel is told about its surroundings. listens: its agent takes part in chats. */
struct ch_channel_host ch_chat_host(struct ch_chat *chat, bool listens);

/* --- rooms.c: a line of a chat that the agent listens to */
void ch_room_hear(struct ch_parcel *p);
/* A run that an earlier process left goes on in the lane. */
void ch_room_follow(struct ch_chat *chat, struct ch_lane *l);
void ch_rooms_release(struct ch_chat *chat);

/* --- actions.c: what can be done in a chat beside writing there */

void ch_actions_init(struct ch_chat *chat);
void ch_actions_release(struct ch_chat *chat);
/* A message of the chat that an agent gets to see: it may be spoken of. */
void ch_actions_see(struct ch_chat *chat, const struct ch_arrival *in);
/* ch_sent_fn: the same of one of ours; user is the chat. */
void ch_actions_sent(const struct chela_outbound *m, const char *note, void *user);
/* struct ch_lane_opts' equip. */
int ch_actions_equip(chela_gateway *gw, chela_agent *agent, const char *key,
                     struct chela_error *err);
/* A call whose answer comes from the service: ch_acted, with this as its tag. */
struct ch_acting *ch_acting_new(struct ch_chat *chat, chela_call *call);
void ch_acted(const struct chela_error *err, void *acting);

/* --- chat_notes.c: what a channel remembers beyond this process */
/* struct ch_channel_host's note; user is the chat. */
void ch_chat_note(const char *id, struct ch_sv data, chela_accepted_fn *done, void *tag,
                  void *user);
/* "CHANNEL:ID" of a note of the store; NULL: it is none of a channel. */
const char *ch_chat_note_owner(const char *note);
/* The notes of the store: it is about to be read; one of them; that was the last. */
void ch_chat_notes_look(struct ch_chat *chat);
void ch_chat_remind(struct ch_chat *chat, const char *owner, struct ch_sv data);
void ch_chat_notes_looked(struct ch_chat *chat);
void ch_chat_remind_all(struct ch_chat *chat); /* of its own: another channel took over */
void ch_chat_notes_release(struct ch_chat *chat);

/* --- gateway_tool.c: its settings, for owners */

/* May a run for this message have it? */
bool ch_gateway_tool_is_for(struct ch_chat *chat, const struct chela_inbound *in);
int ch_gateway_tool_equip(chela_gateway *gw, chela_agent *agent, const char *key,
                          struct chela_error *err);
void ch_gateway_tool_release(struct ch_chat *chat);

/* --- pairing.c */
void ch_parcel_meet(struct ch_parcel *p); /* take it in if its sender is paired, else give a code */
void ch_command_pair(struct ch_parcel *p, struct ch_sv rest);

/* --- reply_target.c: where a session's conversation takes place */

void ch_desks_init(struct ch_chat *chat);
void ch_desks_release(struct ch_chat *chat);
/* Lead what the model sends by itself, and questions about its calls, there. to:
 * of the newest message; NULL: where the session's last run was to answer. */
int ch_desk_furnish(struct ch_chat *chat, struct ch_lane *l, const char *to,
                    struct chela_error *err);
/* The model may answer and react to this message of a session that has a desk. */
void ch_desk_introduce(struct ch_chat *chat, const char *session, const char *message);
/* As `approve` of a run: "ask" if there is anybody who may answer. */
const char *ch_chat_approve(const struct ch_chat *chat);
/* Questions that a paused session has, from an earlier process. */
void ch_desk_ask_again(struct ch_chat *chat, struct ch_lane *l);
/* The only question of a session, or that with an id; NULL: there is none, or
 * more than one. */
const char *ch_desk_find(const struct ch_chat *chat, const char *session, struct ch_sv id);
/* struct ch_channel_host's decide; user is the chat. */
void ch_desk_decide(const struct ch_decision *d, ch_decided_fn *done, void *tag, void *user);
void ch_desk_visit(struct ch_visit *v, struct ch_chat *chat, const struct ch_decision *d);
/* The same for who answers in words: done gets a line for people. */
void ch_desk_decide_in_words(struct ch_chat *chat, const struct ch_decision *d,
                             ch_decided_fn *done, void *tag);

/* Deny all that waits in a session; false: nothing does. */
bool ch_desk_deny(struct ch_chat *chat, const char *session, const char *by);

/* --- chat_overrides.c: how the agent works in one chat */

void ch_wishes_release(struct ch_chat *chat);
void ch_wish_patch(const struct ch_chat *chat, const char *session, struct ch_agent_patch *out);
/* The session that a note of the store is a wish for; NULL: it is none. */
const char *ch_wish_session(const char *note);
void ch_wish_recall(struct ch_chat *chat, const char *session, struct ch_sv data);
void ch_command_model(struct ch_parcel *p, struct ch_sv rest);
void ch_command_reasoning(struct ch_parcel *p, struct ch_sv rest);

/* commands.c: if it is a command for the gateway, see to it; false: it is not. */
bool ch_parcel_command(struct ch_parcel *p);

#endif
