/* setups.c -- lists the setups of a session's requests (chela/trace.h). */
#include "agent/journal/journal.h"
#include "base/entry.h"
#include "base/redact.h"
#include "chela/trace.h"
#include "trace/parts.h"

struct setup_walk {
    struct ch_trace_parts parts;
    struct ch_arena arena;
    chela_setup_fn *fn;
    void *user;
};

static int setup_on_record(const struct chela_store_record *r, void *user) {
    struct setup_walk *w = user;
    if (r->type == CH_REC_PART)
        ch_trace_parts_add(&w->parts, r);
    return 0;
}

static const char *setup_text(struct setup_walk *w, struct ch_sv text) {
    char *copy = ch_arena_str(&w->arena, text);
    ch_redact(copy);
    return copy;
}

static int pass_sections(struct setup_walk *w, const char *id, const struct ch_trace_part *system) {
    struct ch_sv text = system ? ch_json_get_str(system->v, "text") : CH_SV("");
    int rc = 0;
    for (CH_JSON_EACH(s, system ? ch_json_get(system->v, "sections") : NULL)) {
        size_t at = (size_t)ch_json_int(ch_json_get(s, "at"), 0);
        size_t n = (size_t)ch_json_int(ch_json_get(s, "bytes"), 0);
        if (rc || at > text.n || n > text.n - at)
            continue;
        struct chela_setup_part p = {
            .setup = id,
            .kind = "section",
            .name = setup_text(w, ch_json_get_str(s, "name")),
            .origin = setup_text(w, ch_json_get_str(s, "origin")),
            .text = setup_text(w, ch_sv(text.p + at, n)),
            .bytes = n,
            .tokens = (size_t)ch_json_int(ch_json_get(s, "tokens"), 0),
            .of = (size_t)ch_json_int(ch_json_get(s, "of"), 0)};
        rc = w->fn(&p, w->user);
    }
    return rc;
}

static int pass_tools(struct setup_walk *w, const char *id, const struct ch_json *ids) {
    int rc = 0;
    for (CH_JSON_EACH(e, ids)) {
        const struct ch_trace_part *t = ch_trace_parts_find(&w->parts, ch_json_str(e));
        if (rc || !t)
            continue;
        struct ch_sv about = ch_json_get_str(t->v, "description");
        struct chela_setup_part p = {.setup = id,
                                     .kind = "tool",
                                     .name = setup_text(w, ch_json_get_str(t->v, "name")),
                                     .text = setup_text(w, about),
                                     .bytes = about.n};
        rc = w->fn(&p, w->user);
    }
    return rc;
}

static int pass_parameters(struct setup_walk *w, const char *id, const struct ch_json *v) {
    CH_BUF_AUTO out = {0};
    struct ch_jw j = ch_jw(&out);
    ch_write_redacted(&j, v);
    struct chela_setup_part p = {
        .setup = id, .kind = "parameters", .text = ch_buf_str(&out), .bytes = out.n};
    return w->fn(&p, w->user);
}

int chela_trace_setups(chela_store *store, const char *key, chela_setup_fn *fn, void *user,
                       struct chela_error *err) {
    CH_NEEDS(store, err);
    struct setup_walk w = {.fn = fn, .user = user};
    int rc = chela_store_records(store, key, 1, setup_on_record, &w, err);
    int stop = 0;
    for (size_t i = 0; rc == 0 && !stop && i < w.parts.n; i++) {
        const struct ch_trace_part *p = &w.parts.list[i];
        if (!ch_sv_is(p->kind, "setup"))
            continue;
        ch_arena_clear(&w.arena);
        const char *id = setup_text(&w, p->id);
        stop = pass_parameters(&w, id, ch_json_get(p->v, "request"));
        if (!stop)
            stop = pass_sections(&w, id,
                                 ch_trace_parts_find(&w.parts, ch_json_get_str(p->v, "system")));
        if (!stop)
            stop = pass_tools(&w, id, ch_json_get(p->v, "tools"));
    }
    ch_trace_parts_release(&w.parts);
    ch_arena_release(&w.arena);
    return rc;
}
