/* chat_actions.c -- see chat_actions.h.
 *
 * The tools have the permission class admin, so a person must approve each call unless the
 * policy says otherwise. Only agents with tools.chat get them, and only in sessions of a
 * chat. A call acts in the chat of its own session. It can name only messages that the agent
 * received or sent there, and the members who wrote them. So it cannot act on the agent
 * itself, whose own messages are not received. Whether a member is an owner of the channel
 * is checked at each call.
 *
 * Known messages are kept in memory and are unknown after a restart. */
#include "gateway/chat/chat_actions.h"

#include "agent/handle/session.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "channel/id.h"
#include "gateway/chat/chat_service.h"
#include "gateway/request/gateway_state.h"
#include "tool/call/call.h"
#include "tool/call/function.h"

#define WORDS 120 /* bytes of a message that the approval prompt shows */
#define MUTE_S 3600
#define MUTE_LONGEST_S (30 * 24 * 3600)

struct known_message {
    char *message, *sender, *words; /* owned; sender NULL: the agent */
};

/* A chat of the service with its recent messages. */
struct known_chat {
    struct ch_link link; /* in the service's known_chats, most recently used last */
    char *id;            /* owned */
    bool direct;
    struct known_message seen[CH_LIMIT_SEEN_MESSAGES]; /* a ring */
    size_t next;
};

/* --- known messages */

static void free_known_message(struct known_message *s) {
    ch_free(s->message);
    ch_free(s->sender);
    ch_free(s->words);
}

static void free_known_chat(struct known_chat *p) {
    ch_list_del(&p->link);
    for (size_t i = 0; i < CH_LIMIT_SEEN_MESSAGES; i++)
        free_known_message(&p->seen[i]);
    ch_free(p->id);
    ch_free(p);
}

static struct known_chat *find_known_chat(const struct ch_chat_service *chat, struct ch_sv id) {
    for (CH_LIST_EACH(k, &chat->known_chats)) {
        struct known_chat *p = CH_CONTAINER(k, struct known_chat, link);
        if (ch_sv_is(id, p->id))
            return p;
    }
    return NULL;
}

static struct known_chat *need_known_chat(struct ch_chat_service *chat, struct ch_sv id) {
    struct known_chat *p = find_known_chat(chat, id);
    size_t n = 0;
    if (p) {
        ch_list_del(&p->link);
        ch_list_add(&chat->known_chats, &p->link);
        return p;
    }
    for (CH_LIST_EACH(k, &chat->known_chats))
        n++;
    if (n >= CH_LIMIT_SEEN_CHATS)
        free_known_chat(CH_LIST_FIRST(&chat->known_chats, struct known_chat, link));
    p = ch_alloc(sizeof(*p));
    p->id = ch_strndup(id.p, id.n);
    ch_list_add(&chat->known_chats, &p->link);
    return p;
}

static struct known_message *find_message(struct known_chat *p, const char *message) {
    for (size_t i = 0; i < CH_LIMIT_SEEN_MESSAGES; i++)
        if (p->seen[i].message && strcmp(p->seen[i].message, message) == 0)
            return &p->seen[i];
    return NULL;
}

static void remember_message(struct known_chat *p, const char *message, const char *sender,
                             const char *text) {
    struct ch_sv words = ch_utf8_cut(ch_sv_str(text ? text : ""), WORDS);
    if (find_message(p, message))
        return;
    struct known_message *s = &p->seen[p->next];
    p->next = (p->next + 1) % CH_LIMIT_SEEN_MESSAGES;
    free_known_message(s);
    *s = (struct known_message){ch_strdup(message), sender ? ch_strdup(sender) : NULL,
                                ch_strndup(words.p, words.n)};
}

void ch_chat_actions_on_received(struct ch_chat_service *chat,
                                 const struct chela_channel_arrival *in) {
    const struct chela_inbound *a = &in->about;
    if (!a->chat_id || !*a->chat_id || !a->message_id || !a->sender_id)
        return;
    struct known_chat *p = need_known_chat(chat, ch_sv_str(a->chat_id));
    p->direct = a->chat_type && strcmp(a->chat_type, "direct") == 0;
    remember_message(p, a->message_id, a->sender_id, in->text);
}

