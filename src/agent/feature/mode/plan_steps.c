/* plan_steps.c -- see plan_steps.h.
 *
 * References are searched in the text of the input rather than in its tree: the text is a
 * flat sequence of tokens, so no nesting has to be followed. Names of members are never
 * changed. */
#include "agent/feature/mode/plan_steps.h"

#include "base/error.h"
#include "base/mem.h"
#include "json/writer.h"

#define MARK "$step_"
#define MARK_END "_result"
#define REQUEST "$request"

/* --- references ------------------------------------------------------------------- */

struct ref {
    size_t at, len; /* position in the string */
    bool request;   /* $request; the members below are not set */
    int64_t id;
    struct ch_sv path; /* path such as ".items[0]"; may be empty */
};

static bool plan_steps_is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_name(char c) {
    return plan_steps_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-';
}

static size_t digits(struct ch_sv s, size_t at, int64_t *out) {
    size_t n = 0;
    *out = 0;
    for (; at + n < s.n && plan_steps_is_digit(s.p[at + n]) && n < 9; n++)
        *out = *out * 10 + (s.p[at + n] - '0');
    return n;
}

/* Length of ".name" or "[3]" at the beginning of s; 0: neither. */
static size_t path_part(struct ch_sv s) {
    int64_t index;
    size_t n = 1;
    if (s.n < 2)
        return 0;
    if (s.p[0] == '[') {
        n += digits(s, 1, &index);
        return n > 1 && n < s.n && s.p[n] == ']' ? n + 1 : 0;
    }
    if (s.p[0] != '.' || !is_name(s.p[1]))
        return 0;
    while (n < s.n && is_name(s.p[n]))
        n++;
    return n;
}

static bool has_at(struct ch_sv s, size_t at, const char *word) {
    size_t n = strlen(word);
    return at + n <= s.n && memcmp(s.p + at, word, n) == 0;
}

/* True: the text at `at` is $request. */
static bool is_request(struct ch_sv s, size_t at) {
    size_t end = at + strlen(REQUEST);
    return has_at(s, at, REQUEST) && (end == s.n || !is_name(s.p[end]));
}

/* Finds the next reference at or after `from`. fixed: $request is one. */
static bool find_ref(struct ch_sv s, size_t from, bool fixed, struct ref *out) {
    for (size_t i = from; i < s.n; i++) {
        if (fixed && is_request(s, i)) {
            *out = (struct ref){.at = i, .len = strlen(REQUEST), .request = true};
            return true;
        }
        if (!has_at(s, i, MARK))
            continue;
        size_t at = i + strlen(MARK), n = digits(s, at, &out->id), part;
        if (!n || !has_at(s, at + n, MARK_END))
            continue;
        size_t end = at + n + strlen(MARK_END), begin = end;
        while ((part = path_part(ch_sv(s.p + end, s.n - end))))
            end += part;
        out->at = i;
        out->len = end - i;
        out->request = false;
        out->path = ch_sv(s.p + begin, end - begin);
        return true;
    }
    return false;
}

bool ch_plan_steps_refers(struct ch_sv text) {
    struct ref ref;
    return find_ref(text, 0, true, &ref);
}

/* --- the strings of a text -------------------------------------------------------- */

struct token {
    size_t at, len; /* quotes included */
    bool is_key;
};

static bool next_string(struct ch_sv text, size_t from, struct token *out) {
    const char *open = from < text.n ? memchr(text.p + from, '"', text.n - from) : NULL;
    if (!open)
        return false;
    size_t i = (size_t)(open - text.p), end = i + 1;
    while (end < text.n && text.p[end] != '"')
        end += text.p[end] == '\\' ? 2 : 1;
    *out = (struct token){i, end + 1 - i, end + 1 < text.n && text.p[end + 1] == ':'};
    return true;
}

static struct ch_sv compact(struct ch_arena *a, const struct ch_json *v) {
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    ch_jw_value(&w, v);
    return ch_arena_sv(a, ch_buf_sv(&text));
}

static struct ch_sv contents(struct ch_arena *a, struct ch_sv text, const struct token *t) {
    const struct ch_json *v = NULL;
    ch_json_parse(a, ch_sv(text.p + t->at, t->len), CH_JSON_REPLACE, &v, NULL, NULL);
    return ch_json_str(v);
}

