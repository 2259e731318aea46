/* scripted_match.c -- selects the matching rule and expands its templates.
 *
 * Conditions on a result (after, result, is_error) must all hold for the same result of the
 * latest batch; {{result}} is that result. Texts are matched up to CH_LIMIT_SCRIPT_SUBJECT
 * bytes; a match that exceeds the bounds of schema_pattern.h counts as none. */
#include "model/scripted/scripted_match.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "model/scripted/scripted_private.h"
#include "json/writer.h"

static size_t groups_of(const struct ch_pattern *p) {
    return p ? ch_pattern_groups(p) : 0;
}

size_t ch_when_groups(const struct ch_scripted_when *w) {
    return groups_of(w->user) + groups_of(w->result) + groups_of(w->system);
}

/* On a match the capture groups are added to m. */
static bool scripted_match_text(struct ch_pattern *p, struct ch_sv text, struct ch_match *m) {
    if (!p)
        return true;
    int64_t fuel = INT64_MAX; /* one match */
    text = ch_utf8_cut(text, CH_LIMIT_SCRIPT_SUBJECT);
    if (ch_pattern_match(p, text, &fuel) <= 0)
        return false;
    for (size_t i = 1; i <= ch_pattern_groups(p); i++)
        m->groups[m->ngroups++] = ch_pattern_group(p, i, text);
    return true;
}

static bool scripted_match_among(struct ch_sv name, struct ch_script_names list) {
    for (size_t i = 0; i < list.n; i++)
        if (ch_sv_eq(list.v[i], name))
            return true;
    return false;
}

static bool batch_has(const struct ch_talk *t, struct ch_sv tool) {
    const struct ch_talk_result *r = t->newest;
    for (size_t i = 0; i < t->batch; i++, r = r->older)
        if (ch_sv_eq(r->tool, tool))
            return true;
    return false;
}

static bool after_holds(const struct ch_scripted_when *w, const struct ch_talk *t) {
    switch (w->after) {
    case CH_AFTER_ANYTHING:
        return true;
    case CH_AFTER_NONE:
        return t->batch == 0;
    case CH_AFTER_ANY:
        return t->batch > 0;
    case CH_AFTER_TOOLS:
        for (size_t i = 0; i < w->after_tools.n; i++)
            if (!batch_has(t, w->after_tools.v[i]))
                return false;
        return true;
    }
    CH_UNREACHABLE();
}

/* Find the newest result of the batch that meets all conditions on results. */
static bool result_holds(const struct ch_scripted_when *w, const struct ch_talk *t,
                         struct ch_match *m) {
    const struct ch_talk_result *r = t->newest;
    for (size_t i = 0; i < t->batch; i++, r = r->older) {
        bool named = w->after != CH_AFTER_TOOLS || scripted_match_among(r->tool, w->after_tools);
        bool kind = w->is_error < 0 || w->is_error == r->is_error;
        if (!named || !kind || !scripted_match_text(w->result, r->text, m))
            continue;
        m->result = r;
        return true;
    }
    m->result = t->newest;
    return !w->result && w->is_error < 0;
}

static bool offered(const struct ch_talk *t, struct ch_sv tool) {
    for (CH_JSON_EACH(def, t->tools))
        if (ch_sv_eq(ch_json_get_str(def, "name"), tool))
            return true;
    return false;
}

static bool tools_hold(const struct ch_scripted_when *w, const struct ch_talk *t) {
    for (size_t i = 0; i < w->tools.n; i++)
        if (!offered(t, w->tools.v[i]))
            return false;
    return true;
}

static bool scripted_match_holds(const struct ch_scripted_when *w, const struct ch_talk *t,
                                 struct ch_match *m) {
    m->ngroups = 0;
    return (!w->turn || w->turn == t->turn) && (!w->message || w->message == t->message) &&
           after_holds(w, t) && tools_hold(w, t) && scripted_match_text(w->user, t->user, m) &&
           result_holds(w, t, m) && scripted_match_text(w->system, t->system, m);
}

bool ch_script_match(const struct ch_script *s, const struct ch_talk *talk, struct ch_match *out) {
    for (size_t i = 0; i < s->nrules; i++) {
        struct ch_rule *rule = &s->rules[i];
        bool used_up = rule->times && rule->used >= rule->times;
        if (used_up || !scripted_match_holds(&rule->when, talk, out))
            continue;
        out->rule = rule;
        return true;
    }
    return false;
}

/* --- templates -------------------------------------------------------------- */

/* Split the next piece off *rest: literal text, optionally followed by a {{name}}. Four
 * opening braces are a literal "{{". False at the end. */