void ch_chat_actions_on_sent(const struct chela_outbound *m, const char *note, void *user) {
    struct ch_sv to = ch_sv_str(m->to ? m->to : "");
    CH_BUF_AUTO place = {0};
    ch_id_read(&place, ch_sv_split(&to, ' '));
    if (place.n && *note && !strchr(note, ' ')) /* the note is the id of one message */
        remember_message(need_known_chat(user, ch_buf_sv(&place)), note, NULL, m->text);
}

/* --- a call in progress */

struct ch_chat_action {
    struct ch_link link; /* in the service's actions */
    chela_call *call;    /* NULL: cancelled */
};

void ch_chat_actions_done(const struct chela_error *err, void *acting) {
    struct ch_chat_action *g = acting;
    ch_list_del(&g->link);
    if (g->call && err)
        chela_result_error(g->call, err->code == CHELA_ENET ? "network" : "invalid_arguments",
                           "%s", err->message);
    else if (g->call)
        chela_result_text(g->call, "Done.", 5);
    if (g->call)
        chela_call_finish(g->call);
    ch_free(g);
}

static void chat_action_on_cancelled(chela_call *call, void *user) {
    struct ch_chat_action *g = user;
    g->call = NULL;
    chela_result_error(call, "cancelled", "Cancelled. The action may have been carried out.");
    chela_call_finish(call);
}

struct ch_chat_action *ch_chat_actions_begin(struct ch_chat_service *chat, chela_call *call) {
    struct ch_chat_action *g = ch_alloc(sizeof(*g));
    g->call = call;
    ch_list_add(&chat->actions, &g->link);
    chela_call_defer(call);
    chela_call_on_cancel(call, chat_action_on_cancelled, g);
    return g;
}

/* --- the tools */

enum chat_action_kind { REACT, RECALL, MUTE, REMOVE };

#define MESSAGE_ID(text) "\"message_id\":{\"type\":\"string\",\"description\":\"" text "\"}"
#define MEMBER                                                                                \
    "\"member\":{\"type\":\"string\",\"description\":\"Their id, as the channel gives it\"}," \
    MESSAGE_ID("Or: a message that they wrote")

static const struct {
    const char *name, *what, *description, *schema;
} tools[] = {
    [REACT] = {"chat_react", "put an emoji to a message",
               "Put an emoji to a message of this chat.",
               "{\"type\":\"object\",\"properties\":{" MESSAGE_ID("Which one, as its line says") ","
               "\"emoji\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":64,\"description\":"
               "\"The character itself\"}},\"required\":[\"message_id\",\"emoji\"],"
               "\"additionalProperties\":false}"},
    [RECALL] = {"chat_recall", "take a message back",
                "Take a message of this chat back, so that nobody sees it any more: your own or, "
                "where the service lets you, somebody else's. It cannot be undone.",
                "{\"type\":\"object\",\"properties\":{"
                MESSAGE_ID("Which one; default your last, of a long answer its last part")
                "},\"additionalProperties\":false}"},
    [MUTE] = {"chat_mute", "silence a member",
              "Let a member of this group write nothing for some time. Owners cannot be silenced.",
              "{\"type\":\"object\",\"properties\":{" MEMBER ","
              "\"seconds\":{\"type\":\"integer\",\"minimum\":60,\"maximum\":2592000,"
              "\"description\":\"For so long; default 3600\"}},\"additionalProperties\":false}"},
    [REMOVE] = {"chat_remove", "remove a member",
                "Remove a member from this group. Owners cannot be removed.",
                "{\"type\":\"object\",\"properties\":{" MEMBER "},"
                "\"additionalProperties\":false}"},
};

struct chat_action_tool { /* one tool of one lane */
    chela_gateway *gw;
    char *session; /* owned */
    enum chat_action_kind kind;
};

