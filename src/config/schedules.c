/* schedules.c -- scheduled runs of the configuration: its schedules, and the
 * agents that wake up by themselves. */
#include "base/choice.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/opts.h"
#include "config/conf.h"

#define EITHER(a, d, member) ((a)->member ? (a)->member : (d)->member)
#define WAKE_FILE "HEARTBEAT.md"

static int64_t none_if_negative(int64_t n) {
    return CH_MAX(n, 0);
}

static void config_schedules_describe(const struct ch_conf_schedule *c,
                                      struct chela_schedule *out) {
    *out =
        (struct chela_schedule)CHELA_SCHEDULE(.name = c->item.name, .when = c->when,
                                              .timezone = c->timezone, .agent = c->agent,
                                              .session = c->session, .prompt = c->prompt,
                                              .missed =
                                                  ch_choice_of(CHELA_CHOICE_MISSED, c->missed),
                                              .quiet_hours = c->quiet_hours, .fresh = c->fresh,
                                              .cost_budget_usd = CH_MAX(c->cost_usd, 0.0),
                                              .max_turns = none_if_negative(c->max_turns),
                                              .timeout_ms = none_if_negative(c->timeout_ms),
                                              .max_runs_per_day = none_if_negative(c->max_per_day));
}

/* The wake schedule of an agent; false if it has none. Missed wakes are
 * skipped. */
static bool wakes(const chela_config *cfg, const struct ch_conf_agent *agent,
                  struct chela_schedule *out) {
    const struct ch_conf_wake *a = &agent->wake, *d = &cfg->conf.defaults.wake;
    const char *every = EITHER(a, d, every), *file = EITHER(a, d, file);
    const char *id = agent->item.name ? agent->item.name : "main";
    if (!every)
        return false;
    *out = (struct chela_schedule)CHELA_SCHEDULE(
        .name = ch_arena_printf(cfg->arena, "wake:%s", id),
        .when = ch_arena_printf(cfg->arena, "every %s", every), .agent = agent->item.name,
        .wake_file = file ? file : WAKE_FILE, .session = EITHER(a, d, session),
        .timezone = EITHER(a, d, timezone), .quiet_hours = EITHER(a, d, quiet_hours),
        .missed = CHELA_MISSED_SKIP,
        .cost_budget_usd = CH_MAX(a->cost_usd != 0 ? a->cost_usd : d->cost_usd, 0.0),
        .max_runs_per_day = none_if_negative(EITHER(a, d, max_per_day)));
    return true;
}

/* The i-th agent with a wake schedule. */
static bool find_wake(const chela_config *cfg, size_t i, struct chela_schedule *out,
                      const struct ch_conf_item **item) {
    const struct ch_conf_agent *agents = cfg->conf.agents.items;
    size_t n = cfg->conf.agents.n;
    *item = &cfg->conf.defaults.item;
    if (n == 0)
        return i == 0 && wakes(cfg, &cfg->conf.defaults, out);
    for (size_t k = 0; k < n; k++) {
        *item = &agents[k].item;
        if (wakes(cfg, &agents[k], out) && i-- == 0)
            return true;
    }
    return false;
}

int chela_config_schedule(const chela_config *cfg, size_t i, struct chela_schedule *out,
                          struct chela_error *err) {
    CH_NEEDS(cfg, err);
    const struct ch_conf_list *list = &cfg->conf.schedules;
    const struct ch_conf_schedule *schedules = list->items;
    const struct ch_conf_item *item;
    struct chela_schedule s;
    struct chela_error why = {0};
    if (i < list->n) {
        item = &schedules[i].item;
        config_schedules_describe(&schedules[i], &s);
    } else if (!find_wake(cfg, i - list->n, &s, &item)) {
        return CHELA_ENOENT;
    }
    int rc = CH_OPTS_WRITE(chela_schedule, out, &s, err);
    if (rc < 0)
        return rc;
    if (chela_schedule_check(&s, &why) < 0)
        return ch_fail(err, CHELA_ECONFIG, "%s:%u:%u: schedule %s: %s", cfg->file,
                       item->where.line, item->where.column, s.name, why.message);
    return 0;
}

int chela_config_schedule_tool(const chela_config *cfg, const char *id) {
    CH_NEEDS_OR(cfg, NULL, 0);
    const struct ch_conf_agent *a = ch_conf_find_agent(cfg, id);
    const struct ch_conf_agent *d = &cfg->conf.defaults;
    return (a ? EITHER(a, d, schedule_tool) : d->schedule_tool) > 0;
}
