/* run_counters.c -- see run_counters.h. */
#include "agent/machine/run_counters.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/utf8.h"

static char *first_line(struct ch_sv text) {
    struct ch_sv rest = ch_sv_trim(text);
    struct ch_sv line = ch_utf8_cut(ch_sv_split(&rest, '\n'), CH_LIMIT_TITLE);

    return ch_strndup(line.p ? line.p : "", line.n);
}

static void set_goal(struct ch_run_counters *c, struct ch_sv text) {
    ch_free(c->goal);
    c->goal = ch_sv_trim(text).n ? first_line(text) : NULL;
}

void ch_run_counters_goal(struct ch_run_counters *c, const struct ch_msg *asked) {
    set_goal(c, ch_msg_words(asked));
}

static void release_failure(struct ch_run_failure *m) {
    ch_free(m->of);
    ch_free(m->cls);
    ch_free(m->text);
    *m = (struct ch_run_failure){0};
}

static void add(struct ch_run_counters *c, struct ch_run_failure taken) {
    if (!c->errors)
        c->errors = ch_alloc(CH_LIMIT_ERROR_LOG * sizeof(*c->errors));
    struct ch_run_failure *m = &c->errors[c->n++ % CH_LIMIT_ERROR_LOG];

    release_failure(m);
    *m = taken;
}

void ch_run_counters_failed(struct ch_run_counters *c, unsigned turn, struct ch_sv of,
                            const char *cls, struct ch_sv text) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    struct ch_sv said = {0};

    if (text.n && text.p[0] == '{' &&
        ch_json_parse(&arena, text, CH_JSON_STRICT, &v, NULL, NULL) == 0)
        said = ch_json_get_str(v, "error");
    add(c, (struct ch_run_failure){.turn = turn,
                                   .of = first_line(of),
                                   .cls = ch_strdup(cls ? cls : ""),
                                   .text = first_line(said.n ? said : text)});
}

void ch_run_counters_write(const struct ch_run_counters *c, struct ch_jw *w) {
    size_t at = c->n > CH_LIMIT_ERROR_LOG ? c->n - CH_LIMIT_ERROR_LOG : 0;

    if (c->goal)
        ch_jw_kcstr(w, "goal", c->goal);
    if (c->n == 0)
        return;
    ch_jw_kbegin(w, "error_log", '[');
    for (; at < c->n; at++) {
        const struct ch_run_failure *m = &c->errors[at % CH_LIMIT_ERROR_LOG];
        ch_jw_begin(w, '{');
        ch_jw_kint(w, "turn", m->turn);
        ch_jw_kcstr(w, "of", m->of);
        ch_jw_kcstr(w, "class", m->cls);
        ch_jw_kcstr(w, "text", m->text);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
}

static char *run_counters_copy(const struct ch_json *v, const char *key) {
    return first_line(ch_json_get_str(v, key));
}

struct ch_run_counters ch_run_counters_read(const struct ch_json *v) {
    struct ch_run_counters c = {0};

    set_goal(&c, ch_json_get_str(v, "goal"));
    for (CH_JSON_EACH(e, ch_json_get(v, "error_log")))
        add(&c, (struct ch_run_failure){.turn = (unsigned)ch_json_int(ch_json_get(e, "turn"), 0),
                                        .of = run_counters_copy(e, "of"),
                                        .cls = run_counters_copy(e, "class"),
                                        .text = run_counters_copy(e, "text")});
    return c;
}

void ch_run_counters_release(struct ch_run_counters *c) {
    ch_free(c->goal);
    for (size_t i = 0; c->errors && i < CH_LIMIT_ERROR_LOG; i++)
        release_failure(&c->errors[i]);
    ch_free(c->errors);
    *c = (struct ch_run_counters){0};
}