/* The checked target of a call. */
struct chat_action_target {
    struct ch_chat_service *chat;
    struct known_chat *place;
    const struct known_message *message; /* NULL: the call names a member */
    const char *member;
    const char *emoji;
    int64_t seconds;
};

static bool chat_action_refuse(chela_call *call, const char *type, const char *why) {
    chela_result_error(call, type, "%s", why);
    return false;
}

static bool channel_supports(const struct chela_channel_ops *ops, enum chat_action_kind kind) {
    return kind == REACT    ? ops->react != NULL
           : kind == RECALL ? ops->unsend != NULL
           : kind == MUTE   ? ops->mute != NULL
                            : ops->remove != NULL;
}

static const struct known_message *last_own_message(const struct known_chat *p) {
    for (size_t i = 1; i <= CH_LEN(p->seen); i++) {
        const struct known_message *s = &p->seen[(p->next + CH_LEN(p->seen) - i) % CH_LEN(p->seen)];
        if (s->message && !s->sender)
            return s;
    }
    return NULL;
}

static const char *find_member(const struct known_chat *p, const char *id) {
    for (size_t i = 0; i < CH_LIMIT_SEEN_MESSAGES; i++)
        if (p->seen[i].sender && strcmp(p->seen[i].sender, id) == 0)
            return p->seen[i].sender;
    return NULL;
}

static bool chat_action_is_owner(const struct ch_chat_service *chat, const char *id) {
    struct ch_channel *c = chat->channel;
    return id && ch_channel_is_owner(c, id);
}

/* The schema has checked the types; the functions below check the rest. */
static bool find_target_message(chela_call *call, enum chat_action_kind kind,
                                struct chat_action_target *a) {
    const char *id = NULL;
    if (chela_arg_string_opt(call, "message_id", &id) < 0 ||
        chela_arg_string_opt(call, "emoji", &a->emoji) < 0)
        return false;
    a->message = id ? find_message(a->place, id) : last_own_message(a->place);
    if (!a->message)
        return chat_action_refuse(call, "not_found",
                                  id ? "This chat has no such message, or it is too old."
                                     : "No message of yours is known that could be recalled.");
    if (kind == RECALL && chat_action_is_owner(a->chat, a->message->sender))
        return chat_action_refuse(call, "permission_denied",
                                  "A message of an owner cannot be recalled.");
    return true;
}

static bool find_target_member(chela_call *call, struct chat_action_target *a) {
    const char *id = NULL, *message = NULL;
    a->seconds = MUTE_S;
    if (chela_arg_string_opt(call, "member", &id) < 0 ||
        chela_arg_string_opt(call, "message_id", &message) < 0 ||
        chela_arg_int_opt(call, "seconds", &a->seconds) < 0)
        return false;
    if (!id == !message)
        return chat_action_refuse(call, "invalid_arguments",
                                  "Give either `member` or `message_id`.");
    if (a->place->direct)
        return chat_action_refuse(call, "invalid_arguments", "This chat is not a group.");
    a->message = message ? find_message(a->place, message) : NULL;
    a->member = a->message ? a->message->sender : id ? find_member(a->place, id) : NULL;
    if (!a->member)
        return chat_action_refuse(call, "not_found",
                                  a->message ? "That message is your own."
                                             : "No such member has written in this chat recently.");
    if (chat_action_is_owner(a->chat, a->member))
        return chat_action_refuse(call, "permission_denied",
                                  "This member is an owner of the channel.");
    return true;
}

static bool chat_action_find_target(chela_call *call, const struct chat_action_tool *t,
                                    struct chat_action_target *a) {
    CH_BUF_AUTO why = {0};
    CH_AUTOFREE char *id = ch_chat_service_chat_id(t->session);
    *a = (struct chat_action_target){.chat = ch_chat_service_of_session(t->gw, t->session)};
    if (!a->chat)
        return chat_action_refuse(call, "unavailable", "The channel of this chat is closed.");
    const struct chela_channel_ops *ops = a->chat->channel->ops;
    if (!channel_supports(ops, t->kind)) {
        ch_buf_addf(&why, "%s has no way to %s.", ops->name, tools[t->kind].what);
        return chat_action_refuse(call, "not_found", ch_buf_str(&why));
    }
    a->place = find_known_chat(a->chat, ch_sv_str(id));
    if (!a->place)
        return chat_action_refuse(call, "not_found", "No message of this chat is known yet.");
    return t->kind == MUTE || t->kind == REMOVE ? find_target_member(call, a)
                                                : find_target_message(call, t->kind, a);
}