static bool scripted_match_next_piece(struct ch_sv *rest, struct ch_sv *literal,
                                      struct ch_sv *name) {
    if (rest->n == 0)
        return false;
    const char *end = rest->p + rest->n, *open = memmem(rest->p, rest->n, "{{", 2);
    *name = (struct ch_sv){NULL, 0};
    if (!open) {
        *literal = *rest;
        *rest = ch_sv(end, 0);
        return true;
    }
    bool escaped = end - open >= 4 && open[2] == '{' && open[3] == '{';
    *literal = ch_sv(rest->p, (size_t)(open - rest->p) + (escaped ? 2 : 0));
    const char *inner = open + (escaped ? 4 : 2);
    const char *close = escaped ? inner : memmem(inner, (size_t)(end - inner), "}}", 2);
    if (!escaped)
        *name = ch_sv(inner, (size_t)((close ? close : end) - inner));
    *rest = escaped ? ch_sv(inner, (size_t)(end - inner))
            : close ? ch_sv(close + 2, (size_t)(end - close - 2))
                    : ch_sv(end, 0);
    return true;
}

/* The group number of a name such as "2"; 0 if it is no number. */
static size_t group_number(struct ch_sv name) {
    size_t n = 0;
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] < '0' || name.p[i] > '9' || n > CH_SCRIPT_GROUPS)
            return 0;
        n = n * 10 + (size_t)(name.p[i] - '0');
    }
    return n;
}

static const char result_of[] = "result.";

static bool known_name(struct ch_sv name, size_t ngroups) {
    static const char *const names[] = {"user", "result", "turn", "message"};
    for (size_t i = 0; i < CH_LEN(names); i++)
        if (ch_sv_is(name, names[i]))
            return true;
    if (ch_sv_starts(name, result_of))
        return name.n > strlen(result_of);
    size_t group = group_number(name);
    return group > 0 && group <= ngroups;
}

bool ch_template_valid(const struct ch_scripted_template *t, size_t ngroups, struct ch_sv *bad) {
    struct ch_sv rest = t->text, literal, name;
    while (scripted_match_next_piece(&rest, &literal, &name)) {
        bool closed = name.p && name.p + name.n + 2 <= t->text.p + t->text.n;
        if (!name.p || (closed && known_name(ch_sv_trim(name), ngroups)))
            continue;
        *bad = ch_sv(name.p, name.n + (closed ? 2 : 0));
        return false;
    }
    return true;
}

static const struct ch_talk_result *last_of(const struct ch_talk *t, struct ch_sv tool) {
    const struct ch_talk_result *r = t->newest;
    while (r && !ch_sv_eq(r->tool, tool))
        r = r->older;
    return r;
}

static void scripted_match_add(struct ch_buf *out, bool json, struct ch_sv value) {
    if (json)
        ch_json_escape(out, value);
    else
        ch_buf_add_sv(out, value);
}

static int scripted_match_add_name(struct ch_sv name, bool json, const struct ch_match *m,
                                   const struct ch_talk *talk, struct ch_buf *out) {
    if (ch_sv_is(name, "turn"))
        return ch_buf_addf(out, "%lld", (long long)talk->turn);
    if (ch_sv_is(name, "message"))
        return ch_buf_addf(out, "%lld", (long long)talk->message);
    if (ch_sv_is(name, "user")) {
        scripted_match_add(out, json, talk->user);
        return 0;
    }
    if (ch_sv_starts(name, "result")) {
        size_t skip = strlen(result_of);
        const struct ch_talk_result *r =
            name.n > skip ? last_of(talk, ch_sv(name.p + skip, name.n - skip)) : m->result;
        if (!r)
            return CHELA_EINVAL;
        scripted_match_add(out, json, r->text);
        return 0;
    }
    scripted_match_add(out, json, m->groups[group_number(name) - 1]);
    return 0;
}

int ch_template_expand(const struct ch_scripted_template *t, const struct ch_match *m,
                       const struct ch_talk *talk, struct ch_buf *out, struct chela_error *err) {
    struct ch_sv rest = t->text, literal, name;
    while (scripted_match_next_piece(&rest, &literal, &name)) {
        ch_buf_add_sv(out, literal);
        name = ch_sv_trim(name);
        if (name.n && scripted_match_add_name(name, t->json, m, talk, out) == CHELA_EINVAL)
            return ch_fail(err, CHELA_EINVAL, "rule %zu: {{%.*s}}: there is no such result",
                           m->rule->number, CH_SV_FMT(name));
    }
    if (out->overflow)
        return ch_fail(err, CHELA_ELIMIT, "rule %zu: the reply is too large", m->rule->number);
    return 0;
}
