/* cmd_schedule.c -- `chela schedule`: runs started by the clock.
 *
 * Schedules of the configuration file can be shown and run; schedules of the store, which
 * `chela serve` executes too, can be added and removed. */
#include <stdlib.h>
#include <string.h>

#include "cli/command/cmd.h"
#include "cli/setup/run_opts.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/setup/setup.h"
#include "cli/term/table.h"
#include "cli/term/term.h"

#define PROMPT_COLUMNS 40
#define SHOWN 5 /* number of times shown by `next` */

struct flags {
    struct ch_setup_flags setup;
    const char *when, *timezone, *session, *missed, *quiet_hours, *model, *base_url, *api_key_env;
    int64_t max_runs, max_turns, count;
    struct ch_real cost_budget, timeout;
    bool fresh, json;
};

#define AT(field) offsetof(struct flags, field)
#define WHERE CH_SETUP_OPTS_CONFIG(struct flags), CH_SETUP_OPTS_STORE(struct flags)
#define JSON_OPT(help) \
    { "json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output", help }
#define WHEN_OPT                                                                                   \
    {"when", 0, CH_OPT_TEXT, AT(when), "TIME", 0, 0, "Schedule",                                   \
     "a cron line (0 9 * * mon-fri), @daily and the like, 'every 30m', or once: 'at "              \
     "2027-03-01T09:00'"},                                                                         \
    {"timezone", 0, CH_OPT_TEXT, AT(timezone), "ZONE", 0, 0, "Schedule",                           \
     "time zone of the times, such as Europe/Berlin or +08:00; default: the machine's"}

