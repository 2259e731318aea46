/* chat_service.h -- what channels.c, reply_target.c, chat_overrides.c and commands.c share. */
#ifndef CH_GATEWAY_CHANNELS_H
#define CH_GATEWAY_CHANNELS_H
#include "channel/channel.h"
#include "gateway/lane/lane.h"

struct ch_chat_event;

/* A chat service that is served. */
struct ch_chat_service {
    struct ch_link link; /* in the gateway's chats */
    chela_gateway *gw;
    struct ch_channel *channel; /* owned */
    char *agent;                /* owned; "": the first */
    struct ch_list events;
    void (*dispatch)(struct ch_chat_event *p); /* ch_chat_dispatch_event, for the files below it */
    struct ch_list reply_targets, approval_prompts, decisions; /* reply_target.c */
    struct ch_list actions, known_chats;                       /* actions.c */
    struct ch_list config_jobs;                                /* gateway_tool.c */
    struct ch_list overrides;                                  /* chat_overrides.c */
    struct ch_list rooms;                                      /* rooms.c */
    struct ch_chat_room_reading *room_reading;                 /* ... what is known of them; NULL */
    struct ch_timer room_read_timer;
    struct ch_list notes, note_writes; /* chat_notes.c */
    size_t napproval_prompts, noverrides;
    /* chats.c */
    unsigned char options_digest[CH_SHA256_SIZE]; /* digest of its options */
    struct ch_list old_channels; /* channels that were replaced and still have something to do */
    bool overrides_read;         /* of the wishes that are in the store: once, they change here */
    bool leaving; /* no longer configured: it takes nothing in, and goes after its last answer */
};

/* chats.c: one that has no channel yet and is in no list; it is freed with ch_free. */
struct ch_chat_service *ch_chat_service_new(chela_gateway *gw);

struct ch_chat_service *ch_chat_service_named(const chela_gateway *gw,
                                              struct ch_sv name); /* NULL: none */
char *ch_chat_service_chat_id(
    const char *session); /* "oc_1" of "feishu:oc_1:omt_2"; owned by the caller */
const char *ch_chat_service_workspace(void *chat); /* struct ch_channel_host's workspace */
/* The agent that a chat service's messages are for. */
chela_agent *ch_chat_service_agent(const struct ch_chat_service *chat);
/* The lane of a session, with the chat's agent. */
int ch_chat_lane_use(struct ch_chat_service *chat, const char *key, struct ch_lane **out,
                     struct chela_error *err);

/* An arrival on its way: from the callback, or the inbox, until its run ended. */
struct ch_chat_event {
    struct ch_link link;
    struct ch_chat_service *chat;   /* NULL: the gateway was closed, nothing follows */
    chela_accepted_fn *on_accepted; /* told that it is safe; NULL: nobody is */
    void *accepted_tag;
    struct ch_lane_wait wait;
    struct ch_lane_watcher watcher;
    struct ch_lane *lane;     /* that is watched */
    struct ch_link room_link; /* rooms.c: in a list of its room's */
    struct ch_arena arena;
    struct ch_arrival in; /* in the arena */
    bool accepting;       /* on its way into the inbox */
    bool shows_working;   /* people are shown that it is worked on */
    bool awaits_channel;  /* its channel cannot judge yet */
    bool preparing;       /* its channel completes it */
    bool queued;          /* waits for one of its session that is */
    bool postponed;       /* its session is in use elsewhere */
    bool in_scan;         /* put off when a look at the inbox began */
    unsigned tries;       /* that it was */
    bool decided;         /* rooms.c: whether it is to be answered */
    bool wants_reply;     /* rooms.c: for an answer */
};

/* In the chat's parcels; its arrival is to be made in its arena. */
struct ch_chat_event *ch_chat_event_new(struct ch_chat_service *chat);
/* Store it, then go on with it. done, which may be NULL, is told what became of that:
 * not if this fails at once, and not after the gateway was closed. */
int ch_chat_dispatch_accept(struct ch_chat_event *p, chela_accepted_fn *done, void *tag,
                            struct chela_error *err);
void ch_chat_dispatch_judge(struct ch_chat_event *p); /* may its sender have it done? */
void ch_chat_dispatch_to_lane(struct ch_chat_event *p);
/* Each ends the parcel: it needs no agent, or it was answered without one. */
void ch_chat_event_settle(struct ch_chat_event *p);
void ch_chat_event_drop(struct ch_chat_event *p); /* it stays in the inbox */
void ch_chat_event_reply(struct ch_chat_event *p, const char *text);
void ch_chat_dispatch_event(struct ch_chat_event *p); /* its sender may: to the agent with it */
void ch_chat_event_show_working(struct ch_chat_event *p,
                                bool at_work); /* show people that it is worked on */

/* What a channel is told about its surroundings. listens: its agent takes part in chats. */
struct ch_channel_host ch_chat_dispatch_host(struct ch_chat_service *chat, bool listens);

/* --- rooms.c: a line of a chat that the agent listens to */
void ch_chat_room_hear(struct ch_chat_event *p);
/* A run that an earlier process left goes on in the lane. */
void ch_chat_room_follow(struct ch_chat_service *chat, struct ch_lane *l);
void ch_chat_rooms_release(struct ch_chat_service *chat);

/* --- actions.c: what can be done in a chat beside writing there */

void ch_chat_actions_init(struct ch_chat_service *chat);
void ch_chat_actions_release(struct ch_chat_service *chat);
/* A message of the chat that an agent gets to see: it may be spoken of. */
void ch_chat_actions_on_received(struct ch_chat_service *chat, const struct ch_arrival *in);
/* ch_sent_fn: the same of one of ours; user is the chat. */
void ch_chat_actions_on_sent(const struct chela_outbound *m, const char *note, void *user);
/* struct ch_lane_opts' equip. */
int ch_chat_actions_add_tools(chela_gateway *gw, chela_agent *agent, const char *key,
                              struct chela_error *err);
