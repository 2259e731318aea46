/* heartbeat.c -- the heartbeat settings of an agent. Settings that the agent
 * lacks come from agents.defaults, then from chela's own defaults. */
#include "base/choice.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "config/conf.h"

#define EITHER(a, d, member) ((a)->member ? (a)->member : (d)->member)

static void heartbeat_set(double *to, const double *a, const double *d) {
    *to = a ? *a : d ? *d : *to;
}

static const struct chela_willing_opts *willing_of(const chela_config *cfg,
                                                   enum chela_chat_kind kind,
                                                   const struct ch_conf_willing *a,
                                                   const struct ch_conf_willing *d) {
    struct chela_willing_opts *o = ch_arena_alloc(cfg->arena, sizeof(*o));
    o->size = sizeof(*o);
    chela_willing_defaults(kind, o, NULL);
    if (EITHER(a, d, answers_all))
        o->answer_all = EITHER(a, d, answers_all) > 0;
    heartbeat_set(&o->text, a->text, d->text);
    heartbeat_set(&o->mention, a->mention, d->mention);
    heartbeat_set(&o->quote, a->quote, d->quote);
    heartbeat_set(&o->direct, a->direct, d->direct);
    heartbeat_set(&o->keyword_factor, a->keyword_factor, d->keyword_factor);
    heartbeat_set(&o->most, a->most, d->most);
    heartbeat_set(&o->half_life_s, a->half_life, d->half_life);
    heartbeat_set(&o->threshold, a->threshold, d->threshold);
    heartbeat_set(&o->slope, a->slope, d->slope);
    heartbeat_set(&o->reply_cost, a->reply_cost, d->reply_cost);
    heartbeat_set(&o->refractory_s, a->refractory, d->refractory);
    heartbeat_set(&o->share_low, a->share_low, d->share_low);
    heartbeat_set(&o->share_high, a->share_high, d->share_high);
    return o;
}

static int heartbeat_check(const struct chela_willing_opts *o, const char *kind,
                           struct chela_error *err) {
    if (o->threshold > o->most)
        return ch_fail(err, CHELA_ECONFIG, "heartbeat.%s: threshold is above max, so that no line "
                                           "could reach it", kind);
    if (o->share_low > o->share_high)
        return ch_fail(err, CHELA_ECONFIG, "heartbeat.%s: shareLow is above shareHigh", kind);
    return 0;
}

static int heartbeat_read_rules(const struct ch_conf_heartbeat *a,
                                const struct ch_conf_heartbeat *d, struct chela_willing_rules *r,
                                struct chela_error *err) {
    const char *quiet = EITHER(a, d, quiet_hours), *offset = EITHER(a, d, utc_offset);
    *r = (struct chela_willing_rules)CHELA_WILLING_RULES(
        .names = EITHER(a, d, names), .keywords = EITHER(a, d, keywords),
        .stop_words = EITHER(a, d, stop_words), .hush_s = (double)EITHER(a, d, hush_s),
        .bot_turns = (unsigned)EITHER(a, d, bot_turns));
    struct chela_error why = {0};
    if (quiet && chela_quiet_hours_read(quiet, &r->quiet_from, &r->quiet_to, &why) < 0)
        return ch_fail(err, CHELA_ECONFIG, "heartbeat.quietHours: %s", why.message);
    if (offset && chela_utc_offset_read(offset, &r->utc_offset, &why) < 0)
        return ch_fail(err, CHELA_ECONFIG, "heartbeat.utcOffset: %s", why.message);
    return 0;
}

int ch_conf_heartbeat(const chela_config *cfg, const struct ch_conf_agent *agent,
                      const struct chela_heartbeat_opts **out, struct chela_error *err) {
    const struct ch_conf_heartbeat *a = &agent->heartbeat, *d = &cfg->conf.defaults.heartbeat;
    struct chela_heartbeat_opts *o = ch_arena_alloc(cfg->arena, sizeof(*o));
    *o = (struct chela_heartbeat_opts)CHELA_HEARTBEAT_OPTS(
        .group = willing_of(cfg, CHELA_CHAT_GROUP, &a->group, &d->group),
        .direct = willing_of(cfg, CHELA_CHAT_DIRECT, &a->direct, &d->direct));
    o->protocol = ch_choice_of(CHELA_CHOICE_PROTOCOL, EITHER(a, d, protocol));
    o->busy = ch_choice_of(CHELA_CHOICE_BUSY, EITHER(a, d, busy));
    o->opinion = EITHER(a, d, opinion);
    o->beats = (unsigned)EITHER(a, d, beats);
    o->history = (unsigned)EITHER(a, d, history);
    o->debounce_ms = EITHER(a, d, debounce_ms);
    o->memory = EITHER(a, d, memory);
    o->typing = CH_DEFAULT_TYPING;
    heartbeat_set(&o->typing, a->typing, d->typing);
    struct chela_willing_rules *rules = ch_arena_alloc(cfg->arena, sizeof(*rules));
    int rc = heartbeat_read_rules(a, d, rules, err);
    o->rules = rules;
    if (rc == 0)
        rc = heartbeat_check(o->group, "group", err);
    if (rc == 0)
        rc = heartbeat_check(o->direct, "direct", err);
    if (rc == 0)
        *out = o;
    return rc;
}
