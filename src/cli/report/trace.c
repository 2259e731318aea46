/* trace.c -- see trace.h: builds time spans from records. */
#include "cli/report/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "chela/json.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"
#include "cli/support/problem.h"

const char *ch_span_name(enum ch_span_kind kind) {
    static const char *const names[] = {"input", "model", "tool", "wait", "rewrite", "end"};
    return names[kind];
}

const char *ch_span_took(int64_t ms, char out[32]) {
    if (ms < 1000)
        snprintf(out, 32, "%" PRId64 " ms", ms);
    else if (ms < 60000)
        snprintf(out, 32, "%.1f s", (double)ms / 1000);
    else
        snprintf(out, 32, "%" PRId64 " min %" PRId64 " s", ms / 60000, ms / 1000 % 60);
    return out;
}

/* A call without a result so far. */
struct pending {
    char *id, *arguments; /* owned */
    char *child;          /* owned: session of the called agent; NULL */
    int64_t start;
};

struct reading {
    struct ch_trace *trace;
    const struct chela_store_record *r;
    int64_t last;          /* time of the preceding record */
    struct pending *calls; /* owned: calls of the last reply */
    size_t ncalls;
};

/* --- members of a record */

static char *trace_text(const struct reading *rd, const char *pointer) {
    char *got = chela_json_get(rd->r->data, rd->r->n, pointer, NULL);
    char *copy = got ? ch_dup(got) : NULL;
    chela_free(got);
    if (copy)
        chela_redact(copy);
    return copy;
}

static int64_t trace_number(const struct reading *rd, const char *pointer) {
    char *got = trace_text(rd, pointer);
    int64_t n = got ? strtoll(got, NULL, 10) : 0;
    free(got);
    return n;
}

static bool trace_is(const struct reading *rd, const char *pointer, const char *value) {
    char *got = trace_text(rd, pointer);
    bool same = got && strcmp(got, value) == 0;
    free(got);
    return same;
}

static char *trace_block(const struct reading *rd, size_t i, const char *member) {
    char pointer[64];
    snprintf(pointer, sizeof(pointer), "/message/content/%zu/%s", i, member);
    return trace_text(rd, pointer);
}

/* NULL if empty. */
static char *trace_finished(struct ch_draft *d) {
    ch_draft_finish(d);
    if (d->n)
        return d->p;
    free(d->p);
    return NULL;
}

/* Join all blocks of a type. NULL: none. */
static char *trace_joined(const struct reading *rd, const char *wanted) {
    struct ch_draft d;
    char *type;
    ch_draft_init(&d);
    for (size_t i = 0; (type = trace_block(rd, i, "type")); i++) {
        char *part = strcmp(type, wanted) == 0 ? trace_block(rd, i, "text") : NULL;
        if (part)
            fprintf(d.f, "%s%s", ftell(d.f) > 0 ? "\n" : "", part);
        free(part);
        free(type);
    }
    return trace_finished(&d);
}

/* --- spans */

static struct ch_span *trace_add(struct reading *rd, enum ch_span_kind kind, int64_t start) {
    struct ch_trace *t = rd->trace;
    t->spans = ch_must(realloc(t->spans, (t->n + 1) * sizeof(*t->spans)));
    struct ch_span *s = &t->spans[t->n++];
    char *run = trace_text(rd, "/run");
    *s = (struct ch_span){.kind = kind,
                          .run = run ? run : ch_dup(""),
                          .turn = (unsigned)trace_number(rd, "/turn"),
                          .start = start < rd->r->ts ? start : rd->r->ts,
                          .end = rd->r->ts,
                          .cost = -1};
    return s;
}

static void forget_calls(struct reading *rd) {
    for (size_t i = 0; i < rd->ncalls; i++) {
        free(rd->calls[i].id);
        free(rd->calls[i].arguments);
        free(rd->calls[i].child);
    }
    rd->ncalls = 0;
}

static void trace_note_call(struct reading *rd, size_t i) {
    rd->calls = ch_must(realloc(rd->calls, (rd->ncalls + 1) * sizeof(*rd->calls)));
    rd->calls[rd->ncalls++] = (struct pending){.id = trace_block(rd, i, "id"),
                                               .arguments = trace_block(rd, i, "arguments"),
                                               .start = rd->r->ts};
}

static struct pending *trace_find_call(struct reading *rd, const char *id) {
    for (size_t i = 0; id && i < rd->ncalls; i++)
        if (rd->calls[i].id && strcmp(rd->calls[i].id, id) == 0)
            return &rd->calls[i];
    return NULL;
}

