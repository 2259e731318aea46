/* actions.c -- what an agent can do in a chat beside writing there: put an emoji
 * to a message, take a message back, silence a member, remove one.
 *
 * They are tools of class admin: a person is asked about each call unless the
 * rules say otherwise, and they are offered to agents that were given them
 * (tools.chat), in the lanes of a chat alone. A call acts in the chat of its own
 * session: no other can be named. It can name only what was seen there, by ids
 * that the service gave: messages that came to the agent, those that it sent, and
 * the members who wrote them. So it cannot aim at itself, whose own messages do
 * not come; that a member is an owner of the channel is looked at each time.
 *
 * What is known of a chat is kept in memory: after a restart a message is known
 * again when it is spoken of next. */
#include "agent/journal/mailbox.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "gateway/chat/channels.h"
#include "tool/call/call.h"

#define WORDS 120 /* bytes of a message that a person is shown */
#define MUTE_S 3600
#define MUTE_LONGEST_S (30 * 24 * 3600)

struct seen {
    char *message, *sender, *words; /* owned; sender NULL: it is ours */
};

/* A chat of the service, by its id. */
struct place {
    struct ch_link link; /* in the chat's places, the one that was used last at the end */
    char *id;            /* owned */
    bool direct;
    struct seen seen[CH_LIMIT_SEEN_MESSAGES]; /* a ring */
    size_t next;
};

/* --- what was seen */

static void free_seen(struct seen *s) {
    ch_free(s->message);
    ch_free(s->sender);
    ch_free(s->words);
}

static void free_place(struct place *p) {
    ch_list_del(&p->link);
    for (size_t i = 0; i < CH_LIMIT_SEEN_MESSAGES; i++)
        free_seen(&p->seen[i]);
    ch_free(p->id);
    ch_free(p);
}

static struct place *find_place(const struct ch_chat *chat, struct ch_sv id) {
    for (CH_LIST_EACH(k, &chat->places)) {
        struct place *p = CH_CONTAINER(k, struct place, link);
        if (ch_sv_is(id, p->id))
            return p;
    }
    return NULL;
}

static struct place *need_place(struct ch_chat *chat, struct ch_sv id) {
    struct place *p = find_place(chat, id);
    size_t n = 0;
    if (p) {
        ch_list_del(&p->link);
        ch_list_add(&chat->places, &p->link);
        return p;
    }
    for (CH_LIST_EACH(k, &chat->places))
        n++;
    if (n >= CH_LIMIT_SEEN_CHATS)
        free_place(CH_LIST_FIRST(&chat->places, struct place, link));
    p = ch_alloc(sizeof(*p));
    p->id = ch_strndup(id.p, id.n);
    ch_list_add(&chat->places, &p->link);
    return p;
}

static struct seen *find_message(struct place *p, const char *message) {
    for (size_t i = 0; i < CH_LIMIT_SEEN_MESSAGES; i++)
        if (p->seen[i].message && strcmp(p->seen[i].message, message) == 0)
            return &p->seen[i];
    return NULL;
}

static void see(struct place *p, const char *message, const char *sender, const char *text) {
    struct ch_sv words = ch_utf8_cut(ch_sv_str(text ? text : ""), WORDS);
    if (find_message(p, message))
        return;
    struct seen *s = &p->seen[p->next];
    p->next = (p->next + 1) % CH_LIMIT_SEEN_MESSAGES;
    free_seen(s);
    *s = (struct seen){ch_strdup(message), sender ? ch_strdup(sender) : NULL,
                       ch_strndup(words.p, words.n)};
}

void ch_actions_see(struct ch_chat *chat, const struct ch_arrival *in) {
    const struct chela_inbound *a = &in->about;
    if (!a->chat_id || !*a->chat_id || !a->message_id || !a->sender_id)
        return;
    struct place *p = need_place(chat, ch_sv_str(a->chat_id));
    p->direct = a->chat_type && strcmp(a->chat_type, "direct") == 0;
    see(p, a->message_id, a->sender_id, in->text);
}

void ch_actions_sent(const struct chela_outbound *m, const char *note, void *user) {
    struct ch_sv to = ch_sv_str(m->to ? m->to : ""), place = ch_sv_split(&to, ' ');
    if (place.n && *note && !strchr(note, ' ')) /* otherwise it is no id */
        see(need_place(user, place), note, NULL, m->text);
}

