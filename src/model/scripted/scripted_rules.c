/* scripted_rules.c -- parses a rule file.
 *
 * Each kind of mapping in the file (a rule, its `when`, a call, ...) has a table of keys;
 * one function reads a mapping by its table. All static checks are made here, with the
 * position in the file: unknown keys, types, ranges, patterns, template names,
 * contradictions. A rule that was parsed can fail only because of missing data in the
 * conversation. */
#include "model/scripted/scripted_rules.h"

#include <stdarg.h>

#include "base/error.h"
#include "base/nearest.h"
#include "base/utf8.h"
#include "model/scripted/scripted_match.h"
#include "model/scripted/scripted_private.h"
#include "json/writer.h"

struct reader {
    struct ch_script *script;
    struct ch_yaml yaml;
    struct chela_error *err;
};

struct field {
    const char *key;
    int (*read)(struct reader *r, const struct ch_json *v, const struct field *f, void *out);
    size_t offset; /* offset of the target in the struct of its mapping */
    int64_t min, max;
    const char *const *words; /* permitted words of a choice */
};

/* "FILE:LINE:COLUMN: text" */
CHELA_PRINTF(3, 4)
static int scripted_rules_bad(struct reader *r, struct ch_json_where at, const char *fmt, ...) {
    CH_BUF_AUTO text = {0};
    va_list ap;
    va_start(ap, fmt);
    ch_buf_vaddf(&text, fmt, ap);
    va_end(ap);
    return ch_fail(r->err, CHELA_ECONFIG, "%s:%u:%u: %s", r->yaml.name, at.line, at.column,
                   ch_buf_str(&text));
}

static struct ch_json_where where(struct reader *r, const struct ch_json *v) {
    return ch_yaml_where(&r->yaml, v);
}

static int wrong_type(struct reader *r, const struct ch_json *v, const char *key,
                      const char *expected) {
    return scripted_rules_bad(r, where(r, v), "%s: expected %s, not %s", key, expected,
                              ch_json_type_name(v->type));
}

static int scripted_rules_unknown_key(struct reader *r, const struct ch_json *key,
                                      const struct field *fields) {
    struct ch_nearest near = ch_nearest(ch_json_str(key));
    for (const struct field *f = fields; f->key; f++)
        ch_nearest_try(&near, ch_sv_str(f->key));
    if (near.best.n)
        return scripted_rules_bad(r, where(r, key), "%.*s: unknown key, did you mean %.*s?",
                                  CH_SV_FMT(near.word), CH_SV_FMT(near.best));
    return scripted_rules_bad(r, where(r, key), "%.*s: unknown key", CH_SV_FMT(near.word));
}

