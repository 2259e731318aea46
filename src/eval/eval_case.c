/* eval_case.c -- see eval_case.h. The checks of a case are in eval_case_checks.c. */
#include "eval/eval_case.h"

#include "base/error.h"
#include "base/limits.h"
#include "eval/eval_case_checks.h"

void ch_eval_file_release(struct ch_eval_file *f) {
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 0; k < f->list[i].nchecks; k++)
            ch_schema_free(f->list[i].checks[k].schema);
    ch_patterns_release(&f->patterns);
    ch_arena_release(&f->arena);
    *f = (struct ch_eval_file){0};
}

const struct ch_eval_tool *ch_eval_case_tool(const struct ch_eval_case *c, struct ch_sv name) {
    for (size_t i = 0; i < c->ntools; i++)
        if (ch_sv_is(name, c->tools[i].name))
            return &c->tools[i];
    return NULL;
}

/* --- turns ------------------------------------------------------------------------------- */

static int read_turn(struct ch_eval_reader *r, const struct ch_json *v) {
    static const char *const keys[] = {"text", "sender"};
    struct ch_eval_turn *turn = &r->c->turns[r->c->nturns++];
    if (v->type == CH_JSON_STRING) {
        turn->text = ch_arena_text(&r->f->arena, ch_json_str(v));
    } else if (v->type == CH_JSON_OBJECT) {
        int rc = ch_eval_known_keys(r, v, keys, CH_LEN(keys));
        if (rc < 0)
            return rc;
        turn->text = ch_arena_text(&r->f->arena, ch_json_get_str(v, "text"));
        if (ch_json_get(v, "sender"))
            turn->sender = ch_arena_text(&r->f->arena, ch_json_get_str(v, "sender"));
    }
    return turn->text && *turn->text
               ? 0
               : ch_eval_bad(r, v, "expected a text, or { text: ..., sender: ... }");
}

static int read_turns(struct ch_eval_reader *r, const struct ch_json *v) {
    const struct ch_json *input = ch_json_get(v, "input"), *turns = ch_json_get(v, "turns");
    if (!input == !turns)
        return ch_eval_bad(r, v, input ? "input and turns exclude each other: use one"
                                       : "the case needs an input, or turns");
    size_t n = turns && turns->type == CH_JSON_ARRAY ? turns->n : 1;
    if (turns && (turns->type != CH_JSON_ARRAY || !n))
        return ch_eval_bad(r, turns, "turns: expected a list of texts");
    if (n > CH_LIMIT_EVAL_TURNS)
        return ch_eval_bad(r, turns, "turns: more than the limit of turns of a case");
    r->c->turns = ch_arena_zalloc(&r->f->arena, n * sizeof(*r->c->turns));
    int rc = input ? read_turn(r, input) : 0;
    for (CH_JSON_EACH(e, turns))
        rc = rc == 0 ? read_turn(r, e) : rc;
    return rc;
}

/* --- tools ------------------------------------------------------------------------------- */

static int read_source(struct ch_eval_reader *r, const struct ch_json *v,
                       struct ch_eval_tool *out) {
    static const char *const keys[] = {"result", "error", "program"};
    struct ch_sv word = ch_json_str(v);
    out->source = ch_sv_is(word, "recorded") ? CH_EVAL_RECORDED : CH_EVAL_REAL;
    if (v->type == CH_JSON_STRING)
        return out->source == CH_EVAL_RECORDED || ch_sv_is(word, "real")
                   ? 0
                   : ch_eval_bad(r, v, "expected real, recorded, { result: ... }, { error: TEXT } "
                                       "or { program: [...] }");
    if (v->type != CH_JSON_OBJECT || v->n != 1)
        return ch_eval_bad(r, v, "expected one of real, recorded, { result: ... }, { error: TEXT } "
                                 "and { program: [...] }");
    int rc = ch_eval_known_keys(r, v, keys, CH_LEN(keys));
    const struct ch_json *error = ch_json_get(v, "error"), *program = ch_json_get(v, "program");
    out->source = program ? CH_EVAL_COMMAND : CH_EVAL_RESULT;
    out->result = program ? program : error ? error : ch_json_get(v, "result");
    out->is_error = error != NULL;
    return rc == 0 && program ? ch_eval_check_argv(r, program) : rc;
}

static int read_tools(struct ch_eval_reader *r, const struct ch_json *v) {
    struct ch_eval_case *c = r->c;
    if (!v)
        return 0;
    if (v->type != CH_JSON_OBJECT)
        return ch_eval_bad(r, v, "tools: expected a mapping, as in { exec: real }");
    c->tools = ch_arena_zalloc(&r->f->arena, (v->n + 1) * sizeof(*c->tools));
    for (CH_JSON_MEMBERS(k, e, v)) {
        struct ch_eval_tool *t = &c->tools[c->ntools++];
        t->name = ch_arena_text(&r->f->arena, ch_json_str(k));
        int rc = read_source(r, e, t);
        if (rc < 0)
            return rc;
        if (t->source == CH_EVAL_RECORDED && !c->recorded)
            return ch_eval_bad(r, e, "the case has no list `recorded` with results of this tool");
    }
    return 0;
}