static const struct ch_opt list_opts[] = {
    WHERE,
    JSON_OPT("print a JSON array"),
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt add_opts[] = {
    WHEN_OPT,
    {"session", 0, CH_OPT_TEXT, AT(session), "KEY", 0, 0, "Schedule",
     "session of the runs; default: schedule:NAME"},
    {"fresh", 0, CH_OPT_SWITCH, AT(fresh), NULL, 0, 0, "Schedule",
     "give each run a session of its own: the session key with the time appended"},
    {"missed", 0, CH_OPT_CHOICE, AT(missed), "once|skip|all", 0, 0, "Schedule",
     "times that passed while no scheduler was running: run the last one (the default), none, or "
     "all"},
    {"quiet-hours", 0, CH_OPT_TEXT, AT(quiet_hours), "HH:MM-HH:MM", 0, 0, "Schedule",
     "hours in which the schedule is never due"},
    {"max-runs-per-day", 0, CH_OPT_INT, AT(max_runs), "N", 0, 100000, "Limits",
     "runs in a day; further times are skipped"},
    {"cost-budget", 0, CH_OPT_REAL, AT(cost_budget), "USD", 0, 1e6, "Limits",
     "cost of each run, within the agent's limit"},
    {"max-turns", 0, CH_OPT_INT, AT(max_turns), "N", 0, 1e6, "Limits",
     "model calls of each run, within the agent's limit"},
    {"timeout", 0, CH_OPT_REAL, AT(timeout), "SEC", 0, 1e7, "Limits",
     "time of each run in seconds, within the agent's limit"},
    WHERE,
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt plain_opts[] = {
    WHERE,
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt next_opts[] = {
    WHEN_OPT,
    {"count", 0, CH_OPT_INT, AT(count), "N", 1, 1000, "Schedule", "number of times to print (5)"},
    JSON_OPT("print a JSON array"),
    WHERE,
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

static const struct ch_opt run_opts[] = {
    JSON_OPT("print the run_end event of each run, one JSON object per line"),
    WHERE,
    CH_RUN_OPTS_SERVICE(struct flags),
    CH_SETUP_OPTS_TOOLS(struct flags),
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct schedule {
    struct flags flags;
    struct ch_args args;
    struct ch_console console;
    struct ch_setup setup;
    struct ch_setup_schedules own;
    struct ch_draft out;
    struct ch_table table;
    const char *name; /* name to look for */
    char *session;    /* owned: session of the run to report */
    size_t n, failed;
    struct chela_error err;
};

/* --- shared ---------------------------------------------------------------------- */

static int schedule_prepare(struct schedule *s, enum ch_setup_store how, bool runtime) {
    int rc = ch_setup_config(&s->setup, &s->err);
    if (rc == 0)
        rc = ch_setup_schedules(&s->setup, &s->own, &s->err);
    if (rc == 0 && runtime)
        rc = ch_setup_runtime(&s->setup, &s->err);
    return rc < 0 ? rc : ch_setup_store(&s->setup, how, &s->err);
}

static int schedule_with_store(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                               char **argv, bool runtime, int (*body)(struct schedule *s)) {
    struct schedule s = {0};
    int code = ch_cmd_parse(cmd, env, argc, argv, &s.flags, &s.args);

    if (code < 0) {
        ch_setup_begin(&s.setup, env, &s.flags.setup, &s.console);
        s.setup.uses = CH_USES_SCHEDULES | (runtime ? CH_USES_RUN : CH_USES_STORE);
        s.setup.silent = true;
        int rc = schedule_prepare(&s, CH_STORE_WANTED, runtime);
        if (rc == 0)
            rc = body(&s);
        ch_setup_schedules_release(&s.own);
        code = ch_setup_finish(&s.setup, rc, &s.err);
        if (code == CH_EXIT_DONE && s.failed)
            code = CH_EXIT_ERROR;
        free(s.session);
    }
    ch_args_release(&s.args);
    return code;
}

static void schedule_print_draft(struct schedule *s) {
    ch_draft_finish(&s->out);
    ch_console_print(&s->console, s->out.p, s->out.n);
    free(s->out.p);
}

static int schedule_usage(struct schedule *s, const char *text) {
    return ch_problem(&s->err, CHELA_EINVAL, "usage: chela schedule %s", text);
}

/* --- list -------------------------------------------------------------------------- */

static int schedule_list_json(const struct chela_schedule_row *row, void *user) {
    struct schedule *s = user;
    char *json = chela_schedule_row_json(row);
    fprintf(s->out.f, "%s%s", s->n++ ? ",\n " : "", json);
    chela_free(json);
    return 0;
}

static char *time_cell(const struct chela_schedule *s, int64_t ms) {
    if (ms <= 0 || ms == INT64_MAX)
        return ch_dup(ms ? "never" : "-");
    char *text = chela_schedule_time(s, ms), *cell = ch_dup(text);
    chela_free(text);
    return cell;
}

static int schedule_list_row(const struct chela_schedule_row *row, void *user) {
    struct schedule *s = user;
    const struct chela_schedule *is = row->schedule;
    const char *prompt = is->wake_file ? is->wake_file : is->prompt;
    char **cells = ch_table_row(&s->table);
    size_t fit = strcspn(prompt, "\n");
    s->n++;
    cells[0] = ch_dup(is->name);
    cells[1] = ch_dup(!row->of_session ? "file" : *row->of_session ? "session" : "store");
    cells[2] = ch_dup(is->when);
    cells[3] = time_cell(is, row->next);
    cells[4] = time_cell(is, row->last);
    cells[5] = ch_dup(row->waiting ? "waits" : "");
    cells[6] = ch_format("%.*s", (int)ch_term_fit(prompt, fit, PROMPT_COLUMNS), prompt);
    return 0;
}

static int schedule_list(struct schedule *s) {
    static const char *const heads[] = {"NAME", "FROM", "WHEN", "NEXT", "LAST", "", "PROMPT", NULL};
    bool json = s->flags.json;
    s->table = (struct ch_table){.heads = heads};
    ch_draft_init(&s->out);
    if (json)
        fputc('[', s->out.f);
    int rc = chela_schedule_list(s->setup.store, s->own.list,
                                 json ? schedule_list_json : schedule_list_row, s, &s->err);
    if (json)
        fputs("]\n", s->out.f);
    else if (s->n)
        ch_table_print(&s->table, s->out.f);
    ch_table_release(&s->table);
    schedule_print_draft(s);
    if (rc == 0 && s->n == 0 && !json)
        ch_console_note(&s->console, "there are no schedules");
    return rc;
}

static int schedule_run_list(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                             char **argv) {
    return schedule_with_store(cmd, env, argc, argv, false, schedule_list);
}

/* --- add and remove ------------------------------------------------------------------- */

static bool schedule_is_own(const struct schedule *s, const char *name) {
    for (size_t i = 0; i < s->own.n; i++)
        if (strcmp(s->own.items[i].name, name) == 0)
            return true;
    return false;
}

static char *schedule_join_words(const struct ch_args *args, size_t from) {
    char *text = ch_dup("");
    for (size_t i = from; i < args->n; i++) {
        char *longer = ch_format("%s%s%s", text, i > from ? " " : "", args->words[i]);
        free(text);
        text = longer;
    }
    return text;
}

static int schedule_add_it(struct schedule *s, const struct chela_schedule *one) {
    int64_t next = INT64_MAX;
    int rc = chela_schedule_add(s->setup.store, one, NULL, &s->err);
    if (rc == 0)
        rc = chela_schedule_next(one, ch_wall_ms(), &next, &s->err);
    if (rc < 0)
        return rc;
    char *time = chela_schedule_time(one, next);
    ch_console_note(&s->console, "%s: the first time is %s", one->name, time);
    chela_free(time);
    return 0;
}

static int schedule_add(struct schedule *s) {
    const struct flags *f = &s->flags;
    if (s->args.n < 2 || !f->when)
        return schedule_usage(s, "add NAME --when TIME PROMPT...");
    if (schedule_is_own(s, s->args.words[0]))
        return ch_problem(&s->err, CHELA_EINVAL, "%s has a schedule '%s' already",
                          s->setup.config_path, s->args.words[0]);
    char *prompt = schedule_join_words(&s->args, 1);
    struct chela_schedule one =
        CHELA_SCHEDULE(.name = s->args.words[0], .when = f->when, .timezone = f->timezone,
                       .agent = f->setup.agent, .session = f->session, .prompt = prompt,
                       .missed = ch_args_choice(CHELA_CHOICE_MISSED, f->missed),
                       .quiet_hours = f->quiet_hours, .fresh = f->fresh, .max_turns = f->max_turns,
                       .max_runs_per_day = f->max_runs,
                       .cost_budget_usd = f->cost_budget.set ? f->cost_budget.value : 0,
                       .timeout_ms = f->timeout.set ? (int64_t)(f->timeout.value * 1000) : 0);
    int rc = schedule_add_it(s, &one);
    free(prompt);
    return rc;
}

static int run_add(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return schedule_with_store(cmd, env, argc, argv, false, schedule_add);
}

static int remove_them(struct schedule *s) {
    int rc = s->args.n ? CHELA_OK : schedule_usage(s, "remove NAME...");
    for (size_t i = 0; rc == CHELA_OK && i < s->args.n; i++) {
        const char *name = s->args.words[i];
        if (schedule_is_own(s, name))
            return ch_problem(&s->err, CHELA_EINVAL, "schedule '%s' is one of %s: remove it there",
                              name, s->setup.config_path);
        rc = chela_schedule_remove(s->setup.store, name, &s->err);
    }
    return rc;
}

static int schedule_run_remove(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                               char **argv) {
    return schedule_with_store(cmd, env, argc, argv, false, remove_them);
}

/* --- next -------------------------------------------------------------------------------- */

static int show_times(struct schedule *s, const struct chela_schedule *one) {
    int64_t at = ch_wall_ms(), count = s->flags.count ? s->flags.count : SHOWN;
    bool json = s->flags.json;
    ch_draft_init(&s->out);
    fputs(json ? "[" : "", s->out.f);
    int rc = CHELA_OK;
    for (int64_t i = 0; rc == CHELA_OK && i < count; i++) {
        rc = chela_schedule_next(one, at, &at, &s->err);
        if (rc < 0 || at == INT64_MAX)
            break;
        char *text = chela_schedule_time(one, at);
        if (json)
            fprintf(s->out.f, "%s\"%s\"", i ? "," : "", text);
        else
            fprintf(s->out.f, "%s\n", text);
        chela_free(text);
    }
    fputs(json ? "]\n" : "", s->out.f);
    schedule_print_draft(s);
    return rc;
}

static int show_next(const struct chela_schedule_row *row, void *user) {
    struct schedule *s = user;
    if (strcmp(row->schedule->name, s->name) != 0)
        return 0;
    s->n++;
    show_times(s, row->schedule);
    return 1;
}

static int schedule_next(struct schedule *s) {
    if (s->flags.when && s->args.n == 0) {
        struct chela_schedule one = CHELA_SCHEDULE(
            .name = "next", .when = s->flags.when, .timezone = s->flags.timezone, .prompt = "-");
        return show_times(s, &one);
    }
    if (s->args.n != 1 || s->flags.when)
        return schedule_usage(s, "next NAME, or next --when TIME");
    s->name = s->args.words[0];
    int rc = chela_schedule_list(s->setup.store, s->own.list, show_next, s, &s->err);
    return rc == 0 && !s->n
               ? ch_problem(&s->err, CHELA_EINVAL, "there is no schedule '%s'", s->name)
               : rc;
}

static int run_next(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    return schedule_with_store(cmd, env, argc, argv, false, schedule_next);
}

/* --- run ----------------------------------------------------------------------------------- */

static void schedule_on_event(const struct chela_event *ev, void *user) {
    struct schedule *s = user;
    if (ev->type == CHELA_EV_RUN_START) {
        free(s->session);
        s->session = ch_dup(ev->start.session);
    }
    if (ev->type != CHELA_EV_RUN_END)
        return;
    s->failed += ev->end.status == CHELA_STATUS_ERROR;
    if (s->flags.json) {
        char *json = chela_event_json(ev);
        char *line = ch_format("%s\n", json);
        ch_console_print(&s->console, line, strlen(line));
        free(line);
        chela_free(json);
        return;
    }
    char *line = ch_format("%s: %s (%s)\n", s->session ? s->session : "?",
                           chela_status_name(ev->end.status), chela_reason_name(ev->end.reason));
    ch_console_print(&s->console, line, strlen(line));
    free(line);
}

static int run_pass(struct schedule *s) {
    struct flags *f = &s->flags;
    struct chela_agent_opts opt = CHELA_AGENT_OPTS(.model = f->model, .base_url = f->base_url,
                                                   .api_key_env = f->api_key_env);
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(.listen = NULL);
    chela_agent **agents = NULL;
    size_t n = 0;
    if (s->args.n > 1)
        return schedule_usage(s, "run [NAME]");
    int rc = ch_setup_agents(&s->setup, &f->setup, &opt, &agents, &s->err);
    if (rc < 0)
        return rc;
    o.agents = agents;
    o.store = s->setup.store;
    o.schedules = s->own.list;
    rc = chela_schedule_run(s->setup.rt, &o, s->args.n ? s->args.words[0] : NULL, schedule_on_event,
                            s, &n, &s->err);
    free(agents);
    if (rc == CHELA_ENOENT)
        s->err.code = rc = CHELA_EINVAL;
    if (rc == 0 && n == 0)
        ch_console_note(&s->console, "nothing is due");
    return rc;
}

static int schedule_run_command(const struct ch_cmd *cmd, const struct ch_env *env, int argc,
                                char **argv) {
    return schedule_with_store(cmd, env, argc, argv, true, run_pass);
}

/* --- the commands ---------------------------------------------------------------------------- */

const struct ch_cmd ch_cmd_schedule_list = {
    .name = "schedule list",
    .args = "",
    .summary = "list scheduled runs",
    .about = "Lists the schedules of the configuration file and of the store, with the next and "
             "the last due time of each.",
    .opts = list_opts,
    .run = schedule_run_list,
};

const struct ch_cmd ch_cmd_schedule_add = {
    .name = "schedule add",
    .args = "NAME --when TIME PROMPT...",
    .summary = "add a schedule to the store",
    .about = "Adds a schedule to the store. Whenever it is due, 'chela serve' or 'chela schedule "
             "run' starts a run with the prompt. --agent names the agent of the run.",
    .opts = add_opts,
    .run = run_add,
};

const struct ch_cmd ch_cmd_schedule_remove = {
    .name = "schedule remove",
    .args = "NAME...",
    .summary = "remove schedules from the store",
    .about = "Removes schedules that 'chela schedule add' or a model added. To remove a schedule "
             "of the configuration file, edit the file.",
    .opts = plain_opts,
    .run = schedule_run_remove,
};

const struct ch_cmd ch_cmd_schedule_next = {
    .name = "schedule next",
    .args = "NAME",
    .summary = "show when a schedule is due",
    .about = "Prints the next times of a schedule or, with --when, of a time expression.",
    .opts = next_opts,
    .run = run_next,
};

const struct ch_cmd ch_cmd_schedule_run = {
    .name = "schedule run",
    .args = "[NAME]",
    .summary = "run due schedules now, without a gateway",
    .about = "Checks all schedules once, runs those that became due since the last check, and "
             "exits. Use it from the system's cron. With a name, it runs that schedule now, even "
             "if it is not due. A time that a gateway or another 'chela schedule run' has started "
             "is not started again.\n\n"
             "The exit status is 1 if a run failed.",
    .opts = run_opts,
    .run = schedule_run_command,
};
