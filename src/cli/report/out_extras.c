/* out_extras.c -- see out_extras.h. */
#include "cli/report/out_extras.h"

#include <stdio.h>
#include <string.h>

#include "chela/json.h"
#include "chela/session.h"

#define STR(s) (int)(s).n, (s).p /* for "%.*s" */
#define MOST_SOURCES 20

void ch_out_extra(struct ch_console *c, const struct chela_event *ev) {
    if (ev->type == CHELA_EV_BUDGET) {
        ch_console_note(c, "[budget] %s%s%.*s is used up: %.4g of %.4g %s", ev->budget.name,
                        ev->budget.of.n ? " of " : "", STR(ev->budget.of), ev->budget.used,
                        ev->budget.limit, ev->budget.tokens ? "tokens" : "USD");
        return;
    }
    if (ev->type == CHELA_EV_EPOCH) {
        ch_console_verbose(c, "[epoch %u] %s", ev->epoch.n, ev->epoch.reason);
        return;
    }
    if (ev->type == CHELA_EV_SERVER_TOOL) {
        ch_console_note(c, "[%.*s, run by the vendor] %.*s", STR(ev->server.name),
                        STR(ev->server.arguments));
        return;
    }
    struct chela_str at = ev->made.path.n ? ev->made.path : ev->made.url;
    ch_console_note(c, "[%.*s] %.*s", STR(ev->made.media_type), STR(at));
}

struct sources {
    struct ch_console *console;
    char *urls[MOST_SOURCES]; /* owned: shown so far */
    size_t n;
};

static bool was_shown(const struct sources *s, const char *url) {
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->urls[i], url) == 0)
            return true;
    return false;
}

/* 1: no more sources are shown. */
static int show_source(const char *source, size_t n, void *user) {
    struct sources *s = user;
    char *title = chela_json_get(source, n, "/title", NULL);
    char *where = chela_json_get(source, n, "/url", NULL);
    if (!where)
        where = chela_json_get(source, n, "/file", NULL);
    if (!where) {
        where = title;
        title = NULL;
    }
    if (where && !was_shown(s, where)) {
        ch_console_note(s->console, "[source] %s%s%s", title ? title : "", title ? " " : "", where);
        s->urls[s->n++] = where;
    } else {
        chela_free(where);
    }
    chela_free(title);
    return s->n == MOST_SOURCES;
}

void ch_out_sources(struct ch_console *c, struct chela_str citations) {
    struct sources s = {.console = c};
    if (citations.n > 0)
        chela_json_each(citations.p, citations.n, show_source, &s);
    while (s.n > 0)
        chela_free(s.urls[--s.n]);
}