/* --- reading ---------------------------------------------------------------------- */

int ch_plan_steps_find(const struct ch_plan_steps *p, int64_t id) {
    for (size_t i = 0; i < p->n; i++)
        if ((int64_t)p->list[i].id == id)
            return (int)i;
    return -1;
}

struct reading {
    struct ch_plan_steps *plan;
    const struct ch_plan_tools *tools;
    struct ch_arena *arena; /* memory for reading the plan */
    struct ch_buf *why;
    unsigned later[CH_LIMIT_PLAN_STEPS]; /* bits of later steps that the step depends on */
};

static void complain(struct reading *r, const char *fmt, ...) CHELA_PRINTF(2, 3);
static void complain(struct reading *r, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    ch_buf_add_str(r->why, r->why->n ? "\n- " : "- ");
    ch_buf_vaddf(r->why, fmt, ap);
    va_end(ap);
}

/* True: the step has no tool and only checks or reports, which is the runtime's own work. */
static bool is_meta(const struct ch_plan_step *s) {
    static const char *const verbs[] = {"verify", "validate", "check",   "double-check", "confirm",
                                        "report", "present",  "inform",  "notify",       "tell",
                                        "return", "deliver",  "respond", "reply",        "answer",
                                        "review", "summarise", "summarize"};
    static const char *const about[] = {"user", "result", "answer", "output", "findings",
                                        "everything", "plan", "task"};
    static const char *const whole[] = {"验证结果", "检查结果", "确认结果", "汇报", "告知用户",
                                        "回复用户", "总结结果"};
    struct ch_sv d = ch_sv_trim(s->description);
    if (s->tool.n)
        return false;
    for (size_t i = 0; i < CH_LEN(whole); i++)
        if (ch_sv_starts(d, whole[i]))
            return true;
    struct ch_sv first = d;
    first = ch_sv_split(&first, ' ');
    bool verb = false;
    for (size_t i = 0; i < CH_LEN(verbs); i++)
        verb |= ch_sv_eq_nocase(first, ch_sv_str(verbs[i]));
    for (size_t i = 0; verb && i < CH_LEN(about); i++)
        if (ch_sv_contains_nocase(d, about[i]))
            return true;
    return false;
}

static void check_input(struct reading *r, const struct ch_plan_step *s) {
    CH_BUF_AUTO wrong = {0};
    if (!r->tools->check_input || !ch_json_is(s->input, CH_JSON_OBJECT))
        return;
    r->tools->check_input(s->tool, s->input, &wrong, r->tools->user);
    if (wrong.n)
        complain(r, "step %u: tool_input of %.*s: %s", s->id, CH_SV_FMT(s->tool),
                 ch_buf_str(&wrong));
}

static void read_step(struct reading *r, const struct ch_json *v) {
    struct ch_plan_step *s = &r->plan->list[r->plan->n];
    int64_t id = ch_json_int(ch_json_get(v, "step_id"), 0);
    *s = (struct ch_plan_step){.description = ch_json_get_str(v, "description"),
                          .tool = ch_json_get_str(v, "tool_name"),
                          .input = ch_json_get(v, "tool_input"),
                          .when = r->tools->fixed ? ch_json_get(v, "when") : NULL};
    if (ch_sv_is(s->tool, "none"))
        s->tool = CH_SV("");
    if (id < 1 || id > 1000)
        complain(r, "step %zu: step_id must be a number from 1 on", r->plan->n + 1);
    else if (ch_plan_steps_find(r->plan, id) >= 0)
        complain(r, "step %lld is there twice", (long long)id);
    s->id = (unsigned)id;
    if (!ch_sv_trim(s->description).n)
        complain(r, "step %u has no description", s->id);
    if (!ch_json_is(s->input, CH_JSON_OBJECT))
        complain(r, "step %u: tool_input must be an object", s->id);
    if (s->tool.n && !r->tools->known(s->tool, r->tools->user))
        complain(r, "step %u: there is no tool '%.*s'", s->id, CH_SV_FMT(s->tool));
    else if (s->tool.n)
        check_input(r, s);
    if (!r->tools->fixed && is_meta(s))
        complain(r, "step %u: checking, summing up and reporting are done anyway, leave it out",
                 s->id);
    r->plan->n++;
}

