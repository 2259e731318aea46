/* last_end.c -- see last_end.h. */
#include "cli/report/last_end.h"

#include <stdlib.h>
#include <string.h>

#include "chela/json.h"

struct last_end {
    struct chela_event event;
    char *run, *error, *ending; /* owned */
    bool found;
};

static int64_t last_end_number(const struct chela_store_record *r, const char *pointer) {
    char *text = chela_json_get(r->data, r->n, pointer, NULL);
    int64_t n = text ? strtoll(text, NULL, 10) : 0;
    chela_free(text);
    return n;
}

static int last_end_choice(const struct chela_store_record *r, enum chela_choice set,
                           const char *pointer, int otherwise) {
    char *name = chela_json_get(r->data, r->n, pointer, NULL);
    int value = otherwise;
    if (name && *name)
        chela_choice_read(set, name, &value, NULL);
    chela_free(name);
    return value;
}

static void last_end_read(struct last_end *l, const struct chela_store_record *r) {
    struct chela_event *ev = &l->event;
    char *cost = chela_json_get(r->data, r->n, "/cost", NULL);
    chela_free(l->run);
    chela_free(l->error);
    chela_free(l->ending);
    l->run = chela_json_get(r->data, r->n, "/run", NULL);
    l->error = chela_json_get(r->data, r->n, "/error", NULL);
    l->ending = chela_json_get(r->data, r->n, "/ending", NULL);
    *ev = (struct chela_event){.type = CHELA_EV_RUN_END, .ts = r->ts};
    ev->run = l->run ? l->run : "";
    ev->seq = (uint64_t)last_end_number(r, "/seq"); /* number of the event after this one */
    ev->seq -= ev->seq > 0;
    ev->end.reason = (enum chela_reason)last_end_choice(r, CHELA_CHOICE_REASON, "/reason",
                                                        CHELA_REASON_NONE);
    ev->end.status = (enum chela_status)last_end_choice(r, CHELA_CHOICE_STATUS, "/status",
                                                        CHELA_STATUS_ERROR);
    if (l->error)
        ev->end.error = (struct chela_str){l->error, strlen(l->error)};
    if (l->ending)
        ev->end.ending = (struct chela_str){l->ending, strlen(l->ending)};
    ev->end.turns = (unsigned)(last_end_number(r, "/turns") + last_end_number(r, "/below/turns"));
    ev->end.tool_calls =
        (unsigned)(last_end_number(r, "/tool_calls") + last_end_number(r, "/below/tool_calls"));
    ev->end.usage.input = last_end_number(r, "/usage/input");
    ev->end.usage.output = last_end_number(r, "/usage/output");
    ev->end.usage.cache_read = last_end_number(r, "/usage/cache_read");
    ev->end.usage.cache_write = last_end_number(r, "/usage/cache_write");
    ev->end.usage.reasoning = last_end_number(r, "/usage/reasoning");
    ev->end.usage.cost_usd = cost ? strtod(cost, NULL) : -1;
    chela_free(cost);
}

/* The status of a run that has ended is a name of enum chela_status; "running" is not. */
static int last_end_on_record(const struct chela_store_record *r, void *user) {
    struct last_end *l = user;
    if (strcmp(chela_store_record_name(r->type), "state") != 0 ||
        last_end_choice(r, CHELA_CHOICE_STATUS, "/status", -1) < 0)
        return 0;
    last_end_read(l, r);
    l->found = true;
    return 0;
}

int ch_last_end_tell(chela_store *store, const char *key, const char *text,
                     void (*on_event)(const struct chela_event *ev, void *user), void *user,
                     struct chela_error *err) {
    struct last_end l = {0};
    int rc = chela_store_records(store, key, 1, last_end_on_record, &l, err);
    if (rc == 0 && l.found) {
        l.event.end.text = (struct chela_str){text, strlen(text)};
        on_event(&l.event, user);
    }
    chela_free(l.run);
    chela_free(l.error);
    chela_free(l.ending);
    return rc < 0 ? rc : l.found;
}
