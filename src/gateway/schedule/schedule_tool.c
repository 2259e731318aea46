/* schedule_tool.c -- the tool `schedule`: a model schedules runs of its own session.
 *
 * Such a schedule belongs to the session: it begins runs there, is deleted with the session,
 * and is invisible to other sessions. The tool has the permission class admin, so a person
 * must approve each call unless the configuration says otherwise. Off by default. */
#include "agent/handle/agent.h"
#include "agent/handle/session.h"
#include "agent/journal/schedule.h"
#include "base/error.h"
#include "io/loop_entry.h"
#include "json/writer.h"
#include "store/store.h"
#include "tool/call/call.h"

#define LEAST_MS 60000 /* smallest interval between two runs */

static const char description[] =
    "Have yourself told something later, in this conversation: once or again and again. Each time "
    "begins a run of its own with `prompt` as its input, so write down all that you will need to "
    "know then. add makes a schedule (at most 20, not more often than once a minute), list shows "
    "those of this conversation with their next time, remove takes one away.";

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"action\":{\"type\":\"string\",\"enum\":[\"add\",\"list\",\"remove\"]},"
    "\"name\":{\"type\":\"string\",\"description\":"
    "\"Of the schedule: letters, digits, - and _, e.g. weekly-report\"},"
    "\"when\":{\"type\":\"string\",\"description\":"
    "\"A line of cron (0 9 * * mon-fri), 'every 2h', or once: 'at 2027-03-01T09:00'\"},"
    "\"timezone\":{\"type\":\"string\",\"description\":"
    "\"Of the times in `when`, e.g. Asia/Shanghai; default: this machine's\"},"
    "\"prompt\":{\"type\":\"string\",\"description\":\"What you are told then\"}},"
    "\"required\":[\"action\"],\"additionalProperties\":false}";

static int schedule_tool_refuse(chela_call *call, const char *type, const char *why) {
    return chela_result_error(call, type, "%s", why);
}

struct schedule_tool { /* in the agent's arena */
    chela_store *store;
    const char *agent;
};

/* --- list */

struct schedule_listing {
    struct ch_jw w;
    const char *session;
};

static int schedule_tool_write_row(const struct chela_schedule_row *row, void *user) {
    struct schedule_listing *l = user;
    const struct chela_schedule *s = row->schedule;
    if (!row->of_session || strcmp(row->of_session, l->session) != 0)
        return 0;
    ch_jw_begin(&l->w, '{');
    ch_jw_kcstr(&l->w, "name", s->name);
    ch_jw_kcstr(&l->w, "when", s->when);
    if (s->timezone)
        ch_jw_kcstr(&l->w, "timezone", s->timezone);
    ch_jw_kcstr(&l->w, "prompt", s->prompt);
    if (row->next != INT64_MAX) {
        char *next = chela_schedule_time(s, row->next);
        ch_jw_kcstr(&l->w, "next", next);
        chela_free(next);
    }
    ch_jw_end(&l->w, '}');
    return 0;
}

static int schedule_tool_list(chela_call *call, const struct schedule_tool *t) {
    CH_BUF_AUTO out = {0};
    struct chela_error err = {0};
    struct schedule_listing l = {ch_jw(&out), call->env->session};
    ch_jw_begin(&l.w, '[');
    int rc = chela_schedule_list(t->store, NULL, schedule_tool_write_row, &l, &err);
    ch_jw_end(&l.w, ']');
    if (rc < 0)
        return schedule_tool_refuse(call, "unavailable", err.message);
    chela_result_text(call, out.p, out.n);
    return 0;
}

/* --- remove */

struct schedule_search {
    const char *session, *name;
    bool found;
};

static int schedule_tool_matches(const struct chela_schedule_row *row, void *user) {
    struct schedule_search *s = user;
    s->found = row->of_session && strcmp(row->of_session, s->session) == 0 &&
               strcmp(row->schedule->name, s->name) == 0;
    return s->found;
}