static void need(struct reading *r, size_t i, int64_t id, const char *where) {
    struct ch_plan_step *s = &r->plan->list[i];
    int at = ch_plan_steps_find(r->plan, id);
    if (at < 0)
        complain(r, "step %u: %s names step %lld, which does not exist", s->id, where,
                 (long long)id);
    else if ((size_t)at == i)
        complain(r, "step %u waits for itself", s->id);
    else if ((size_t)at > i)
        r->later[i] |= 1u << at;
    else
        s->needs |= 1u << at;
}

/* Collects the references in the strings of a value. */
static void need_in(struct reading *r, size_t i, const struct ch_json *v, const char *where,
                    bool shell) {
    struct ch_sv text = compact(r->arena, v);
    struct token t;
    struct ref ref;
    for (size_t at = 0; next_string(text, at, &t); at = t.at + t.len) {
        struct ch_sv string = t.is_key ? CH_SV("") : contents(r->arena, text, &t);
        for (size_t from = 0; find_ref(string, from, r->tools->fixed, &ref);
             from = ref.at + ref.len) {
            if (!ref.request)
                need(r, i, ref.id, where);
            if (shell)
                complain(r, "step %u: %s must not stand in a command line", r->plan->list[i].id,
                         ref.request ? "the request" : "a result");
        }
    }
}

/* The operators of a condition {value, OPERATOR: operand}. */
static const char *const operators[] = {"equals", "not", "above", "below", "contains", "exists"};

static const char *wrong_with_condition(const struct ch_json *c) {
    size_t known = 0;
    if (ch_json_is(c, CH_JSON_STRING))
        return NULL;
    if (!ch_json_is(c, CH_JSON_OBJECT) || !ch_json_is(ch_json_get(c, "value"), CH_JSON_STRING))
        return "expected a reference, or a mapping with `value`, or a list of these";
    for (size_t i = 0; i < CH_LEN(operators); i++)
        known += ch_json_get(c, operators[i]) != NULL;
    if (known != 1 || c->n != 2)
        return "expected `value` and one of equals, not, above, below, contains, exists";
    const struct ch_json *bound = ch_json_get(c, "above");
    bound = bound ? bound : ch_json_get(c, "below");
    return bound && !ch_json_is(bound, CH_JSON_NUMBER) ? "`above` and `below` need a number" : NULL;
}

static void read_condition(struct reading *r, size_t i) {
    const struct ch_plan_step *s = &r->plan->list[i];
    const char *wrong = NULL;
    if (!s->when)
        return;
    if (!ch_json_is(s->when, CH_JSON_ARRAY))
        wrong = wrong_with_condition(s->when);
    else
        for (CH_JSON_EACH(c, s->when))
            wrong = wrong ? wrong : wrong_with_condition(c);
    if (wrong)
        complain(r, "step %u: when: %s", s->id, wrong);
    need_in(r, i, s->when, "when", false);
}

/* Collects the references of step i: in its input, its condition and its question. */
static void need_references(struct reading *r, size_t i) {
    const struct ch_plan_step *s = &r->plan->list[i];
    struct ref ref;
    for (CH_JSON_MEMBERS(k, v, s->input)) {
        bool shell = r->tools->is_command && s->tool.n &&
                     r->tools->is_command(s->tool, ch_json_str(k), r->tools->user);
        need_in(r, i, v, "tool_input", shell);
    }
    read_condition(r, i);
    if (!r->tools->fixed || s->tool.n)
        return;
    for (size_t from = 0; find_ref(s->description, from, true, &ref); from = ref.at + ref.len)
        if (!ref.request)
            need(r, i, ref.id, "the question");
}

/* The steps that step i waits for, also through other steps; one bit each. */
static unsigned waits_for(const struct reading *r, size_t i) {
    const struct ch_plan_steps *p = r->plan;
    unsigned steps = p->list[i].needs | r->later[i];
    for (size_t round = 0; round < p->n; round++)
        for (size_t k = 0; k < p->n; k++)
            if (steps >> k & 1)
                steps |= p->list[k].needs | r->later[k];
    return steps;
}

