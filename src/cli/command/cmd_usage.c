/* cmd_usage.c -- `chela usage`: sums the tokens of all sessions.
 *
 * Read from the journals: every model call is stored with its usage and the usage of a
 * preceding embedding call. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "chela/json.h"
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
    {"by", 0, CH_OPT_CHOICE, AT(by), "day|model|agent", 0, 0, "Choice", "how to group the sums "
                                                                        "(day)"},
    {"days", 0, CH_OPT_REAL, AT(days), "N", 0, 100000, "Choice", "only the last N days"},
    {"json", 0, CH_OPT_SWITCH, AT(json), NULL, 0, 0, "Output", "print a JSON array"},
    CH_SETUP_OPTS_OUTPUT(struct flags),
    {.name = NULL},
};

struct sum {
    char *name; /* owned */
    int64_t calls, input, cached, output;
};

struct usage {
    struct flags flags;
    struct ch_setup setup;
    struct sum *sums; /* owned */
    size_t n;
    char **keys, **agents; /* owned: keys and agents of all sessions */
    size_t nsessions;
    const char *agent; /* agent of the current session */
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

static int64_t usage_number(const struct chela_store_record *r, const char *pointer) {
    char *text = chela_json_get(r->data, r->n, pointer, NULL);
    int64_t n = text ? strtoll(text, NULL, 10) : 0;
    chela_free(text);
    return n;
}

static struct sum *usage_place(struct usage *u, const struct chela_store_record *r,
                               const char *model) {
    const char *by = u->flags.by ? u->flags.by : "day";
    char day[16] = "?";
    time_t t = (time_t)(r->ts / 1000);
    struct tm tm;
    if (strcmp(by, "agent") == 0)
        return sum_of(u, u->agent);
    if (strcmp(by, "day") == 0) {
        if (localtime_r(&t, &tm))
            strftime(day, sizeof(day), "%Y-%m-%d", &tm);
        return sum_of(u, day);
    }
    return sum_of(u, model);
}

static void add_embeddings(struct usage *u, const struct chela_store_record *r) {
    char *model = chela_json_get(r->data, r->n, "/embedding/model", NULL);
    if (model && *model) {
        struct sum *s = usage_place(u, r, model);
        s->calls += usage_number(r, "/embedding/calls");
        s->input += usage_number(r, "/embedding/input");
    }
    chela_free(model);
}

/* Messages that no model wrote, such as calls of a plan's steps, have no usage. */
static int usage_add_record(const struct chela_store_record *r, void *user) {
    struct usage *u = user;
    const char *type = chela_store_record_name(r->type);
    bool role = strcmp(type, "role") == 0;
    if (r->ts < u->since || (!role && strcmp(type, "message") != 0))
        return 0;
    char *usage = chela_json_get(r->data, r->n, "/usage", NULL);
    char *model = chela_json_get(r->data, r->n, role ? "/model" : "/message/model", NULL);
    if (usage && model && *model) {
        struct sum *s = usage_place(u, r, model);
        s->calls++;
        s->input += usage_number(r, "/usage/input");
        s->cached += usage_number(r, "/usage/cache_read");
        s->output += usage_number(r, "/usage/output");
    }
    chela_free(usage);
    chela_free(model);
    add_embeddings(u, r);
    return 0;
}

static int usage_note_session(const struct chela_store_session *row, void *user) {
    struct usage *u = user;
    if (row->updated < u->since)
        return 0;
    u->keys = ch_must(realloc(u->keys, (u->nsessions + 1) * sizeof(*u->keys)));
    u->agents = ch_must(realloc(u->agents, (u->nsessions + 1) * sizeof(*u->agents)));
    u->keys[u->nsessions] = ch_dup(row->key);
    u->agents[u->nsessions++] = ch_dup(row->agent);
    return 0;
}

static int usage_read_all(struct usage *u) {
    chela_store *store = u->setup.store;
    struct chela_store_filter filter = CHELA_STORE_FILTER(.prefix = NULL);
    int rc = chela_store_list(store, &filter, usage_note_session, u, &u->err);
    for (size_t i = 0; rc == 0 && i < u->nsessions; i++) {
        u->agent = u->agents[i];
        rc = chela_store_records(store, u->keys[i], 1, usage_add_record, u, &u->err);
    }
    return rc;
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
        fprintf(out, "%s{\"%s\":\"", i ? ",\n " : "", u->flags.by ? u->flags.by : "day");
        for (const char *p = s->name; *p; p++)
            fprintf(out, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
        fprintf(out,
                "\",\"calls\":%" PRId64 ",\"input\":%" PRId64 ",\"cache_read\":%" PRId64
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

static void usage_release(struct usage *u) {
    for (size_t i = 0; i < u->n; i++)
        free(u->sums[i].name);
    for (size_t i = 0; i < u->nsessions; i++) {
        free(u->keys[i]);
        free(u->agents[i]);
    }
    free(u->sums);
    free(u->keys);
    free(u->agents);
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
            rc = ch_setup_store(&u.setup, CH_STORE_READ, &u.err);
        if (rc == 0)
            rc = usage_read_all(&u);
        if (rc == 0)
            usage_show(&u);
        code = ch_setup_finish(&u.setup, rc, &u.err);
        usage_release(&u);
    }
    ch_args_release(&args);
    return code;
}

const struct ch_cmd ch_cmd_usage = {
    .name = "usage",
    .args = "",
    .summary = "sum the tokens of sessions",
    .about = "Sums tokens by day, model or agent, with a bar for each sum. Dashes in the bar "
             "stand for cached tokens. Failed calls are not counted.",
    .opts = opts,
    .run = usage_run,
};