static int schedule_tool_remove(chela_call *call, const struct schedule_tool *t, const char *name) {
    struct schedule_search s = {call->env->session, name, false};
    struct chela_error err = {0};
    int rc = chela_schedule_list(t->store, NULL, schedule_tool_matches, &s, &err);
    if (rc == 0 && !s.found)
        return chela_result_error(call, "not_found", "This conversation has no schedule \"%s\".",
                                  name);
    if (rc == 0)
        rc = chela_schedule_remove(t->store, name, &err);
    if (rc < 0)
        return schedule_tool_refuse(call, "unavailable", err.message);
    chela_result_text(call, "Removed.", 8);
    return 0;
}

/* --- add */

static bool too_often(const struct chela_schedule *s, int64_t first) {
    int64_t second = INT64_MAX;
    struct chela_error err = {0};
    return first != INT64_MAX && chela_schedule_next(s, first, &second, &err) == 0 &&
           second - first < LEAST_MS;
}

static int report_next_time(chela_call *call, const struct chela_schedule *s, int64_t next) {
    CH_BUF_AUTO text = {0};
    char *time = chela_schedule_time(s, next);
    ch_buf_addf(&text, "Schedule %s is kept; its first time is %s.", s->name, time);
    chela_free(time);
    chela_result_text(call, text.p, text.n);
    return 0;
}

static int schedule_tool_add(chela_call *call, const struct schedule_tool *t, const char *name) {
    struct chela_schedule s =
        CHELA_SCHEDULE(.name = name, .agent = t->agent, .session = call->env->session);
    struct chela_error err = {0};
    int64_t next = INT64_MAX;
    int rc = chela_arg_string(call, "when", &s.when);
    if (rc == 0)
        rc = chela_arg_string(call, "prompt", &s.prompt);
    if (rc == 0)
        rc = chela_arg_string_opt(call, "timezone", &s.timezone);
    if (rc < 0)
        return rc;
    if (s.timezone && !*s.timezone)
        s.timezone = NULL;
    rc = chela_schedule_next(&s, ch_store_now(), &next, &err);
    if (rc == 0 && too_often(&s, next))
        return schedule_tool_refuse(call, "invalid_arguments",
                                    "when: must not be due more often than once a minute");
    if (rc == 0)
        rc = chela_schedule_add(t->store, &s, call->env->session, &err);
    if (rc == 0)
        return report_next_time(call, &s, next);
    return schedule_tool_refuse(call,
                                rc == CHELA_EINVAL || rc == CHELA_EEXIST ? "invalid_arguments"
                                : rc == CHELA_ELIMIT                     ? "limit"
                                                                         : "unavailable",
                                err.message);
}

static int schedule_tool_run(chela_call *call, void *user) {
    const char *action, *name = "";
    int rc = chela_arg_string(call, "action", &action);
    if (rc == 0 && strcmp(action, "list") == 0)
        return schedule_tool_list(call, user);
    if (rc == 0)
        rc = chela_arg_string(call, "name", &name);
    if (rc < 0)
        return rc;
    if (strcmp(action, "remove") == 0)
        return schedule_tool_remove(call, user, name);
    if (strcmp(action, "add") == 0)
        return schedule_tool_add(call, user, name);
    return schedule_tool_refuse(call, "invalid_arguments", "action: must be add, list or remove");
}

int chela_schedule_tool(chela_agent *agent, chela_store *store, struct chela_error *err) {
    CH_ENTER(agent, agent->rt->loop, err);
    CH_NEEDS(store, err);
    struct schedule_tool *t = ch_arena_alloc(&agent->arena, sizeof(*t));
    *t = (struct schedule_tool){store, agent->id};
    struct chela_tool_opts opts =
        CHELA_TOOL_OPTS(.name = "schedule", .description = description, .schema = schema,
                        .fn = schedule_tool_run, .user = t, .effect = CHELA_EFFECT_ONCE,
                        .permission = CHELA_PERM_ADMIN, .flags = CHELA_TOOL_CONFIRM);
    return chela_agent_add_tool(agent, &opts, err);
}