/* Complains about steps that depend on a later one, in a circle or in the wrong order. */
static void complain_about_order(struct reading *r) {
    const struct ch_plan_steps *p = r->plan;
    for (size_t i = 0; i < p->n; i++) {
        bool circle = waits_for(r, i) >> i & 1;
        for (size_t k = 0; k < p->n; k++) {
            if (!(r->later[i] >> k & 1))
                continue;
            if (circle)
                complain(r, "steps %u and %u wait for each other", p->list[i].id, p->list[k].id);
            else
                complain(r, "step %u waits for step %u, which comes later: change their order",
                         p->list[i].id, p->list[k].id);
        }
    }
}

int ch_plan_steps_read(const struct ch_json *list, const struct ch_plan_tools *tools,
                       struct ch_plan_steps *out, struct ch_buf *why) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO wrong = {0};
    struct ch_plan_steps plan = {.fixed = tools->fixed};
    struct reading r = {.plan = &plan, .tools = tools, .arena = &arena, .why = &wrong};
    if (!ch_json_is(list, CH_JSON_ARRAY) || list->n == 0)
        complain(&r, "the plan has no steps");
    else if (list->n > (tools->fixed ? CH_LIMIT_PLAN_STEPS : CH_LIMIT_PLANNER_STEPS))
        complain(&r, "%u steps are too many, %d are the most: simplify, or ask to narrow it down",
                 list->n, tools->fixed ? CH_LIMIT_PLAN_STEPS : CH_LIMIT_PLANNER_STEPS);
    if (!wrong.n) {
        for (CH_JSON_EACH(v, list))
            read_step(&r, v);
        size_t i = 0;
        for (CH_JSON_EACH(v, list)) {
            for (CH_JSON_EACH(d, ch_json_get(v, "depends_on")))
                need(&r, i, ch_json_int(d, 0), "depends_on");
            need_references(&r, i);
            i++;
        }
        complain_about_order(&r);
    }
    if (wrong.n) {
        ch_buf_add_sv(why, ch_buf_sv(&wrong));
        return CHELA_EINVAL;
    }
    *out = plan;
    return 0;
}

void ch_plan_steps_write(const struct ch_plan_step *s, const struct ch_plan_steps *all,
                         struct ch_jw *w) {
    ch_jw_kint(w, "step_id", s->id);
    ch_jw_kstr(w, "description", s->description);
    ch_jw_kstr(w, "tool_name", s->tool.n ? s->tool : CH_SV("none"));
    ch_jw_kvalue(w, "tool_input", s->input);
    ch_jw_kbegin(w, "depends_on", '[');
    for (size_t i = 0; i < all->n; i++)
        if (s->needs >> i & 1)
            ch_jw_int(w, all->list[i].id);
    ch_jw_end(w, ']');
    if (s->when) {
        ch_jw_kvalue(w, "when", s->when);
    }
}

/* --- order ------------------------------------------------------------------------ */

unsigned ch_plan_steps_ready(const struct ch_plan_steps *p, unsigned done, unsigned failed) {
    unsigned ready = 0;
    for (size_t i = 0; i < p->n; i++)
        if (!((done | failed) >> i & 1) && !(p->list[i].needs & ~done))
            ready |= 1u << i;
    return ready;
}

/* --- putting results in ----------------------------------------------------------- */

struct filling {
    const struct ch_plan_steps *plan;
    const struct ch_plan_step *step;
    const struct ch_sv *results;
    struct ch_arena *arena;
    struct ch_buf *why;
};

static const struct ch_json *follow(const struct ch_json *v, struct ch_sv path) {
    for (size_t n; v && (n = path_part(path)); path = ch_sv(path.p + n, path.n - n)) {
        int64_t index;
        if (path.p[0] == '[') {
            digits(path, 1, &index);
            v = ch_json_at(v, (size_t)index);
        } else {
            v = ch_json_get_sv(v, ch_sv(path.p + 1, n - 1));
        }
    }
    return v;
}