static int check_list(struct ch_eval_reader *r, const struct ch_json *v, const char *member,
                      const char *why) {
    if (v && v->type != CH_JSON_ARRAY)
        return ch_eval_bad(r, v, why);
    for (CH_JSON_EACH(e, v))
        if (member ? !ch_json_get_str(e, member).n : e->type != CH_JSON_STRING)
            return ch_eval_bad(r, e, why);
    return 0;
}

/* --- a case ------------------------------------------------------------------------------ */

static int read_text(struct ch_eval_reader *r, const struct ch_json *v, const char *key,
                     const char **out) {
    const struct ch_json *member = ch_json_get(v, key);
    if (!member)
        return 0;
    if (!ch_json_str(member).n)
        return ch_eval_bad(r, member, "expected a text");
    *out = ch_arena_text(&r->f->arena, ch_json_str(member));
    return 0;
}

static int read_case(struct ch_eval_reader *r, const struct ch_json *v) {
    static const char *const keys[] = {"name",     "input",   "turns", "agent",  "workspace",
                                       "tools",    "recorded", "history", "tags", "checks",
                                       "note"};
    struct ch_eval_case *c = r->c;
    if (v->type != CH_JSON_OBJECT || !ch_json_get_str(v, "name").n)
        return ch_eval_bad(r, v, "expected a case, with a name");
    c->name = ch_arena_text(&r->f->arena, ch_json_get_str(v, "name"));
    c->recorded = ch_json_get(v, "recorded");
    c->history = ch_json_get(v, "history");
    c->tags = ch_json_get(v, "tags");
    c->whole = v;
    int rc = ch_eval_known_keys(r, v, keys, CH_LEN(keys));
    if (rc == 0)
        rc = read_text(r, v, "agent", &c->agent);
    if (rc == 0)
        rc = read_text(r, v, "workspace", &c->workspace);
    if (rc == 0)
        rc = read_turns(r, v);
    if (rc == 0)
        rc = check_list(r, c->recorded, "name", "recorded: expected [{ name, arguments, result }]");
    if (rc == 0)
        rc = check_list(r, c->history, "role", "history: expected a list of messages");
    if (rc == 0)
        rc = check_list(r, c->tags, NULL, "tags: expected a list of words");
    if (rc == 0)
        rc = read_tools(r, ch_json_get(v, "tools"));
    return rc < 0 ? rc : ch_eval_read_checks(r, v, ch_json_get(v, "checks"));
}

static int read_named(struct ch_eval_reader *r, const struct ch_json *v, struct chela_error *err) {
    struct ch_eval_file *f = r->f;
    struct ch_json_where w = ch_yaml_where(&f->yaml, v);
    r->c = &f->list[f->n++];
    r->err = err;
    r->c->folder = f->folder;
    r->c->where = ch_arena_printf(&f->arena, "%s:%u:%u", f->yaml.name, w.line, w.column);
    int rc = read_case(r, v);
    for (size_t i = 0; rc == 0 && i + 1 < f->n; i++)
        if (f->list[i].name && strcmp(f->list[i].name, r->c->name) == 0)
            rc = ch_eval_bad(r, v, "there is a case of that name already");
    return rc;
}

/* Reads all cases, so that the error tells how many are wrong. */
static int read_all(struct ch_eval_reader *r, const struct ch_json *list,
                    struct chela_error *err) {
    struct chela_error first = {0};
    size_t wrong = 0;
    for (CH_JSON_EACH(v, list)) {
        struct chela_error why = {0};
        if (read_named(r, v, &why) == 0)
            continue;
        if (!wrong++)
            first = why;
    }
    if (wrong > 1)
        return ch_fail(err, first.code, "%s (%zu of %u cases are wrong; none was run)",
                       first.message, wrong, list->n);
    return wrong ? ch_fail(err, first.code, "%s", first.message) : 0;
}

int ch_eval_file_read(struct ch_eval_file *f, struct ch_sv text, const char *name,
                      struct chela_error *err) {
    static const char *const keys[] = {"cases", "lost", "note"};
    struct ch_eval_reader r = {.f = f, .err = err};
    const char *slash = strrchr(name, '/');
    int rc = ch_yaml_parse(&f->arena, text, name, &f->yaml, err);
    if (rc < 0)
        return rc;
    size_t folder = slash ? (size_t)(slash - name) + (slash == name) : 0;
    f->folder = ch_arena_str(&f->arena, ch_sv(name, folder));
    const struct ch_json *list = ch_json_get(f->yaml.root, "cases");
    if (!ch_json_is(list, CH_JSON_ARRAY) || !list->n)
        return ch_eval_bad(&r, list ? list : f->yaml.root,
                           "cases: expected a list of at least one case");
    if (list->n > CH_LIMIT_EVAL_CASES)
        return ch_fail(err, CHELA_ELIMIT, "%s: more than %d cases", name, CH_LIMIT_EVAL_CASES);
    rc = ch_eval_known_keys(&r, f->yaml.root, keys, CH_LEN(keys));
    f->list = ch_arena_zalloc(&f->arena, list->n * sizeof(*f->list));
    return rc < 0 ? rc : read_all(&r, list, err);
}
