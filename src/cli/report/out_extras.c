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
    if (ev->type == CHELA_EV_SERVER_TOOL) {
        ch_console_note(c, "[%.*s, run by the vendor] %.*s", STR(ev->server.name),
                        STR(ev->server.arguments));
        return;
    }
    struct chela_str at = ev->made.path.n ? ev->made.path : ev->made.url;
    ch_console_note(c, "[%.*s] %.*s", STR(ev->made.media_type), STR(at));
}

static char *source_member(struct chela_str citations, size_t i, const char *member) {
    char pointer[64];
    snprintf(pointer, sizeof(pointer), "/%zu/%s", i, member);
    return chela_json_get(citations.p, citations.n, pointer, NULL);
}

static bool was_shown(char *const *urls, size_t n, const char *url) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(urls[i], url) == 0)
            return true;
    return false;
}

void ch_out_sources(struct ch_console *c, struct chela_str citations) {
    char *urls[MOST_SOURCES], *where;
    size_t shown = 0;
    for (size_t i = 0; citations.n > 0 && shown < MOST_SOURCES; i++) {
        char *title = source_member(citations, i, "title");
        if (!(where = source_member(citations, i, "url")))
            where = source_member(citations, i, "file");
        if (!where && !title)
            break;
        if (!where) {
            where = title;
            title = NULL;
        }
        if (was_shown(urls, shown, where)) {
            chela_free(where);
        } else {
            ch_console_note(c, "[source] %s%s%s", title ? title : "", title ? " " : "", where);
            urls[shown++] = where;
        }
        chela_free(title);
    }
    while (shown > 0)
        chela_free(urls[--shown]);
}