/* Writes the value of a reference as JSON: the result itself if it is JSON, otherwise as a
 * string. */
static int value_of(const struct filling *f, struct ch_sv string, const struct ref *ref,
                    struct ch_buf *out) {
    if (ref->request) {
        ch_json_quote(out, f->plan->request);
        return 0;
    }
    int i = ch_plan_steps_find(f->plan, ref->id);
    struct ch_sv result = i >= 0 ? f->results[i] : ch_sv(NULL, 0);
    const struct ch_json *root = NULL, *v;
    if (result.p)
        ch_json_parse(f->arena, ch_sv_trim(result), CH_JSON_STRICT, &root, NULL, NULL);
    v = ch_json_is(root, CH_JSON_NULL) ? root : follow(root, ref->path);
    if (v) {
        struct ch_jw w = ch_jw(out);
        ch_jw_value(&w, v);
        return 0;
    }
    if (result.p && !ref->path.n) {
        ch_json_quote(out, result);
        return 0;
    }
    ch_buf_addf(f->why, "step %u: there is no %.*s: the result of step %lld is %s", f->step->id,
                (int)ref->len, string.p + ref->at, (long long)ref->id,
                !result.p ? "not known"
                : root    ? "JSON without such a place"
                          : "text, and has no places in it");
    return CHELA_EINVAL;
}

static void add_as_text(struct ch_arena *a, struct ch_sv json, struct ch_buf *out) {
    const struct ch_json *v = NULL;
    ch_json_parse(a, json, CH_JSON_REPLACE, &v, NULL, NULL);
    if (!ch_json_is(v, CH_JSON_NULL))
        ch_buf_add_sv(out, ch_json_is(v, CH_JSON_STRING) ? ch_json_str(v) : json);
}

static int fill_string(const struct filling *f, struct ch_sv string, struct ch_buf *out) {
    CH_BUF_AUTO text = {0};
    struct ref ref;
    size_t from = 0;
    if (!find_ref(string, 0, f->plan->fixed, &ref)) {
        ch_json_quote(out, string);
        return 0;
    }
    if (ref.at == 0 && ref.len == string.n)
        return value_of(f, string, &ref, out);
    do {
        CH_BUF_AUTO value = {0};
        ch_buf_add(&text, string.p + from, ref.at - from);
        int rc = value_of(f, string, &ref, &value);
        if (rc < 0)
            return rc;
        add_as_text(f->arena, ch_arena_sv(f->arena, ch_buf_sv(&value)), &text);
        from = ref.at + ref.len;
    } while (find_ref(string, from, f->plan->fixed, &ref));
    ch_buf_add(&text, string.p + from, string.n - from);
    ch_json_quote(out, ch_buf_sv(&text));
    return 0;
}

int ch_plan_steps_fill(const struct ch_plan_steps *p, const struct ch_plan_step *s,
                       const struct ch_sv *results, struct ch_buf *out, struct ch_buf *why) {
    CH_ARENA_AUTO arena = {0};
    struct filling f = {p, s, results, &arena, why};
    struct ch_sv text = compact(&arena, s->input);
    struct token t;
    size_t at = 0;
    for (; next_string(text, at, &t); at = t.at + t.len) {
        ch_buf_add(out, text.p + at, t.at - at);
        int rc = 0;
        if (t.is_key)
            ch_buf_add(out, text.p + t.at, t.len);
        else
            rc = fill_string(&f, contents(&arena, text, &t), out);
        if (rc < 0)
            return rc;
    }
    ch_buf_add(out, text.p + at, text.n - at);
    return out->overflow ? CHELA_ELIMIT : 0;
}

int ch_plan_steps_fill_text(const struct ch_plan_steps *p, const struct ch_plan_step *s,
                            struct ch_sv text, const struct ch_sv *results, struct ch_buf *out,
                            struct ch_buf *why) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO json = {0};
    struct filling f = {p, s, results, &arena, why};
    int rc = fill_string(&f, text, &json);
    if (rc == 0)
        add_as_text(&arena, ch_buf_sv(&json), out);
    return rc;
}

/* --- conditions --------------------------------------------------------------------- */