/* A call whose answer comes from the service: ch_chat_actions_done, with this as its tag. */
struct ch_chat_action *ch_chat_actions_begin(struct ch_chat_service *chat, chela_call *call);
void ch_chat_actions_done(const struct chela_error *err, void *acting);

/* --- chat_notes.c: what a channel remembers beyond this process */
/* struct ch_channel_host's note; user is the chat. */
void ch_chat_notes_put(const char *id, struct ch_sv data, chela_accepted_fn *done, void *tag,
                       void *user);
/* "CHANNEL:ID" of a note of the store; NULL: it is none of a channel. */
const char *ch_chat_notes_owner(const char *note);
/* The notes of the store: it is about to be read; one of them; that was the last. */
void ch_chat_notes_begin_read(struct ch_chat_service *chat);
void ch_chat_notes_pass_on(struct ch_chat_service *chat, const char *owner, struct ch_sv data);
void ch_chat_notes_end_read(struct ch_chat_service *chat);
void ch_chat_notes_replay_own(
    struct ch_chat_service *chat); /* of its own: another channel took over */
void ch_chat_notes_release(struct ch_chat_service *chat);

/* --- gateway_tool.c: its settings, for owners */

/* May a run for this message have it? */
bool ch_gateway_tool_is_allowed(struct ch_chat_service *chat, const struct chela_inbound *in);
int ch_gateway_tool_add(chela_gateway *gw, chela_agent *agent, const char *key,
                        struct chela_error *err);
void ch_gateway_tool_release(struct ch_chat_service *chat);

/* --- pairing.c */
void ch_chat_pairing_check(
    struct ch_chat_event *p); /* take it in if its sender is paired, else give a code */
void ch_chat_pairing_command(struct ch_chat_event *p, struct ch_sv rest);

/* --- reply_target.c: where a session's conversation takes place */

void ch_reply_targets_init(struct ch_chat_service *chat);
void ch_reply_targets_release(struct ch_chat_service *chat);
/* Lead what the model sends by itself, and questions about its calls, there. to:
 * of the newest message; NULL: where the session's last run was to answer. */
int ch_reply_target_attach(struct ch_chat_service *chat, struct ch_lane *l, const char *to,
                           struct chela_error *err);
/* The model may answer and react to this message of a session that has a desk. */
void ch_reply_target_add_message(struct ch_chat_service *chat, const char *session,
                                 const char *message);
/* --- approval_prompt.c: a question that was asked */
struct ch_approval_prompt {
    struct ch_link link;       /* in the chat's asks */
    char *session, *id, *text; /* owned */
    bool whole;                /* the text is all of it */
};
void ch_approval_prompt_send(struct ch_chat_service *chat, const char *session, const char *to,
                             struct ch_sv id, struct ch_sv summary);
struct ch_approval_prompt *ch_approval_prompt_find(const struct ch_chat_service *chat,
                                                   struct ch_sv id);
void ch_approval_prompt_free(struct ch_chat_service *chat, struct ch_approval_prompt *a);
void ch_approval_prompts_release(struct ch_chat_service *chat);
void ch_approval_decisions_release(struct ch_chat_service *chat);
/* As `approve` of a run: "ask" if there is anybody who may answer. */
const char *ch_approval_prompt_policy(const struct ch_chat_service *chat);
/* For a run that begins by itself: in the session of a chat its answer goes where
 * the last one went, and who may agree to its calls is asked there. */
int ch_reply_target_attach_timer_run(struct ch_lane *l, const char **to, const char **approve,
                                     struct chela_error *err);
/* Questions that a paused session has, from an earlier process. */
void ch_reply_target_ask_again(struct ch_chat_service *chat, struct ch_lane *l);
/* The only question of a session, or that with an id; NULL: there is none, or
 * more than one. */
const char *ch_approval_prompt_find_in_session(const struct ch_chat_service *chat,
                                               const char *session, struct ch_sv id);
/* struct ch_channel_host's decide; user is the chat. */
void ch_approval_decision_apply(const struct ch_decision *d, ch_decided_fn *done, void *tag,
                                void *user);
void ch_approval_decision_from_request(struct ch_request *req, struct ch_chat_service *chat,
                                       const struct ch_decision *d);
/* The same for who answers in words: done gets a line for people. */
void ch_approval_decision_apply_in_words(struct ch_chat_service *chat, const struct ch_decision *d,
                                         ch_decided_fn *done, void *tag);

/* Deny all that waits in a session; false: nothing does. */
bool ch_approval_decision_deny_all(struct ch_chat_service *chat, const char *session,
                                   const char *by);

/* --- chat_overrides.c: how the agent works in one chat */

void ch_chat_overrides_release(struct ch_chat_service *chat);
void ch_chat_overrides_apply(const struct ch_chat_service *chat, const char *session,
                             struct ch_agent_patch *out);
/* The session that a note of the store is a wish for; NULL: it is none. */
const char *ch_chat_overrides_session_of_note(const char *note);
void ch_chat_overrides_restore(struct ch_chat_service *chat, const char *session,
                               struct ch_sv data);
void ch_chat_overrides_model_command(struct ch_chat_event *p, struct ch_sv rest);
void ch_chat_overrides_reasoning_command(struct ch_chat_event *p, struct ch_sv rest);

/* commands.c: if it is a command for the gateway, see to it; false: it is not. */
bool ch_chat_commands_run(struct ch_chat_event *p);

#endif