/* The text of a reply, then its calls. */
static char *reply_text(struct reading *rd) {
    struct ch_draft d;
    char *words = trace_joined(rd, "text"), *type;
    ch_draft_init(&d);
    if (words)
        fprintf(d.f, "%s\n", words);
    for (size_t i = 0; (type = trace_block(rd, i, "type")); i++) {
        char *name = strcmp(type, "tool_call") == 0 ? trace_block(rd, i, "name") : NULL;
        if (name) {
            trace_note_call(rd, i);
            const char *arguments = rd->calls[rd->ncalls - 1].arguments;
            fprintf(d.f, "-> %s %s\n", name, arguments ? arguments : "");
        }
        free(name);
        free(type);
    }
    ch_draft_finish(&d);
    free(words);
    return d.p;
}

static void trace_add_usage(const struct reading *rd, struct ch_span *s) {
    s->input = trace_number(rd, "/usage/input");
    s->output = trace_number(rd, "/usage/output");
    s->cached = trace_number(rd, "/usage/cache_read");
}

static void trace_add_message(struct reading *rd) {
    char *of = trace_text(rd, "/of");
    if (of) { /* delivers queued input whose own record was already shown */
        free(of);
        return;
    }
    if (!trace_is(rd, "/message/role", "assistant")) {
        struct ch_span *s = trace_add(rd, CH_SPAN_INPUT, rd->r->ts);
        s->title = trace_text(rd, "/message/role");
        s->got = trace_joined(rd, "text");
        return;
    }
    struct ch_span *s = trace_add(rd, CH_SPAN_MODEL, rd->last);
    char *model = trace_text(rd, "/message/model"), *stop = trace_text(rd, "/stop");
    const char *who = trace_is(rd, "/person", "true") ? "a person" : model ? model : "runtime";
    s->title = ch_format("%s%s%s", who, stop ? ", " : "", stop ? stop : "");
    s->sent = trace_joined(rd, "reasoning");
    forget_calls(rd);
    s->got = reply_text(rd);
    trace_add_usage(rd, s);
    free(model);
    free(stop);
}

static void add_role(struct reading *rd) {
    struct ch_span *s = trace_add(rd, CH_SPAN_MODEL, rd->last);
    char *role = trace_text(rd, "/role"), *model = trace_text(rd, "/model");
    s->title = ch_format("%s: %s", role ? role : "role", model ? model : "?");
    s->got = trace_text(rd, "/answer");
    trace_add_usage(rd, s);
    free(role);
    free(model);
}

/* A call with an effect has a separate start record. */
static void note_start(struct reading *rd) {
    char *id = trace_text(rd, "/id");
    struct pending *call = trace_find_call(rd, id);
    if (call) {
        call->start = rd->r->ts;
        free(call->child);
        call->child = trace_text(rd, "/child");
    }
    free(id);
}

static void trace_add_result(struct reading *rd) {
    char *id = trace_block(rd, 0, "id");
    struct pending *call = trace_find_call(rd, id);
    struct ch_span *s = trace_add(rd, CH_SPAN_TOOL, call ? call->start : rd->last);
    s->title = trace_block(rd, 0, "name");
    s->sent = call && call->arguments ? ch_dup(call->arguments) : NULL;
    s->got = trace_block(rd, 0, "content");
    s->child = call && call->child ? ch_dup(call->child) : NULL;
    s->failed = trace_is(rd, "/message/content/0/is_error", "true");
    free(id);
}

static char *mishap(const struct reading *rd, size_t i, const char *member) {
    char pointer[64];
    snprintf(pointer, sizeof(pointer), "/error_log/%zu/%s", i, member);
    return trace_text(rd, pointer);
}

/* The reason of the end, then earlier errors, one per line. NULL: none. */
static char *troubles(const struct reading *rd) {
    struct ch_draft d;
    char *error = trace_text(rd, "/error"), *of;
    ch_draft_init(&d);
    fputs(error ? error : "", d.f);
    for (size_t i = 0; (of = mishap(rd, i, "of")); i++) {
        char *turn = mishap(rd, i, "turn"), *kind = mishap(rd, i, "class");
        char *said = mishap(rd, i, "text");
        fprintf(d.f, "%sin turn %s, %s, %s: %s", ftell(d.f) > 0 ? "\n" : "", turn ? turn : "?", of,
                kind ? kind : "", said ? said : "");
        free(of);
        free(turn);
        free(kind);
        free(said);
    }
    free(error);
    return trace_finished(&d);
}

static void trace_add_state(struct reading *rd) {
    char *status = trace_text(rd, "/status"), *reason = trace_text(rd, "/reason"),
         *cost = trace_text(rd, "/cost");
    if (status && reason && strcmp(status, "running") != 0) {
        struct ch_span *s = trace_add(rd, CH_SPAN_END, rd->r->ts);
        s->title = ch_format("%s: %s", status, reason);
        s->sent = trace_text(rd, "/goal");
        s->got = troubles(rd);
        s->failed = strcmp(status, "error") == 0 || strcmp(status, "stopped") == 0;
        s->turn = (unsigned)trace_number(rd, "/turns");
        trace_add_usage(rd, s);
        s->cost = cost ? strtod(cost, NULL) : -1;
    }
    free(status);
    free(reason);
    free(cost);
}

