/* query_database.c -- the tool `query_database`: one SELECT on a database that the operator
 * configured.
 *
 * The modules guarantee read-only access (chela/sys/database.h). This file passes arguments
 * as bound parameters, never as query text, and formats rows as a table of limited size.
 * Runs on a worker thread. */
#include "tool/builtin/data/query_database.h"

#include "base/limits.h"
#include "base/mem.h"
#include "io/module.h"
#include "tool/builtin/data/table.h"
#include "tool/call/call.h"
#include "tool/call/call_view.h"
#include "tool/registry/settings.h"
#include "json/writer.h"

#define TEXT_MAX (CH_LIMIT_RESULT_CHARS - 1000) /* characters; the rest is for notes */

struct ask {
    chela_call *call;
    const struct ch_database_setting *database; /* borrowed from the settings */
    struct chela_db_query query;
    bool json;
    struct ch_result_table table;
};

/* --- arguments -------------------------------------------------------------------- */

static int find_database(struct ask *a, const struct ch_tool_settings *s) {
    const char *name = "default";
    CH_BUF_AUTO known = {0};

    if (chela_arg_string_opt(a->call, "database", &name) < 0)
        return CHELA_EINVAL;
    a->database = ch_settings_database(s, ch_sv_str(name));
    if (!a->database && s->ndatabases == 1 && strcmp(name, "default") == 0)
        a->database = &s->databases[0]; /* default: the only database */
    if (a->database)
        return 0;
    for (size_t i = 0; i < s->ndatabases; i++)
        ch_buf_addf(&known, "%s%s", i ? ", " : "", s->databases[i].name);
    chela_result_error(a->call, "not_found", "There is no database \"%.64s\". There are: %s.", name,
                       ch_buf_str(&known));
    return CHELA_EINVAL;
}

/* Numbers keep their text for databases with text parameters. */
static void query_database_read_value(struct ch_arena *arena, const struct ch_json *v,
                                      struct chela_db_value *to) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    struct ch_sv text = ch_json_str(v);

    *to = (struct chela_db_value){.type = CHELA_DB_TEXT};
    switch (v->type) {
    case CH_JSON_NULL:
        to->type = CHELA_DB_NULL;
        return;
    case CH_JSON_TRUE:
    case CH_JSON_FALSE:
        to->type = CHELA_DB_BOOL;
        to->integer = v->type == CH_JSON_TRUE;
        text = to->integer ? CH_SV("true") : CH_SV("false");
        break;
    case CH_JSON_NUMBER:
        to->type = ch_json_as_int(v, &to->integer) ? CHELA_DB_INT : CHELA_DB_NUMBER;
        to->real = ch_json_double(v, 0);
        text = ch_sv(v->s, v->n);
        break;
    case CH_JSON_ARRAY:
    case CH_JSON_OBJECT: /* passed as JSON text */
        ch_jw_value(&w, v);
        text = ch_buf_sv(&json);
        break;
    }
    to->text = ch_arena_str(arena, text);
    to->length = text.n;
}

static int read_params(struct ask *a) {
    const struct ch_json *list = ch_json_get(a->call->args, "params");
    size_t n = 0;

    if (!list || list->type == CH_JSON_NULL)
        return 0;
    if (list->type != CH_JSON_ARRAY)
        return ch_result_invalid(a->call, "The argument \"params\" must be an array of values.");
    if (list->n > CH_LIMIT_SQL_PARAMS)
        return ch_result_invalid(a->call, "There are too many params: 100 at most.");
    struct chela_db_value *values =
        ch_arena_alloc(&a->call->arena, (list->n + 1) * sizeof(*values));
    for (CH_JSON_EACH(e, list)) {
        struct ch_sv s = ch_json_str(e);
        if (s.n && memchr(s.p, '\0', s.n))
            return ch_result_invalid(a->call,
                                     "Values of \"params\" must not contain NUL characters.");
        query_database_read_value(&a->call->arena, e, &values[n++]);
    }
    a->query.params = values;
    a->query.nparams = n;
    return 0;
}

static int query_database_read_arguments(struct ask *a, const struct ch_tool_settings *s) {
    static const char *const names[] = {"query", "sql", NULL};
    const char *format = "table";
    int64_t limit = CH_LIMIT_SQL_ROWS;

    if (chela_arg_string(a->call, ch_arg_name(a->call, names), &a->query.sql) < 0 ||
        chela_arg_int_opt(a->call, "limit", &limit) < 0 ||
        chela_arg_string_opt(a->call, "format", &format) < 0 || find_database(a, s) < 0)
        return CHELA_EINVAL;
    if (ch_sv_trim(ch_sv_str(a->query.sql)).n == 0)
        return ch_result_invalid(a->call, "The query is empty.");
    if (strlen(a->query.sql) > CH_LIMIT_SQL)
        return ch_result_invalid(a->call, "The query is longer than 64 KB.");
    if (limit < 1)
        return ch_result_invalid(a->call, "The argument \"limit\" must be at least 1.");
    if (strcmp(format, "table") != 0 && strcmp(format, "json") != 0)
        return ch_result_invalid(a->call, "The argument \"format\" must be \"table\" or \"json\".");
    a->json = strcmp(format, "json") == 0;
    a->query.max_rows = (size_t)CH_MIN(limit, CH_LIMIT_SQL_ROWS);
    return read_params(a);
}

