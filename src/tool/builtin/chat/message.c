/* message.c -- the tool `message`: sends through the channel of the session's conversation
 * (chela/channel.h).
 *
 * The channel sets the call's result. This file reads the arguments, rejects invalid ones
 * before anything is sent, and records the texts that went to the run's own conversation
 * (delivery.h). */
#include "tool/builtin/chat/message.h"

#include "base/limits.h"
#include "base/mem.h"
#include "chela/channel.h"
#include "tool/call/call.h"
#include "tool/call/call_view.h"
#include "tool/call/delivery.h"

static const char *const target_names[] = {"target", "to", "recipient", NULL};
static const char *const text_names[] = {"message", "text", "content", "body", NULL};
static const char *const id_names[] = {"message_id", "messageId", "reply_to", "replyTo", NULL};
static const char *const emoji_names[] = {"emoji", "reaction", NULL};

enum action { SEND, REPLY, REACT };
static const char *const actions[] = {"send", "reply", "react"};

/* An empty text counts as absent: models fill in optional arguments. */
static int chat_message_read_text(chela_call *call, const char *const *names, size_t most,
                                  const char **out) {
    int rc = chela_arg_string_opt(call, ch_arg_name(call, names), out);

    if (rc < 0)
        return rc;
    size_t n = *out ? strlen(*out) : 0;
    if (n > most) {
        chela_result_error(call, "invalid_arguments",
                           "The argument \"%s\" has %zu bytes; at most %zu are possible.", names[0],
                           n, most);
        return CHELA_EINVAL;
    }
    if (*out && ch_sv_trim(ch_sv_str(*out)).n == 0)
        *out = NULL;
    return 0;
}

static int chat_message_read_action(chela_call *call, enum action *out) {
    const char *name;

    int rc = chela_arg_string(call, "action", &name);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < CH_LEN(actions); i++)
        if (strcmp(name, actions[i]) == 0) {
            *out = (enum action)i;
            return 0;
        }
    return ch_result_invalid(call, "The argument \"action\" must be send, reply or react.");
}

static int message_read_call(chela_call *call, enum action *action, struct chela_message *m) {
    *m = (struct chela_message){.key = chela_call_key(call)};
    int rc = chat_message_read_action(call, action);
    if (rc == 0)
        rc = chat_message_read_text(call, target_names, CH_LIMIT_MESSAGE_NAME, &m->target);
    if (rc == 0)
        rc = chat_message_read_text(call, id_names, CH_LIMIT_MESSAGE_NAME, &m->message_id);
    if (rc == 0)
        rc = chat_message_read_text(call, text_names, CH_LIMIT_MESSAGE_TEXT, &m->text);
    if (rc == 0)
        rc = chat_message_read_text(call, emoji_names, CH_LIMIT_MESSAGE_NAME, &m->emoji);
    if (rc < 0)
        return rc;
    if (*action != REACT && !m->text)
        return ch_result_invalid(call, "The argument \"message\" is missing: the text to deliver.");
    if (*action == REACT && !m->emoji)
        return ch_result_invalid(call, "The argument \"emoji\" is missing: what to react with.");
    if (*action == REACT)
        m->text = NULL;
    else
        m->emoji = NULL;
    return 0;
}

int ch_message_check(chela_call *call, void *user) {
    struct chela_message m;
    enum action action;

    (void)user;
    return message_read_call(call, &action, &m);
}

static bool goes_here(const struct chela_channel *c, const struct chela_message *m) {
    return !m->target || (c->conversation && strcmp(m->target, c->conversation) == 0);
}

bool ch_message_stays(chela_call *call) {
    const struct chela_channel *c = call->env->channel;
    struct chela_message m = {0};

    int rc = chat_message_read_text(call, target_names, CH_LIMIT_MESSAGE_NAME, &m.target);
    return !c || (rc == 0 && goes_here(c, &m));
}

int ch_message_run(chela_call *call, void *user) {
    const struct chela_channel *c = call->env->channel;
    struct chela_message m;
    enum action action;

    (void)user;
    int rc = message_read_call(call, &action, &m);
    if (rc < 0)
        return rc;
    if (!c)
        return chela_result_error(call, "not_found", "This conversation has no channel.");
    chela_channel_fn *const fns[] = {c->send, c->reply, c->react};
    if (!fns[action])
        return chela_result_error(call, "invalid_arguments", "The channel %s cannot %s.", c->name,
                                  actions[action]);
    if (m.text && goes_here(c, &m))
        ch_delivery_begin(call->env->state, call->env->run, ch_sv_str(call->id), ch_sv_str(m.text));
    return fns[action](call, &m, c->user);
}

/* Messages are sent one after the other, so that people read them in the order written. */
void ch_message_uses(chela_call *call, void *user) {
    (void)user;
    chela_call_uses(call, "channel", CHELA_USE_ALONE);
}

const char *ch_channel_tool(const struct ch_registry *r) {
    const struct ch_tool *t = ch_registry_find(r, CH_SV(CH_MESSAGE_TOOL));

    return t && t->check == ch_message_check ? CH_MESSAGE_TOOL : NULL;
}