static int read_mapping(struct reader *r, const struct ch_json *v, const char *name,
                        const struct field *fields, void *out) {
    if (v->type != CH_JSON_OBJECT)
        return wrong_type(r, v, name, "a mapping");
    for (CH_JSON_MEMBERS(key, value, v)) {
        const struct field *f = fields;
        while (f->key && !ch_sv_is(ch_json_str(key), f->key))
            f++;
        int rc = f->key ? f->read(r, value, f, (char *)out + f->offset)
                        : scripted_rules_unknown_key(r, key, fields);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* --- single values -------------------------------------------------------- */

static int scripted_rules_read_text(struct reader *r, const struct ch_json *v,
                                    const struct field *f, void *out) {
    if (v->type != CH_JSON_STRING)
        return wrong_type(r, v, f->key, "text (in quotes)");
    *(struct ch_sv *)out = ch_json_str(v);
    return 0;
}

static int read_template(struct reader *r, const struct ch_json *v, const struct field *f,
                         void *out) {
    struct ch_scripted_template *t = out;
    *t = (struct ch_scripted_template){.where = where(r, v)};
    return scripted_rules_read_text(r, v, f, &t->text);
}

static int read_integer(struct reader *r, const struct ch_json *v, const struct field *f,
                        void *out) {
    int64_t n;
    if (!ch_json_as_int(v, &n))
        return wrong_type(r, v, f->key, "a whole number");
    if (n < f->min || n > f->max)
        return scripted_rules_bad(r, where(r, v), "%s: %lld is not between %lld and %lld", f->key,
                                  (long long)n, (long long)f->min, (long long)f->max);
    *(int64_t *)out = n;
    return 0;
}

static int scripted_rules_read_seconds(struct reader *r, const struct ch_json *v,
                                       const struct field *f, void *out) {
    if (v->type != CH_JSON_NUMBER)
        return wrong_type(r, v, f->key, "a number of seconds");
    double n = ch_json_double(v, -1);
    if (!(n >= (double)f->min && n <= (double)f->max))
        return scripted_rules_bad(r, where(r, v), "%s: not between %lld and %lld", f->key,
                                  (long long)f->min, (long long)f->max);
    *(double *)out = n;
    return 0;
}

static int read_flag(struct reader *r, const struct ch_json *v, const struct field *f, void *out) {
    if (v->type != CH_JSON_TRUE && v->type != CH_JSON_FALSE)
        return wrong_type(r, v, f->key, "true or false");
    *(int *)out = v->type == CH_JSON_TRUE;
    return 0;
}

static int scripted_rules_read_choice(struct reader *r, const struct ch_json *v,
                                      const struct field *f, void *out) {
    struct ch_sv word = ch_json_str(v);
    CH_BUF_AUTO all = {0};
    for (const char *const *w = f->words; *w; w++) {
        if (v->type == CH_JSON_STRING && ch_sv_is(word, *w)) {
            *(struct ch_sv *)out = word;
            return 0;
        }
        ch_buf_addf(&all, "%s%s", all.n ? ", " : "", *w);
    }
    return scripted_rules_bad(r, where(r, v), "%s: expected one of %s", f->key, ch_buf_str(&all));
}

/* A name, or a list of names. */
static int scripted_rules_read_names(struct reader *r, const struct ch_json *v,
                                     const struct field *f, void *out) {
    struct ch_script_names *names = out;
    size_t n = v->type == CH_JSON_ARRAY ? v->n : 1;
    struct ch_sv *list = ch_arena_alloc(&r->script->arena, (n + 1) * sizeof(*list));
    *names = (struct ch_script_names){.v = list};
    if (v->type == CH_JSON_STRING)
        list[names->n++] = ch_json_str(v);
    else if (v->type != CH_JSON_ARRAY || n == 0)
        return wrong_type(r, v, f->key, "a name or a list of names");
    for (CH_JSON_EACH(e, v)) {
        if (e->type != CH_JSON_STRING)
            return wrong_type(r, e, f->key, "a name");
        list[names->n++] = ch_json_str(e);
    }
    return 0;
}

/* Classes such as [:alnum:] know the letters of all languages, and `.` matches a line feed. */
#define PATTERN_OPTIONS "(*UCP)(?s)"

static int scripted_rules_read_pattern(struct reader *r, const struct ch_json *v,
                                       const struct field *f, void *out) {
    struct chela_error why = {0};
    CH_BUF_AUTO source = {0};
    struct ch_sv text;
    int rc = scripted_rules_read_text(r, v, f, &text);
    if (rc < 0)
        return rc;
    if (text.n > CH_LIMIT_SCRIPT_PATTERN)
        return scripted_rules_bad(r, where(r, v), "%s: pattern longer than %zu bytes", f->key,
                                  CH_LIMIT_SCRIPT_PATTERN);
    CH_BUF_LIT(&source, PATTERN_OPTIONS);
    ch_buf_add_sv(&source, text);
    rc = ch_patterns_add_native(&r->script->patterns, ch_buf_sv(&source), out, &why);
    return rc < 0 ? scripted_rules_bad(r, where(r, v), "%s: bad pattern: %s", f->key, why.message)
                  : 0;
}

/* --- when ----------------------------------------------------------------- */

static int read_after(struct reader *r, const struct ch_json *v, const struct field *f, void *out) {
    struct ch_scripted_when *w = out;
    struct ch_sv word = ch_json_str(v);
    if (v->type == CH_JSON_NULL || ch_sv_is(word, "none"))
        w->after = CH_AFTER_NONE;
    else if (ch_sv_is(word, "any"))
        w->after = CH_AFTER_ANY;
    else
        w->after = CH_AFTER_TOOLS;
    return w->after == CH_AFTER_TOOLS ? scripted_rules_read_names(r, v, f, &w->after_tools) : 0;
}

#define IN(type, member) offsetof(struct type, member)

static const struct field when_fields[] = {
    {"user", scripted_rules_read_pattern, IN(ch_scripted_when, user), 0, 0, NULL},
    {"after", read_after, 0, 0, 0, NULL},
    {"result", scripted_rules_read_pattern, IN(ch_scripted_when, result), 0, 0, NULL},
    {"is_error", read_flag, IN(ch_scripted_when, is_error), 0, 0, NULL},
    {"turn", read_integer, IN(ch_scripted_when, turn), 1, INT32_MAX, NULL},
    {"message", read_integer, IN(ch_scripted_when, message), 1, INT32_MAX, NULL},
    {"tools", scripted_rules_read_names, IN(ch_scripted_when, tools), 0, 0, NULL},
    {"system", scripted_rules_read_pattern, IN(ch_scripted_when, system), 0, 0, NULL},
    {0},
};

static int scripted_rules_read_when(struct reader *r, const struct ch_json *v,
                                    const struct field *f, void *out) {
    struct ch_scripted_when *w = out;
    int rc = read_mapping(r, v, f->key, when_fields, w);
    if (rc < 0)
        return rc;
    if (w->after == CH_AFTER_NONE && (w->result || w->is_error >= 0))
        return scripted_rules_bad(r, where(r, v), "when: after none has no result to look at");
    if (ch_when_groups(w) > CH_SCRIPT_GROUPS)
        return scripted_rules_bad(r, where(r, v), "when: more than %d groups in its patterns",
                                  CH_SCRIPT_GROUPS);
    return 0;
}

/* --- call ----------------------------------------------------------------- */

/* Arguments are kept as JSON text. In JSON, two braces in a row occur only inside strings,
 * so templates are found as in any text. */
static int read_args(struct reader *r, const struct ch_json *v, const struct field *f, void *out) {
    if (v->type != CH_JSON_OBJECT)
        return wrong_type(r, v, f->key, "a mapping");
    CH_BUF_AUTO json = {0};
    struct ch_jw w = ch_jw(&json);
    ch_jw_value(&w, v);
    *(struct ch_scripted_template *)out = (struct ch_scripted_template){
        .text = ch_arena_sv(&r->script->arena, ch_buf_sv(&json)),
        .where = where(r, v),
        .json = true,
    };
    return 0;
}

static const struct field call_fields[] = {
    {"tool", scripted_rules_read_text, IN(ch_script_call, tool), 0, 0, NULL},
    {"args", read_args, IN(ch_script_call, args), 0, 0, NULL},
    {"raw", read_template, IN(ch_script_call, args), 0, 0, NULL},
    {"id", scripted_rules_read_text, IN(ch_script_call, id), 0, 0, NULL},
    {0},
};

static int scripted_rules_read_call(struct reader *r, const struct ch_json *v,
                                    struct ch_script_call *call) {
    *call = (struct ch_script_call){.args = {.text = CH_SV("{}"), .json = true}};
    int rc = read_mapping(r, v, "call", call_fields, call);
    if (rc < 0)
        return rc;
    if (call->tool.n == 0)
        return scripted_rules_bad(r, where(r, v), "call: which tool? `tool` is missing");
    if (ch_json_get(v, "args") && ch_json_get(v, "raw"))
        return scripted_rules_bad(r, where(r, v), "call: args and raw exclude each other");
    return 0;
}

static int scripted_rules_read_calls(struct reader *r, const struct ch_json *v,
                                     const struct field *f, void *out) {
    (void)f;
    struct ch_rule *rule = out;
    bool list = v->type == CH_JSON_ARRAY;
    size_t n = list ? v->n : 1;
    if (n == 0 || n > CH_LIMIT_CALLS_READ)
        return scripted_rules_bad(r, where(r, v), "call: expected 1 to %d calls",
                                  CH_LIMIT_CALLS_READ);
    struct ch_script_call *calls = ch_arena_alloc(&r->script->arena, n * sizeof(*calls));
    rule->calls = calls;
    if (!list) {
        rule->ncalls = 1;
        return scripted_rules_read_call(r, v, calls);
    }
    for (CH_JSON_EACH(e, v)) {
        int rc = scripted_rules_read_call(r, e, &calls[rule->ncalls++]);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* --- fail ----------------------------------------------------------------- */

static const struct field fail_fields[] = {
    {"status", read_integer, IN(ch_script_fail, status), 300, 599, NULL},
    {"type", scripted_rules_read_text, IN(ch_script_fail, type), 0, 0, NULL},
    {"message", read_template, IN(ch_script_fail, message), 0, 0, NULL},
    {"retry_after", scripted_rules_read_seconds, IN(ch_script_fail, retry_after), 0, 86400, NULL},
    {"network", scripted_rules_read_text, IN(ch_script_fail, network), 0, 0, NULL},
    {0},
};

static int read_fail(struct reader *r, const struct ch_json *v, const struct field *f, void *out) {
    struct ch_rule *rule = out;
    int rc = read_mapping(r, v, f->key, fail_fields, &rule->fail);
    if (rc < 0)
        return rc;
    const struct ch_script_fail *fail = &rule->fail;
    if (fail->network.p && v->n > 1)
        return scripted_rules_bad(r, where(r, v), "fail: network excludes the other keys");
    rule->failing = fail->network.p ? CH_FAIL_NETWORK
                    : fail->status  ? CH_FAIL_STATUS
                    : fail->type.p  ? CH_FAIL_IN_STREAM
                                    : CH_FAIL_NOT;
    if (rule->failing == CH_FAIL_NOT)
        return scripted_rules_bad(r, where(r, v), "fail: needs status, type or network");
    if (rule->failing == CH_FAIL_IN_STREAM && fail->retry_after >= 0)
        return scripted_rules_bad(r, where(r, v), "fail: retry_after needs a status");
    return 0;
}

/* --- rules ---------------------------------------------------------------- */

static const struct field usage_fields[] = {
    {"input", read_integer, IN(ch_rule, input), 0, INT32_MAX, NULL},
    {"output", read_integer, IN(ch_rule, output), 0, INT32_MAX, NULL},
    {"cache_read", read_integer, IN(ch_rule, cache_read), 0, INT32_MAX, NULL},
    {"cache_write", read_integer, IN(ch_rule, cache_write), 0, INT32_MAX, NULL},
    {0},
};

static int scripted_rules_read_usage(struct reader *r, const struct ch_json *v,
                                     const struct field *f, void *out) {
    return read_mapping(r, v, f->key, usage_fields, out);
}

static const char *const stop_words[] = {"end_turn",   "tool_use", "max_tokens", "stop_sequence",
                                         "pause_turn", "refusal",  NULL};

#define ONE_HOUR_MS 3600000

static const struct field rule_fields[] = {
    {"when", scripted_rules_read_when, IN(ch_rule, when), 0, 0, NULL},
    {"say", read_template, IN(ch_rule, say), 0, 0, NULL},
    {"think", read_template, IN(ch_rule, think), 0, 0, NULL},
    {"call", scripted_rules_read_calls, 0, 0, 0, NULL},
    {"fail", read_fail, 0, 0, 0, NULL},
    {"stop", scripted_rules_read_choice, IN(ch_rule, stop), 0, 0, stop_words},
    {"cut_after", read_integer, IN(ch_rule, cut_after), 0, INT32_MAX, NULL},
    {"stall_after", read_integer, IN(ch_rule, stall_after), 0, INT32_MAX, NULL},
    {"delay_ms", read_integer, IN(ch_rule, delay_ms), 0, ONE_HOUR_MS, NULL},
    {"pace_ms", read_integer, IN(ch_rule, pace_ms), 0, ONE_HOUR_MS, NULL},
    {"usage", scripted_rules_read_usage, 0, 0, 0, NULL},
    {"times", read_integer, IN(ch_rule, times), 1, INT32_MAX, NULL},
    {0},
};

static int check_template(struct reader *r, const struct ch_rule *rule, const char *key,
                          const struct ch_scripted_template *t) {
    struct ch_sv name;
    if (ch_template_valid(t, ch_when_groups(&rule->when), &name))
        return 0;
    name = ch_utf8_cut(name, 80);
    return scripted_rules_bad(r, t->where, "%s: unknown template {{%.*s", key, CH_SV_FMT(name));
}

static int check_templates(struct reader *r, const struct ch_rule *rule) {
    int rc = check_template(r, rule, "say", &rule->say);
    if (rc == 0)
        rc = check_template(r, rule, "think", &rule->think);
    if (rc == 0)
        rc = check_template(r, rule, "message", &rule->fail.message);
    for (size_t i = 0; rc == 0 && i < rule->ncalls; i++)
        rc = check_template(r, rule, rule->calls[i].args.json ? "args" : "raw",
                            &rule->calls[i].args);
    return rc;
}

static int check_rule(struct reader *r, const struct ch_rule *rule) {
    bool content = rule->say.text.p || rule->think.text.p || rule->ncalls;
    if (!content && rule->failing == CH_FAIL_NOT)
        return scripted_rules_bad(r, rule->where,
                                  "rule %zu does nothing: say, think, call or fail is missing",
                                  rule->number);
    bool alone = rule->failing == CH_FAIL_STATUS || rule->failing == CH_FAIL_NETWORK;
    if (alone && content)
        return scripted_rules_bad(r, rule->where,
                                  "rule %zu: fail with status or network sends no reply, "
                                  "so say, think and call do not fit",
                                  rule->number);
    if (rule->failing != CH_FAIL_NOT && (rule->cut_after >= 0 || rule->stall_after >= 0))
        return scripted_rules_bad(
            r, rule->where, "rule %zu: fail excludes cut_after and stall_after", rule->number);
    if (rule->cut_after >= 0 && rule->stall_after >= 0)
        return scripted_rules_bad(
            r, rule->where, "rule %zu: cut_after and stall_after exclude each other", rule->number);
    return check_templates(r, rule);
}

static int scripted_rules_read(struct reader *r, const struct ch_json *v, const struct field *f,
                               void *out) {
    struct ch_script *s = out;
    if (v->type != CH_JSON_ARRAY || v->n == 0)
        return wrong_type(r, v, f->key, "a list of rules");
    if (v->n > CH_LIMIT_SCRIPT_RULES)
        return scripted_rules_bad(r, where(r, v), "rules: more than %d", CH_LIMIT_SCRIPT_RULES);
    s->rules = ch_arena_zalloc(&s->arena, v->n * sizeof(*s->rules));
    for (CH_JSON_EACH(e, v)) {
        struct ch_rule *rule = &s->rules[s->nrules++];
        *rule = (struct ch_rule){
            .number = s->nrules,
            .where = where(r, e),
            .when = {.is_error = -1},
            .fail = {.retry_after = -1},
            .cut_after = -1,
            .stall_after = -1,
            .input = -1,
            .output = -1,
            .cache_read = -1,
            .cache_write = -1,
        };
        int rc = read_mapping(r, e, "rule", rule_fields, rule);
        if (rc == 0)
            rc = check_rule(r, rule);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static const struct field file_fields[] = {
    {"rules", scripted_rules_read, 0, 0, 0, NULL},
    {0},
};

int ch_script_read(struct ch_script *s, struct ch_sv text, const char *name,
                   struct chela_error *err) {
    struct reader r = {.script = s, .err = err};
    int rc = ch_yaml_parse(&s->arena, text, name, &r.yaml, err);
    if (rc < 0)
        return rc;
    s->name = r.yaml.name;
    rc = read_mapping(&r, r.yaml.root, "rule file", file_fields, s);
    if (rc == 0 && s->nrules == 0)
        return scripted_rules_bad(&r, where(&r, r.yaml.root), "rules: missing");
    return rc;
}

void ch_script_release(struct ch_script *s) {
    ch_patterns_release(&s->patterns);
    ch_arena_release(&s->arena);
    *s = (struct ch_script){0};
}