int ch_query_database_check(chela_call *call, void *user) {
    struct ask a = {.call = call};
    return query_database_read_arguments(&a, user);
}

/* --- the answer ---------------------------------------------------------------------- */

static int query_database_stop(void *user) {
    return chela_call_cancelled(((struct ask *)user)->call);
}

static void columns(const char *const *names, size_t n, void *user) {
    ch_result_table_columns(&((struct ask *)user)->table, names, n);
}

static void query_database_row(const struct chela_db_value *values, size_t n, void *user) {
    ch_result_table_row(&((struct ask *)user)->table, values, n);
}

static const char *query_database_type_of(int code) {
    switch (code) {
    case CHELA_EPERM:
    case CHELA_EAUTH:
        return "permission_denied";
    case CHELA_ENOENT:
        return "not_found";
    case CHELA_ETIMEOUT:
        return "timeout";
    case CHELA_ECANCELED:
        return "cancelled";
    case CHELA_EINVAL:
    case CHELA_ELIMIT:
        return "invalid_arguments";
    case CHELA_ENET:
    case CHELA_EBUSY:
        return "unavailable";
    }
    return "internal"; /* a damaged file or a missing module: a retry cannot help */
}

static void query_database_add_summary(struct ch_buf *out, const struct ask *a, size_t shown,
                                       const struct chela_db_outcome *o) {
    unsigned long long total = o->rows;

    if (o->more)
        ch_buf_addf(out, "(%zu rows shown of more than %llu)\n", shown, total);
    else if (shown < total)
        ch_buf_addf(out, "(%zu of %llu rows shown)\n", shown, total);
    else
        ch_buf_addf(out, "(%llu row%s)\n", total, total == 1 ? "" : "s");
    if (a->table.ncolumns < a->table.nall)
        ch_buf_addf(out, "(%zu of %zu columns shown)\n", a->table.ncolumns, a->table.nall);
}

static void query_database_add_details(const struct ask *a, size_t shown,
                                       const struct chela_db_outcome *o) {
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "database", a->database->name);
    ch_jw_kbegin(&w, "columns", '[');
    for (size_t i = 0; i < a->table.ncolumns; i++)
        ch_jw_raw(&w, a->table.names[i].json);
    ch_jw_end(&w, ']');
    ch_jw_kint(&w, "shown", (int64_t)shown);
    ch_jw_kint(&w, "rows", (int64_t)o->rows);
    ch_jw_kbool(&w, "more", o->more);
    ch_jw_end(&w, '}');
    chela_result_details(a->call, ch_buf_str(&json));
}

static void query_database_answer(const struct ask *a, const struct chela_db_outcome *o) {
    CH_BUF_AUTO text = {0};

    size_t shown = a->json ? ch_result_table_json(&a->table, TEXT_MAX, &text)
                           : ch_result_table_text(&a->table, TEXT_MAX, &text);
    query_database_add_summary(&text, a, shown, o);
    chela_result_text(a->call, ch_buf_str(&text), text.n);
    query_database_add_details(a, shown, o);
}

static int query_database_run(struct ask *a, const struct ch_tool_settings *s) {
    const struct ch_database_setting *d = a->database;
    struct chela_db_outcome outcome = {0};
    struct chela_error err = {0};
    const void *ops;

    if (!d->target)
        return chela_result_error(a->call, "internal",
                                  "The database %s cannot be reached: the environment variable %s "
                                  "is not set.",
                                  d->name, d->unset);
    int rc = ch_module_load(d->kind, "database", s->module_path, &ops, &err);
    if (rc == 0)
        rc = ((const struct chela_database_ops *)ops)->query(d->target, &a->query, &outcome, &err);
    if (rc < 0)
        return chela_result_error(a->call, query_database_type_of(rc), "%s: %s.", d->name,
                                  err.message);
    query_database_answer(a, &outcome);
    return 0;
}

int ch_query_database_run(chela_call *call, void *user) {
    struct ask a = {.call = call};

    if (query_database_read_arguments(&a, user) < 0)
        return CHELA_EINVAL;
    a.query.size = sizeof(a.query);
    a.query.max_count = CH_LIMIT_SQL_COUNT;
    a.query.max_value = CH_LIMIT_SQL_VALUE;
    a.query.timeout_ms = CH_DEFAULT_SQL_MS;
    a.query.user = &a;
    a.query.stop = query_database_stop;
    a.query.columns = columns;
    a.query.row = query_database_row;
    int rc = query_database_run(&a, user);
    ch_result_table_release(&a.table);
    return rc;
}
