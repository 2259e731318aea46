/* outside.c -- see outside.h. */
#include "tool/builtin/outside.h"

#include "base/mem.h"

static bool has_databases(const struct ch_tool_settings *s) {
    return s->ndatabases > 0;
}

static void list_databases(const struct ch_tool_settings *s, struct ch_buf *out) {
    ch_buf_add_str(out, " Databases:");
    for (size_t i = 0; i < s->ndatabases; i++) {
        bool lite = strcmp(s->databases[i].kind, "sqlite") == 0;
        ch_buf_addf(out, "%s %s (%s)", i ? "," : "", s->databases[i].name,
                    lite ? "SQLite, placeholders ?" : "PostgreSQL, placeholders $1");
    }
    ch_buf_addc(out, '.');
}

static const struct ch_outside tools[] = {
    {"query_database", has_databases, list_databases},
};

const struct ch_outside *ch_outside_find(const char *name) {
    for (size_t i = 0; i < CH_LEN(tools); i++)
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return NULL;
}