static bool is_true(const struct ch_json *v) {
    if (!v || ch_json_is(v, CH_JSON_NULL))
        return false;
    if (ch_json_is(v, CH_JSON_STRING))
        return ch_sv_trim(ch_json_str(v)).n > 0;
    if (ch_json_is(v, CH_JSON_NUMBER))
        return ch_json_double(v, 0) != 0;
    if (ch_json_is(v, CH_JSON_ARRAY) || ch_json_is(v, CH_JSON_OBJECT))
        return v->n > 0;
    return ch_json_bool(v, false);
}

static bool is_equal(struct ch_arena *a, const struct ch_json *x, const struct ch_json *y) {
    if (ch_json_is(x, CH_JSON_NUMBER) && ch_json_is(y, CH_JSON_NUMBER))
        return ch_json_double(x, 0) == ch_json_double(y, 0);
    if (ch_json_is(x, CH_JSON_STRING) && ch_json_is(y, CH_JSON_STRING))
        return ch_sv_eq(ch_sv_trim(ch_json_str(x)), ch_sv_trim(ch_json_str(y)));
    return x && ch_sv_eq(compact(a, x), compact(a, y));
}

/* Reads a number, also from text that contains a number. */
static bool is_number(const struct ch_json *v, struct ch_arena *a, double *out) {
    const struct ch_json *n = v;
    if (ch_json_is(v, CH_JSON_STRING))
        ch_json_parse(a, ch_sv_trim(ch_json_str(v)), CH_JSON_STRICT, &n, NULL, NULL);
    *out = ch_json_double(n, 0);
    return ch_json_is(n, CH_JSON_NUMBER);
}

static bool has_part(const struct ch_json *v, const struct ch_json *part, struct ch_arena *a) {
    struct ch_sv text = ch_json_str(part);
    if (ch_json_is(v, CH_JSON_ARRAY)) {
        for (CH_JSON_EACH(e, v))
            if (is_equal(a, e, part))
                return true;
        return false;
    }
    struct ch_sv all = ch_json_is(v, CH_JSON_STRING) ? ch_json_str(v) : compact(a, v);
    return text.n && all.n && memmem(all.p, all.n, text.p, text.n);
}

static bool compares(const struct ch_json *c, const struct ch_json *v, struct ch_arena *a) {
    const struct ch_json *with;
    double left, right;
    bool missing = !v || ch_json_is(v, CH_JSON_NULL);
    if ((with = ch_json_get(c, "exists")))
        return missing != ch_json_bool(with, true);
    if ((with = ch_json_get(c, "equals")))
        return is_equal(a, v, with);
    if ((with = ch_json_get(c, "not")))
        return !is_equal(a, v, with);
    if ((with = ch_json_get(c, "contains")))
        return !missing && has_part(v, with, a);
    bool above = ch_json_get(c, "above") != NULL;
    if (missing || !is_number(v, a, &left) ||
        !is_number(ch_json_get(c, above ? "above" : "below"), a, &right))
        return false;
    return above ? left > right : left < right;
}

static bool holds_one(struct filling *f, const struct ch_json *c) {
    struct ch_sv value =
        ch_json_is(c, CH_JSON_STRING) ? ch_json_str(c) : ch_json_get_str(c, "value");
    CH_BUF_AUTO json = {0};
    const struct ch_json *v = NULL;
    if (fill_string(f, value, &json) == 0)
        ch_json_parse(f->arena, ch_arena_sv(f->arena, ch_buf_sv(&json)), CH_JSON_REPLACE, &v, NULL,
                      NULL);
    return ch_json_is(c, CH_JSON_STRING) ? is_true(v) : compares(c, v, f->arena);
}

bool ch_plan_steps_holds(const struct ch_plan_steps *p, const struct ch_plan_step *s,
                         const struct ch_sv *results) {
    CH_ARENA_AUTO arena = {0};
    CH_BUF_AUTO why = {0};
    struct filling f = {p, s, results, &arena, &why};
    if (!s->when)
        return true;
    if (!ch_json_is(s->when, CH_JSON_ARRAY))
        return holds_one(&f, s->when);
    for (CH_JSON_EACH(c, s->when))
        if (!holds_one(&f, c))
            return false;
    return true;
}