static void add_answer(struct reading *rd) {
    struct ch_trace *t = rd->trace;
    for (size_t i = t->n; i > 0; i--) {
        struct ch_span *s = &t->spans[i - 1];
        if (s->kind != CH_SPAN_WAIT || s->got)
            continue;
        s->end = rd->r->ts;
        s->got = trace_text(rd, "/decision");
        s->failed = s->got && strcmp(s->got, "deny") == 0;
        return;
    }
}

static void add_question(struct reading *rd) {
    struct ch_span *s = trace_add(rd, CH_SPAN_WAIT, rd->r->ts);
    s->title = ch_dup("consent");
    s->sent = trace_text(rd, "/summary");
}

static int trace_add_record(const struct chela_store_record *r, void *user) {
    struct reading *rd = user;
    const char *type = chela_store_record_name(r->type);
    rd->r = r;
    if (strcmp(type, "inbound") == 0 || strcmp(type, "message") == 0) {
        trace_add_message(rd);
    } else if (strcmp(type, "done") == 0) {
        trace_add_result(rd);
    } else if (strcmp(type, "started") == 0) {
        note_start(rd);
    } else if (strcmp(type, "state") == 0) {
        trace_add_state(rd);
    } else if (strcmp(type, "role") == 0) {
        add_role(rd);
    } else if (strcmp(type, "asked") == 0) {
        add_question(rd);
    } else if (strcmp(type, "answered") == 0) {
        add_answer(rd);
    } else if (strcmp(type, "compaction") == 0) {
        struct ch_span *s = trace_add(rd, CH_SPAN_REWRITE, rd->last);
        s->title = ch_dup("the history was made shorter");
        s->got = trace_joined(rd, "text");
    }
    rd->last = r->ts;
    return 0;
}

/* --- one run of several */

static void release_span(struct ch_span *s) {
    free(s->run);
    free(s->title);
    free(s->sent);
    free(s->got);
    free(s->child);
}

static int keep_run(struct ch_trace *t, const char *key, const char *run, struct chela_error *err) {
    const char *wanted = run[0] ? run : t->n ? t->spans[t->n - 1].run : "";
    char *id = ch_dup(wanted);
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->spans[i].run, id) == 0)
            t->spans[n++] = t->spans[i];
        else
            release_span(&t->spans[i]);
    t->n = n;
    free(id);
    return n || !run[0] ? CHELA_OK
                        : ch_problem(err, CHELA_ENOENT, "session %s has no run %s", key, run);
}

/* --- agents that were called */

#define DEEPEST 8

static int trace_read_one(struct ch_trace *t, chela_store *store, const char *key, const char *run,
                          struct chela_error *err);

static void trace_append(struct ch_trace *t, struct ch_span span) {
    t->spans = ch_must(realloc(t->spans, (t->n + 1) * sizeof(*t->spans)));
    t->spans[t->n++] = span;
}

/* Add the spans of child sessions; missing sessions are skipped. */
static void add_children(struct ch_trace *t, chela_store *store, unsigned depth) {
    struct ch_trace all = {0};
    for (size_t i = 0; i < t->n; i++) {
        struct ch_trace child = {0};
        trace_append(&all, t->spans[i]);
        if (t->spans[i].child && depth < DEEPEST)
            trace_read_one(&child, store, t->spans[i].child, NULL, NULL);
        if (child.n)
            add_children(&child, store, depth + 1);
        for (size_t k = 0; k < child.n; k++) {
            child.spans[k].depth++;
            trace_append(&all, child.spans[k]);
        }
        free(child.spans);
    }
    free(t->spans);
    *t = all;
}

static int trace_read_one(struct ch_trace *t, chela_store *store, const char *key, const char *run,
                          struct chela_error *err) {
    struct reading rd = {.trace = t};
    *t = (struct ch_trace){0};
    int rc = chela_store_records(store, key, 1, trace_add_record, &rd, err);
    forget_calls(&rd);
    free(rd.calls);
    if (rc == 0 && run)
        rc = keep_run(t, key, run, err);
    return rc;
}

int ch_trace_read(struct ch_trace *t, chela_store *store, const char *key, const char *run,
                  struct chela_error *err) {
    int rc = trace_read_one(t, store, key, run, err);
    if (rc == 0)
        add_children(t, store, 0);
    return rc;
}

void ch_trace_release(struct ch_trace *t) {
    for (size_t i = 0; i < t->n; i++)
        release_span(&t->spans[i]);
    free(t->spans);
    *t = (struct ch_trace){0};
}