/* --- a call on its way */

struct ch_acting {
    struct ch_link link; /* in the chat's actings */
    chela_call *call;    /* NULL: it was cancelled */
};

void ch_acted(const struct chela_error *err, void *acting) {
    struct ch_acting *g = acting;
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

static void on_cancelled(chela_call *call, void *user) {
    struct ch_acting *g = user;
    g->call = NULL;
    chela_result_error(call, "cancelled", "It may have been done.");
    chela_call_finish(call);
}

struct ch_acting *ch_acting_new(struct ch_chat *chat, chela_call *call) {
    struct ch_acting *g = ch_alloc(sizeof(*g));
    g->call = call;
    ch_list_add(&chat->actings, &g->link);
    chela_call_defer(call);
    chela_call_on_cancel(call, on_cancelled, g);
    return g;
}

/* --- the tools */

enum deed { REACT, RECALL, MUTE, REMOVE };

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

struct act { /* of one tool in one lane */
    chela_gateway *gw;
    char *session; /* owned */
    enum deed deed;
};

/* What a call aims at, once it is found good. */
struct aim {
    struct ch_chat *chat;
    struct place *place;
    const struct seen *message; /* NULL: of a member who was named */
    const char *member;
    const char *emoji;
    int64_t seconds;
};

static bool refuse(chela_call *call, const char *type, const char *why) {
    chela_result_error(call, type, "%s", why);
    return false;
}

static bool can(const struct ch_channel_ops *ops, enum deed deed) {
    return deed == REACT    ? ops->react != NULL
           : deed == RECALL ? ops->unsend != NULL
           : deed == MUTE   ? ops->mute != NULL
                            : ops->remove != NULL;
}

static const struct seen *last_of_ours(const struct place *p) {
    for (size_t i = 1; i <= CH_LEN(p->seen); i++) {
        const struct seen *s = &p->seen[(p->next + CH_LEN(p->seen) - i) % CH_LEN(p->seen)];
        if (s->message && !s->sender)
            return s;
    }
    return NULL;
}

static const char *find_member(const struct place *p, const char *id) {
    for (size_t i = 0; i < CH_LIMIT_SEEN_MESSAGES; i++)
        if (p->seen[i].sender && strcmp(p->seen[i].sender, id) == 0)
            return p->seen[i].sender;
    return NULL;
}

static bool is_owner(const struct ch_chat *chat, const char *id) {
    struct ch_channel *c = chat->channel;
    return id && c->ops->is_owner && c->ops->is_owner(c, id);
}

/* A call with odd arguments is refused by its schema; these are what it cannot say. */
static bool aim_at_message(chela_call *call, enum deed deed, struct aim *a) {
    const char *id = NULL;
    if (chela_arg_string_opt(call, "message_id", &id) < 0 ||
        chela_arg_string_opt(call, "emoji", &a->emoji) < 0)
        return false;
    a->message = id ? find_message(a->place, id) : last_of_ours(a->place);
    if (!a->message)
        return refuse(call, "not_found",
                      id ? "There is no such message in this chat, or it is too old."
                         : "No message of yours is known that could be taken back.");
    if (deed == RECALL && is_owner(a->chat, a->message->sender))
        return refuse(call, "permission_denied", "An owner's message is not taken back.");
    return true;
}

static bool aim_at_member(chela_call *call, struct aim *a) {
    const char *id = NULL, *message = NULL;
    a->seconds = MUTE_S;
    if (chela_arg_string_opt(call, "member", &id) < 0 ||
        chela_arg_string_opt(call, "message_id", &message) < 0 ||
        chela_arg_int_opt(call, "seconds", &a->seconds) < 0)
        return false;
    if (!id == !message)
        return refuse(call, "invalid_arguments", "Name the member, or a message of theirs.");
    if (a->place->direct)
        return refuse(call, "invalid_arguments", "This is no group.");
    a->message = message ? find_message(a->place, message) : NULL;
    a->member = a->message ? a->message->sender : id ? find_member(a->place, id) : NULL;
    if (!a->member)
        return refuse(call, "not_found",
                      a->message ? "That message is your own."
                                 : "Nobody of that kind has written in this chat lately.");
    if (is_owner(a->chat, a->member))
        return refuse(call, "permission_denied", "That is an owner of this channel.");
    return true;
}

static bool aim(chela_call *call, const struct act *t, struct aim *a) {
    CH_BUF_AUTO why = {0};
    struct ch_sv rest = ch_sv_str(t->session);
    *a = (struct aim){.chat = ch_chat_of(t->gw, t->session)};
    if (!a->chat)
        return refuse(call, "unavailable", "The channel of this chat is closed.");
    const struct ch_channel_ops *ops = a->chat->channel->ops;
    if (!can(ops, t->deed)) {
        ch_buf_addf(&why, "%s has no way to %s.", ops->name, tools[t->deed].what);
        return refuse(call, "not_found", ch_buf_str(&why));
    }
    ch_sv_split(&rest, ':');
    struct ch_sv id = ch_sv_split(&rest, ':');
    a->place = id.p ? find_place(a->chat, id) : NULL;
    if (!a->place)
        return refuse(call, "not_found", "Nothing is known of this chat yet.");
    return t->deed == MUTE || t->deed == REMOVE ? aim_at_member(call, a)
                                                : aim_at_message(call, t->deed, a);
}

static int check(chela_call *call, void *user) {
    struct aim a;
    aim(call, user, &a);
    return 0;
}

static int act(chela_call *call, void *user) {
    const struct act *t = user;
    struct aim a;
    if (!aim(call, t, &a))
        return 0;
    struct ch_channel *c = a.chat->channel;
    struct ch_acting *g = ch_acting_new(a.chat, call);
    if (t->deed == REACT)
        c->ops->react(c, a.place->id, a.message->message, a.emoji, ch_acted, g);
    else if (t->deed == RECALL)
        c->ops->unsend(c, a.place->id, a.message->message, ch_acted, g);
    else if (t->deed == MUTE)
        c->ops->mute(c, a.place->id, a.member, CH_MIN(a.seconds, MUTE_LONGEST_S), ch_acted, g);
    else
        c->ops->remove(c, a.place->id, a.member, ch_acted, g);
    return 0;
}

/* An id says little to who is to agree: whose it is, and what they wrote. */
static void show(chela_call *call, struct ch_buf *out) {
    struct aim a;
    if (!aim(call, call->tool->user, &a))
        return;
    ch_buf_addf(out, "chat: %s", a.place->id);
    if (a.member)
        ch_buf_addf(out, "\nmember: %s", a.member);
    if (a.message)
        ch_buf_addf(out, "\nmessage: %s\nof: %s\nit says: %s", a.message->message,
                    a.message->sender ? a.message->sender : "the agent itself", a.message->words);
}

static void release(void *user) {
    struct act *t = user;
    ch_free(t->session);
    ch_free(t);
}

int ch_actions_equip(chela_gateway *gw, chela_agent *agent, const char *key,
                     struct chela_error *err) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && agent->chat_actions && i < CH_LEN(tools); i++) {
        struct act *t = ch_alloc(sizeof(*t));
        *t = (struct act){.gw = gw, .session = ch_strdup(key), .deed = (enum deed)i};
        struct chela_tool_opts o = CHELA_TOOL_OPTS(
            .name = tools[i].name, .description = tools[i].description, .schema = tools[i].schema,
            .fn = act, .check = check, .user = t, .release = release, .effect = CHELA_EFFECT_ONCE,
            .permission = CHELA_PERM_ADMIN, .flags = CHELA_TOOL_ON_LOOP | CHELA_TOOL_CONFIRM);
        rc = ch_registry_add(&agent->registry, &o, NULL, NULL, err);
        if (rc < 0)
            release(t);
        else
            ch_registry_find(&agent->registry, ch_sv_str(o.name))->show = show;
    }
    return rc;
}

/* --- life */

void ch_actions_init(struct ch_chat *chat) {
    ch_list_init(&chat->actings);
    ch_list_init(&chat->places);
}

void ch_actions_release(struct ch_chat *chat) {
    for (struct ch_acting *g; (g = CH_LIST_FIRST(&chat->actings, struct ch_acting, link));) {
        struct chela_error err = {0};
        ch_fail(&err, CHELA_ENET, "the channel is being closed");
        ch_acted(&err, g);
    }
    for (struct place *p; (p = CH_LIST_FIRST(&chat->places, struct place, link));)
        free_place(p);
}
