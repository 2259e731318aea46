/* feishu_judge.c -- who may have the agent do something, and in which session.
 *
 * Only ids that the service gives count, never names. What programs write is
 * not answered: two that answer each other would never end. */
#include "channel/feishu.h"

static bool is_listed(char *const *list, const char *id) {
    for (; id && list && *list; list++)
        if (strcmp(*list, id) == 0 || strcmp(*list, "*") == 0)
            return true;
    return false;
}

/* Owners are named one by one: "*" is nobody's name here. */
bool ch_feishu_is_owner(const struct ch_feishu_rules *r, const char *open_id) {
    if (!open_id)
        return r->owners && r->owners[0];
    for (char **one = r->owners; one && *one; one++)
        if (strcmp(*one, open_id) == 0)
            return true;
    return false;
}

static bool knows(const struct ch_feishu_rules *r, const struct ch_feishu_message *m) {
    return is_listed(r->people, m->open_id) || is_listed(r->people, m->union_id) ||
           is_listed(r->people, m->user_id);
}

static enum ch_judgement judge_group(const struct ch_feishu_rules *r, const char *bot,
                                     const struct ch_feishu_message *m) {
    if (r->group == CH_FEISHU_OFF ||
        (r->group == CH_FEISHU_LISTED && !is_listed(r->groups, m->chat)))
        return CH_IGNORE;
    if (r->unasked)
        return CH_TAKE;
    if (!bot)
        return CH_LATER;
    return ch_feishu_mentions(m, bot) ? CH_TAKE : CH_IGNORE;
}

enum ch_judgement ch_feishu_judge(const struct ch_feishu_rules *r, const char *bot,
                                  const struct ch_feishu_message *m) {
    if (!m->from_person || !m->open_id || (bot && strcmp(bot, m->open_id) == 0))
        return CH_IGNORE;
    if (!m->direct)
        return judge_group(r, bot, m);
    if (r->direct == CH_FEISHU_OFF)
        return CH_IGNORE;
    if (r->direct == CH_FEISHU_OPEN || knows(r, m) || ch_feishu_is_owner(r, m->open_id))
        return CH_TAKE;
    return r->direct == CH_FEISHU_PAIRING ? CH_MEET : CH_IGNORE;
}

char *ch_feishu_session(const struct ch_feishu_rules *r, const struct ch_feishu_message *m,
                        struct ch_arena *a) {
    bool topic = !m->direct && r->scope != CH_FEISHU_CHAT && m->thread;
    bool sender = !m->direct && r->scope == CH_FEISHU_SENDER;
    return ch_arena_printf(a, "feishu:%s%s%s%s%s", m->chat, topic ? ":" : "",
                           topic ? m->thread : "", sender ? ":" : "", sender ? m->open_id : "");
}