static int chat_action_check(chela_call *call, void *user) {
    struct chat_action_target a;
    chat_action_find_target(call, user, &a);
    return 0;
}

static int chat_action_run(chela_call *call, void *user) {
    const struct chat_action_tool *t = user;
    struct chat_action_target a;
    if (!chat_action_find_target(call, t, &a))
        return 0;
    struct ch_channel *c = a.chat->channel;
    struct ch_chat_action *g = ch_chat_actions_begin(a.chat, call);
    if (t->kind == REACT)
        c->ops->react(c->self, a.place->id, a.message->message, a.emoji, ch_chat_actions_done, g);
    else if (t->kind == RECALL)
        c->ops->unsend(c->self, a.place->id, a.message->message, ch_chat_actions_done, g);
    else if (t->kind == MUTE)
        c->ops->mute(c->self, a.place->id, a.member, CH_MIN(a.seconds, MUTE_LONGEST_S),
                     ch_chat_actions_done, g);
    else
        c->ops->remove(c->self, a.place->id, a.member, ch_chat_actions_done, g);
    return 0;
}

/* Shows the person who approves the call more than ids: the author and the text. */
static void chat_action_show(chela_call *call, struct ch_buf *out) {
    struct chat_action_target a;
    if (!chat_action_find_target(call, call->tool->user, &a))
        return;
    ch_buf_addf(out, "chat: %s", a.place->id);
    if (a.member)
        ch_buf_addf(out, "\nmember: %s", a.member);
    if (a.message)
        ch_buf_addf(out, "\nmessage: %s\nof: %s\nit says: %s", a.message->message,
                    a.message->sender ? a.message->sender : "the agent itself", a.message->words);
}

static void chat_action_release(void *user) {
    struct chat_action_tool *t = user;
    ch_free(t->session);
    ch_free(t);
}

int ch_chat_actions_add_tools(chela_gateway *gw, chela_agent *agent, const char *key,
                              struct chela_error *err) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && agent->chat_actions && i < CH_LEN(tools); i++) {
        struct chat_action_tool *t = ch_alloc(sizeof(*t));
        *t = (struct chat_action_tool){
            .gw = gw, .session = ch_strdup(key), .kind = (enum chat_action_kind)i};
        struct chela_tool_opts o =
            CHELA_TOOL_OPTS(.name = tools[i].name, .description = tools[i].description,
                            .schema = tools[i].schema, .fn = chat_action_run,
                            .check = chat_action_check, .user = t, .release = chat_action_release,
                            .effect = CHELA_EFFECT_ONCE, .permission = CHELA_PERM_ADMIN,
                            .flags = CHELA_TOOL_ON_LOOP | CHELA_TOOL_CONFIRM | CHELA_TOOL_ACTION);
        rc = ch_function_add(&agent->registry, &o, err);
        if (rc < 0)
            chat_action_release(t);
        else
            ch_registry_find(&agent->registry, ch_sv_str(o.name))->show = chat_action_show;
    }
    return rc;
}

/* --- life */

void ch_chat_actions_release(struct ch_chat_service *chat) {
    for (struct ch_chat_action *g;
         (g = CH_LIST_FIRST(&chat->actions, struct ch_chat_action, link));) {
        struct chela_error err = {0};
        ch_fail(&err, CHELA_ENET, "the channel is being closed");
        ch_chat_actions_done(&err, g);
    }
    for (struct known_chat *p; (p = CH_LIST_FIRST(&chat->known_chats, struct known_chat, link));)
        free_known_chat(p);
}
