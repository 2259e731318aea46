/* outside.c -- see outside.h. */
#include "tool/builtin/outside.h"

#include "base/mem.h"
#include "tool/builtin/web/web_fetch.h"
#include "tool/builtin/web/web_search.h"

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

static bool has_web(const struct ch_tool_settings *s) {
    return s->transport && !(s->allow_hosts && !*s->allow_hosts);
}

static void list_hosts(const struct ch_tool_settings *s, struct ch_buf *out) {
    if (s->allow_hosts)
        ch_buf_addf(out, " Only these hosts can be reached: %s.", s->allow_hosts);
}

/* SearXNG has no default instance, so it needs a URL. */
static bool has_search(const struct ch_tool_settings *s) {
    return s->transport && s->search_provider &&
           (s->search_url || strcmp(s->search_provider, "searxng") != 0);
}

static bool has_mail(const struct ch_tool_settings *s) {
    return s->smtp && s->mail_from;
}

static void describe_mail(const struct ch_tool_settings *s, struct ch_buf *out) {
    ch_buf_addf(out, " The sender is %s.", s->mail_from);
    if (s->mail_allow_to)
        ch_buf_addf(out, " Possible recipients: %s.", s->mail_allow_to);
}

static bool has_memory(const struct ch_tool_settings *s) {
    return s->memory;
}

static bool has_wait(const struct ch_tool_settings *s) {
    return s->wait;
}

static const struct ch_outside tools[] = {
    {"query_database", has_databases, list_databases, NULL},
    {"web_fetch", has_web, list_hosts, ch_web_fetch_destination},
    {"web_search", has_search, NULL, ch_web_search_destination},
    {"send_email", has_mail, describe_mail, NULL},
    {"memory_search", has_memory, NULL, NULL},
    {"memory_write", has_memory, NULL, NULL},
    {"wait_until", has_wait, NULL, NULL},
};

const struct ch_outside *ch_outside_find(const char *name) {
    for (size_t i = 0; i < CH_LEN(tools); i++)
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return NULL;
}
