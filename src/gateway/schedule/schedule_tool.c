/* schedule_tool.c -- the tool `schedule`: a model makes an appointment with
 * itself.
 *
 * A schedule that it makes belongs to its session: it begins a run there, goes
 * when the session is deleted, and no other session sees it. What an agent does
 * when nobody is there is for a person to agree to: the tool counts as admin and
 * asks, unless the configuration says otherwise. Off by default. */
#include "agent/handle/agent.h"
#include "agent/journal/schedule.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/when.h"
#include "json/writer.h"
#include "store/store.h"
#include "tool/call/call.h"

#define LEAST_MS 60000 /* between two runs */

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
    "\"required\":[\"action\"]}";

static int refuse(chela_call *call, const char *type, const char *why) {
    return chela_result_error(call, type, "%s", why);
}

struct tool { /* in the agent's arena */
    chela_store *store;
    const char *agent;
};

/* --- list */

struct listing {
    struct ch_jw w;
    const char *session;
};

static int show(const struct chela_schedule_row *row, void *user) {
    struct listing *l = user;
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

static int list_them(chela_call *call, const struct tool *t) {
    CH_BUF_AUTO out = {0};
    struct chela_error err = {0};
    struct listing l = {ch_jw(&out), call->env->session};
    ch_jw_begin(&l.w, '[');
    int rc = chela_schedule_list(t->store, NULL, show, &l, &err);
    ch_jw_end(&l.w, ']');
    if (rc < 0)
        return refuse(call, "unavailable", err.message);
    chela_result_text(call, out.p, out.n);
    return 0;
}

/* --- remove */

struct search {
    const char *session, *name;
    bool found;
};

static int is_it(const struct chela_schedule_row *row, void *user) {
    struct search *s = user;
    s->found = row->of_session && strcmp(row->of_session, s->session) == 0 &&
               strcmp(row->schedule->name, s->name) == 0;
    return s->found;
}

static int remove_it(chela_call *call, const struct tool *t, const char *name) {
    struct search s = {call->env->session, name, false};
    struct chela_error err = {0};
    int rc = chela_schedule_list(t->store, NULL, is_it, &s, &err);
    if (rc == 0 && !s.found)
        return chela_result_error(call, "not_found", "This conversation has no schedule \"%s\".",
                                  name);
    if (rc == 0)
        rc = chela_schedule_remove(t->store, name, &err);
    if (rc < 0)
        return refuse(call, "unavailable", err.message);
    chela_result_text(call, "It is gone.", 11);
    return 0;
}

/* --- add */

static bool too_often(const struct chela_schedule *s, int64_t first) {
    int64_t second = INT64_MAX;
    struct chela_error err = {0};
    return first != INT64_MAX && chela_schedule_next(s, first, &second, &err) == 0 &&
           second - first < LEAST_MS;
}

static int tell_next(chela_call *call, const struct chela_schedule *s, int64_t next) {
    CH_BUF_AUTO text = {0};
    char *time = chela_schedule_time(s, next);
    ch_buf_addf(&text, "Schedule %s is kept; its first time is %s.", s->name, time);
    chela_free(time);
    chela_result_text(call, text.p, text.n);
    return 0;
}

static int add_it(chela_call *call, const struct tool *t, const char *name) {
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
        return refuse(call, "invalid_arguments", "when: more often than once a minute");
    if (rc == 0)
        rc = chela_schedule_add(t->store, &s, call->env->session, &err);
    if (rc == 0)
        return tell_next(call, &s, next);
    return refuse(call, rc == CHELA_EINVAL || rc == CHELA_EEXIST ? "invalid_arguments"
                        : rc == CHELA_ELIMIT                     ? "limit"
                                                                 : "unavailable", err.message);
}

static int run(chela_call *call, void *user) {
    const char *action, *name = "";
    int rc = chela_arg_string(call, "action", &action);
    if (rc == 0 && strcmp(action, "list") == 0)
        return list_them(call, user);
    if (rc == 0)
        rc = chela_arg_string(call, "name", &name);
    if (rc < 0)
        return rc;
    if (strcmp(action, "remove") == 0)
        return remove_it(call, user, name);
    if (strcmp(action, "add") == 0)
        return add_it(call, user, name);
    return refuse(call, "invalid_arguments", "action: add, list or remove");
}

int chela_schedule_tool(chela_agent *agent, chela_store *store, struct chela_error *err) {
    struct tool *t = ch_arena_alloc(&agent->arena, sizeof(*t));
    *t = (struct tool){store, agent->id};
    struct chela_tool_opts opts = CHELA_TOOL_OPTS(
        .name = "schedule", .description = description, .schema = schema, .fn = run, .user = t,
        .effect = CHELA_EFFECT_ONCE, .permission = CHELA_PERM_ADMIN, .flags = CHELA_TOOL_CONFIRM);
    return chela_agent_add_tool(agent, &opts, err);
}
