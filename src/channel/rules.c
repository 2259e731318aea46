/* rules.c -- see rules.h. */
#include "channel/rules.h"

#include "channel/id.h"

static enum ch_welcome policy(enum chela_access access) {
    switch (access) {
    case CHELA_ACCESS_DEFAULT:
    case CHELA_ACCESS_ALLOWLIST:
        return CH_WELCOME_LISTED;
    case CHELA_ACCESS_OPEN:
        return CH_WELCOME_OPEN;
    case CHELA_ACCESS_PAIRING:
        return CH_WELCOME_PAIRING;
    case CHELA_ACCESS_OFF:
        break;
    }
    return CH_WELCOME_OFF;
}

static enum ch_sharing scope(enum chela_group_session shared) {
    return shared == CHELA_GROUP_SESSION_CHAT     ? CH_BY_CHAT
           : shared == CHELA_GROUP_SESSION_SENDER ? CH_BY_SENDER
                                                  : CH_BY_TOPIC;
}

void ch_rules_init(struct ch_rules *r, const struct chela_channel_opts *o) {
    *r = (struct ch_rules){.direct = policy(o->dm_policy),
                           .group = policy(o->group_policy),
                           .people = ch_strings_dup(o->allow_from),
                           .groups = ch_strings_dup(o->groups),
                           .owners = ch_strings_dup(o->owners),
                           .unasked = o->unasked,
                           .scope = scope(o->group_session)};
}

void ch_rules_release(struct ch_rules *r) {
    ch_strings_free(r->people);
    ch_strings_free(r->groups);
    ch_strings_free(r->owners);
}

static bool rules_is_listed(char *const *list, const char *id) {
    for (; id && list && *list; list++)
        if (strcmp(*list, id) == 0 || strcmp(*list, "*") == 0)
            return true;
    return false;
}

/* Owners are listed individually: "*" is not accepted here. */
bool ch_rules_is_owner(const struct ch_rules *r, const char *id) {
    if (!id)
        return r->owners && r->owners[0];
    for (char **one = r->owners; one && *one; one++)
        if (strcmp(*one, id) == 0)
            return true;
    return false;
}

static bool rules_knows(const struct ch_rules *r, const struct ch_author *who) {
    return rules_is_listed(r->people, who->id) || rules_is_listed(r->people, who->others[0]) ||
           rules_is_listed(r->people, who->others[1]) || ch_rules_is_owner(r, who->id);
}

static bool rules_serves_group(const struct ch_rules *r, const char *chat) {
    return r->group != CH_WELCOME_OFF &&
           (r->group == CH_WELCOME_OPEN || rules_is_listed(r->groups, chat));
}

static enum chela_channel_judgement judge_group(const struct ch_rules *r,
                                                const struct ch_author *who) {
    if (!rules_serves_group(r, who->chat))
        return CHELA_CHANNEL_IGNORE;
    if (r->unasked || who->meant == CH_MEANT)
        return CHELA_CHANNEL_TAKE;
    return who->meant == CH_PERHAPS_MEANT ? CHELA_CHANNEL_LATER : CHELA_CHANNEL_IGNORE;
}

enum chela_channel_judgement ch_rules_judge(const struct ch_rules *r, const struct ch_author *who) {
    if (!who->person || !who->id)
        return CHELA_CHANNEL_IGNORE;
    if (!who->direct)
        return judge_group(r, who);
    if (r->direct == CH_WELCOME_OFF)
        return CHELA_CHANNEL_IGNORE;
    if (r->direct == CH_WELCOME_OPEN || rules_knows(r, who))
        return CHELA_CHANNEL_TAKE;
    return r->direct == CH_WELCOME_PAIRING ? CHELA_CHANNEL_MEET : CHELA_CHANNEL_IGNORE;
}

bool ch_rules_overhears(const struct ch_rules *r, const struct ch_author *who) {
    return who->person && who->id && !who->direct && !r->unasked && who->meant == CH_NOT_MEANT &&
           rules_serves_group(r, who->chat);
}

void ch_rules_explain(const struct ch_rules *r, const struct chela_inbound *about, bool program,
                      struct ch_buf *out) {
    bool direct = about->chat_type && strcmp(about->chat_type, "direct") == 0;
    enum ch_welcome policy = direct ? r->direct : r->group;
    const char *who = about->sender_id ? about->sender_id : "an unknown sender";
    ch_buf_addf(out, "a message of %s in chat %s is ignored: ", who,
                about->chat_id ? about->chat_id : "?");
    if (program)
        ch_buf_add_str(out, "a program wrote the message");
    else if (policy == CH_WELCOME_OFF)
        ch_buf_addf(out, "%s is off", direct ? "dmPolicy" : "groupPolicy");
    else if (direct && policy != CH_WELCOME_OPEN)
        ch_buf_add_str(out, "allowFrom does not list the sender");
    else if (!direct && policy != CH_WELCOME_OPEN && !rules_is_listed(r->groups, about->chat_id))
        ch_buf_add_str(out, "groups does not list the chat");
    else
        ch_buf_add_str(out, "the message has no text and no file, or does not mention the bot");
}

char *ch_rules_session(const struct ch_rules *r, const char *channel, const struct ch_author *who,
                       struct ch_arena *a) {
    bool topic = !who->direct && r->scope != CH_BY_CHAT && who->thread;
    bool sender = !who->direct && r->scope == CH_BY_SENDER;
    CH_BUF_AUTO key = {0};
    ch_buf_addf(&key, "%s:", channel);
    ch_id_add(&key, ch_sv_str(who->chat));
    ch_buf_add_str(&key, topic ? ":" : "");
    ch_id_add(&key, ch_sv_str(topic ? who->thread : ""));
    ch_buf_add_str(&key, sender ? ":" : "");
    ch_id_add(&key, ch_sv_str(sender ? who->id : ""));
    return ch_arena_str(a, ch_buf_sv(&key));
}
