/* cmd_usage.c -- `chela usage`: sums the tokens of all sessions, lists the use of budgets,
 * or shows how the calls of one session grow. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chela/gateway.h"
#include "chela/trace.h"
#include "cli/command/cmd.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"
#include "cli/setup/setup.h"
#include "cli/term/pager.h"
#include "cli/term/table.h"

#define BAR 30 /* columns of the longest bar */

struct flags {
    struct ch_setup_flags setup;
    const char *by;
    struct ch_real days;
    bool json;
};

#define AT(field) offsetof(struct flags, field)

static const struct ch_opt opts[] = {
    CH_SETUP_OPTS_CONFIG(struct flags),
    CH_SETUP_OPTS_STORE(struct flags),
    {"by", 0, CH_OPT_CHOICE, AT(by), "day|model|agent|budget", 0, 0, "Choice",
     "how to group the sums (day); budget: what was spent of the gateway's budgets today"},
    {"days", 0, CH_OPT_REAL, AT(days), "N", 0, 100000, "Choice", "only the last N days"},
    {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output", "print a JSON array"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct sum {
    char *name; /* owned */
    int64_t calls, input, cached, output;
};

struct budgets {
    struct chela_budget_use *list; /* owned, and its texts */
    size_t n;
};

struct turn { /* a model call of a session */
    unsigned turn, session_turn; /* of the run, of the session; session_turn 0: of a role */
    int64_t ts, input, cached, output, growth; /* growth: input tokens beyond those of the
                                                * previous call */
    double cost; /* negative: unknown */
    char *model; /* owned: or the role that asked */
};

struct turns {
    struct turn *list; /* owned */
    size_t n;
    int64_t before; /* input of the last call */
};

struct usage {
    struct flags flags;
    struct ch_setup setup;
    struct sum *sums; /* owned */
    size_t n;
    int64_t since;
    struct chela_error err;
};

/* --- reading */

static struct sum *sum_of(struct usage *u, const char *name) {
    for (size_t i = 0; i < u->n; i++)
        if (strcmp(u->sums[i].name, name) == 0)
            return &u->sums[i];
    u->sums = ch_must(realloc(u->sums, (u->n + 1) * sizeof(*u->sums)));
    u->sums[u->n] = (struct sum){.name = ch_dup(name)};
    return &u->sums[u->n++];
}

static struct sum *usage_place(struct usage *u, const struct chela_model_call *call) {
    const char *by = u->flags.by ? u->flags.by : "day";
    char day[40] = "?";
    time_t t = (time_t)(call->ts / 1000);
    struct tm tm;
    if (strcmp(by, "agent") == 0)
        return sum_of(u, call->agent);
    if (strcmp(by, "day") == 0) {
        if (localtime_r(&t, &tm)) /* strftime reads the time zone's file each time */
            snprintf(day, sizeof(day), "%04d-%02d-%02d", tm.tm_year + 1900, tm.tm_mon + 1,
                     tm.tm_mday);
        return sum_of(u, day);
    }
    return sum_of(u, call->model);
}

static int usage_add_call(const struct chela_model_call *call, void *user) {
    if (!call->model)
        return 0;
    struct sum *s = usage_place(user, call);
    s->calls += call->calls;
    s->input += call->input;
    s->cached += call->cache_read;
    s->output += call->output;
    return 0;
}

/* --- showing */

static int usage_by_name(const void *a, const void *b) {
    const struct sum *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static void usage_print_json(const struct usage *u, FILE *out) {
    fputc('[', out);
    for (size_t i = 0; i < u->n; i++) {
        const struct sum *s = &u->sums[i];
        fprintf(out, "%s{\"%s\":", i ? ",\n " : "", u->flags.by ? u->flags.by : "day");
        ch_draft_quote(out, s->name);
        fprintf(out,
                ",\"calls\":%" PRId64 ",\"input\":%" PRId64 ",\"cache_read\":%" PRId64
                ",\"output\":%" PRId64 "}",
                s->calls, s->input, s->cached, s->output);
    }
    fputs("]\n", out);
}

/* The bar shows all tokens; the cached part is lighter. */
static char *usage_bar(const struct sum *s, int64_t most) {
    struct ch_draft d;
    int64_t all = s->input + s->output;
    int n = most ? (int)((all * BAR + most - 1) / most) : 0;
    int light = all ? (int)(s->cached * n / all) : 0;
    ch_draft_init(&d);
    for (int i = 0; i < n; i++)
        fputc(i < n - light ? '#' : '-', d.f);
    ch_draft_finish(&d);
    return d.p;
}

static void usage_print_table(const struct usage *u, FILE *out) {
    const char *heads[] = {"DAY", "CALLS", "INPUT", "CACHED", "OUTPUT", "", NULL};
    if (u->flags.by && strcmp(u->flags.by, "day") != 0)
        heads[0] = strcmp(u->flags.by, "model") == 0 ? "MODEL" : "AGENT";
    struct ch_table t = {.heads = heads};
    int64_t most = 0;
    for (size_t i = 0; i < u->n; i++)
        if (u->sums[i].input + u->sums[i].output > most)
            most = u->sums[i].input + u->sums[i].output;
    for (size_t i = 0; i < u->n; i++) {
        const struct sum *s = &u->sums[i];
        char **row = ch_table_row(&t);
        row[0] = ch_dup(s->name);
        row[1] = ch_format("%" PRId64, s->calls);
        row[2] = ch_format("%" PRId64, s->input);
        row[3] = ch_format("%" PRId64, s->cached);
        row[4] = ch_format("%" PRId64, s->output);
        row[5] = usage_bar(s, most);
    }
    ch_table_print(&t, out);
    ch_table_release(&t);
}

static void usage_show(struct usage *u) {
    struct ch_draft d;
    ch_draft_init(&d);
    if (u->n)
        qsort(u->sums, u->n, sizeof(*u->sums), usage_by_name);
    if (u->flags.json)
        usage_print_json(u, d.f);
    else if (u->n)
        usage_print_table(u, d.f);
    else
        ch_console_note(u->setup.console, "no model was called yet");
    ch_draft_finish(&d);
    ch_console_page(u->setup.console, d.p, d.n);
    free(d.p);
}

/* --- budgets */

static int usage_add_budget(const struct chela_budget_use *use, void *user) {
    struct budgets *b = user;
    b->list = ch_must(realloc(b->list, (b->n + 1) * sizeof(*b->list)));
    b->list[b->n] = *use;
    b->list[b->n].name = ch_dup(use->name);
    b->list[b->n++].of = ch_dup(use->of);
    return 0;
}

static void budgets_print_json(const struct budgets *b, FILE *out) {
    fputc('[', out);
    for (size_t i = 0; i < b->n; i++) {
        const struct chela_budget_use *use = &b->list[i];
        fprintf(out, "%s{\"budget\":", i ? ",\n " : "");
        ch_draft_quote(out, use->name);
        fputs(",\"of\":", out);
        ch_draft_quote(out, use->of);
        fprintf(out, ",\"cost_usd\":%.6f,\"tokens\":%" PRId64, use->cost_usd, use->tokens);
        if (use->limit_usd > 0)
            fprintf(out, ",\"limit_usd\":%.6f", use->limit_usd);
        if (use->limit_tokens > 0)
            fprintf(out, ",\"limit_tokens\":%" PRId64, use->limit_tokens);
        fprintf(out, ",\"resets\":%" PRId64 "}", use->resets);
    }
    fputs("]\n", out);
}

static char *budgets_share(const struct chela_budget_use *use) {
    double cost = use->limit_usd > 0 ? use->cost_usd / use->limit_usd : 0;
    double tokens =
        use->limit_tokens > 0 ? (double)use->tokens / (double)use->limit_tokens : 0;
    return ch_format("%.0f %%", 100 * (cost > tokens ? cost : tokens));
}

static void budgets_print_table(const struct budgets *b, FILE *out) {
    const char *heads[] = {"BUDGET", "OF", "COST", "OF USD", "TOKENS", "OF TOKENS", "USED", NULL};
    struct ch_table t = {.heads = heads};
    for (size_t i = 0; i < b->n; i++) {
        const struct chela_budget_use *use = &b->list[i];
        char **row = ch_table_row(&t);
        row[0] = ch_dup(use->name);
        row[1] = ch_dup(use->of);
        row[2] = ch_format("%.4f", use->cost_usd);
        row[3] = use->limit_usd > 0 ? ch_format("%.4g", use->limit_usd) : NULL;
        row[4] = ch_format("%" PRId64, use->tokens);
        row[5] = use->limit_tokens > 0 ? ch_format("%" PRId64, use->limit_tokens) : NULL;
        row[6] = budgets_share(use);
    }
    ch_table_print(&t, out);
    ch_table_release(&t);
}

/* The limits of the configuration file; the store has those of the last use. */
static int budgets_set_limits(struct usage *u, struct budgets *b) {
    struct chela_gateway_opts o = CHELA_GATEWAY_OPTS(.budgets = NULL);
    int rc = u->setup.config ? chela_config_gateway(u->setup.config, &o, NULL, NULL, &u->err) : 0;
    for (size_t i = 0; rc == 0 && i < b->n; i++)
        for (size_t k = 0; o.budgets && o.budgets[k]; k++)
            if (strcmp(b->list[i].name, o.budgets[k]->name) == 0) {
                b->list[i].limit_usd = o.budgets[k]->cost_usd;
                b->list[i].limit_tokens = o.budgets[k]->tokens;
            }
    return rc;
}

static int budgets_show(struct usage *u) {
    struct ch_draft d;
    struct budgets b = {0};
    int rc = chela_store_budgets(u->setup.store, ch_wall_ms(), usage_add_budget, &b, &u->err);
    if (rc == 0)
        rc = budgets_set_limits(u, &b);
    ch_draft_init(&d);
    if (rc == 0 && u->flags.json)
        budgets_print_json(&b, d.f);
    else if (rc == 0 && b.n)
        budgets_print_table(&b, d.f);
    else if (rc == 0)
        ch_console_note(u->setup.console, "no budget was used today");
    ch_draft_finish(&d);
    ch_console_page(u->setup.console, d.p, d.n);
    free(d.p);
    for (size_t i = 0; i < b.n; i++) {
        free((char *)b.list[i].name);
        free((char *)b.list[i].of);
    }
    free(b.list);
    return rc;
}

/* --- the calls of one session */

static int turns_add(const struct chela_span *s, void *user) {
    struct turns *t = user;
    if (s->kind != CHELA_SPAN_MODEL || s->failed || s->depth)
        return 0;
    t->list = ch_must(realloc(t->list, (t->n + 1) * sizeof(*t->list)));
    t->list[t->n++] = (struct turn){.turn = s->turn,
                                    .session_turn = s->session_turn,
                                    .ts = s->end,
                                    .input = s->input,
                                    .cached = s->cache_read,
                                    .output = s->output,
                                    .growth = s->role ? 0 : s->input - t->before,
                                    .cost = s->cost,
                                    .model = ch_dup(s->role ? s->role : s->model ? s->model : "?")};
    if (!s->role)
        t->before = s->input;
    return 0;
}

static void turns_print_json(const struct turns *t, FILE *out) {
    fputc('[', out);
    for (size_t i = 0; i < t->n; i++) {
        const struct turn *c = &t->list[i];
        fprintf(out,
                "%s{\"turn\":%u,\"session_turn\":%u,\"ts\":%" PRId64 ",\"input\":%" PRId64
                ",\"growth\":%" PRId64 ",\"cache_read\":%" PRId64 ",\"output\":%" PRId64
                ",\"model\":",
                i ? ",\n " : "", c->turn, c->session_turn, c->ts, c->input,
                c->growth, c->cached, c->output);
        ch_draft_quote(out, c->model);
        if (c->cost >= 0)
            fprintf(out, ",\"cost_usd\":%.6f", c->cost);
        fputc('}', out);
    }
    fputs("]\n", out);
}

static void turns_print_table(const struct turns *t, FILE *out) {
    const char *heads[] = {"TURN", "INPUT", "GROWTH", "CACHED", "OUTPUT", "COST", "MODEL", "",
                           NULL};
    struct ch_table table = {.heads = heads};
    int64_t most = 0;
    for (size_t i = 0; i < t->n; i++)
        if (t->list[i].input + t->list[i].output > most)
            most = t->list[i].input + t->list[i].output;
    for (size_t i = 0; i < t->n; i++) {
        const struct turn *c = &t->list[i];
        struct sum bar = {.input = c->input, .cached = c->cached, .output = c->output};
        char **row = ch_table_row(&table);
        row[0] = c->session_turn ? ch_format("%u", c->session_turn) : NULL;
        row[1] = ch_format("%" PRId64, c->input);
        row[2] = ch_format("%+" PRId64, c->growth);
        row[3] = ch_format("%" PRId64, c->cached);
        row[4] = ch_format("%" PRId64, c->output);
        row[5] = c->cost >= 0 ? ch_format("%.4f", c->cost) : NULL;
        row[6] = ch_dup(c->model);
        row[7] = usage_bar(&bar, most);
    }
    ch_table_print(&table, out);
    ch_table_release(&table);
}

static int turns_show(struct usage *u, const char *key) {
    struct ch_draft d;
    struct turns t = {0};
    int rc = chela_trace_spans(u->setup.store, key, NULL, turns_add, &t, &u->err);
    ch_draft_init(&d);
    if (rc == 0 && u->flags.json)
        turns_print_json(&t, d.f);
    else if (rc == 0)
        turns_print_table(&t, d.f);
    ch_draft_finish(&d);
    ch_console_page(u->setup.console, d.p, d.n);
    free(d.p);
    for (size_t i = 0; i < t.n; i++)
        free(t.list[i].model);
    free(t.list);
    return rc;
}

static int usage_sum_up(struct usage *u) {
    int rc = chela_trace_calls(u->setup.store, u->since, 0, usage_add_call, u, &u->err);
    if (rc == 0)
        usage_show(u);
    return rc;
}

static void usage_release(struct usage *u) {
    for (size_t i = 0; i < u->n; i++)
        free(u->sums[i].name);
    free(u->sums);
}

static int usage_run(const struct ch_cmd *cmd, const struct ch_env *env, int argc, char **argv) {
    struct usage u = {0};
    struct ch_args args;
    struct ch_console console;
    int code = ch_cmd_parse(cmd, env, argc, argv, &u.flags, &args);
    if (code < 0) {
        ch_setup_begin(&u.setup, env, &u.flags.setup, &console);
        u.setup.uses = CH_USES_STORE;
        if (u.flags.days.set)
            u.since = ch_wall_ms() - (int64_t)(u.flags.days.value * 86400e3);
        int rc = ch_setup_config(&u.setup, &u.err);
        if (rc == 0)
            rc = ch_setup_store(&u.setup, CH_STORE_READ_OR_NEW, &u.err);
        bool budgets = u.flags.by && strcmp(u.flags.by, "budget") == 0;
        if (rc == 0 && args.n > 1)
            rc = ch_problem(&u.err, CHELA_EINVAL, "usage: chela usage [flags] [SESSION]");
        if (rc == 0)
            rc = args.n    ? turns_show(&u, args.words[0])
                 : budgets ? budgets_show(&u)
                           : usage_sum_up(&u);
        code = ch_setup_finish(&u.setup, rc, &u.err);
        usage_release(&u);
    }
    ch_args_release(&args);
    return code;
}

const struct ch_cmd ch_cmd_usage = {
    .name = "usage",
    .args = "[SESSION]",
    .summary = "sum the tokens of sessions",
    .about = "Sums tokens by day, model or agent, with a bar for each sum. Dashes in the bar "
             "stand for cached tokens. A call is counted once, also if the session was forked. "
             "Failed calls are not counted. With SESSION, lists the model calls of the session: "
             "tokens, cost, and by how many tokens the input grew. With --by budget, lists what "
             "all gateways of the store spent of their budgets today (UTC).",
    .opts = opts,
    .run = usage_run,
};
