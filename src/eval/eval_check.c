/* eval_check.c -- see eval_check.h. */
#include "eval/eval_check.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "json/writer.h"

#define MOST_QUOTED 300 /* bytes of a text in a reason */
#define FUEL 1000000

static void add_quoted(struct ch_buf *out, struct ch_sv text) {
    struct ch_sv cut = ch_utf8_cut(text, MOST_QUOTED);
    ch_json_quote(out, cut);
    if (cut.n < text.n)
        ch_buf_addf(out, "... (%zu bytes)", text.n);
}

static bool differs(struct ch_buf *why, const char *expected, struct ch_sv what,
                    struct ch_sv got) {
    ch_buf_addf(why, "%s ", expected);
    add_quoted(why, what);
    ch_buf_add_str(why, ", got ");
    add_quoted(why, got);
    return false;
}

/* --- content ----------------------------------------------------------------------------- */

static bool parse(struct ch_arena *arena, struct ch_sv text, const struct ch_json **out,
                  struct ch_buf *why) {
    struct chela_error err = {0};
    if (ch_json_parse(arena, text, CH_JSON_STRICT, out, NULL, &err) == 0)
        return true;
    ch_buf_addf(why, "expected JSON: %s", err.message);
    return false;
}

static bool check_schema(struct ch_schema *schema, struct ch_sv text, struct ch_buf *why) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    struct ch_violations found = {0};
    if (!parse(&arena, text, &v, why))
        return false;
    if (ch_schema_check(schema, v, &arena, &found) == 0)
        return true;
    if (found.n)
        ch_buf_addf(why, "%.*s", CH_SV_FMT(found.list[0].message));
    return false;
}

/* Surrounding white space does not count: models and editors add line ends. */
static bool check_equals(const struct ch_eval_check *k, struct ch_sv text, struct ch_buf *why) {
    CH_ARENA_AUTO arena = {0};
    const struct ch_json *v;
    if (!k->json)
        return ch_sv_eq(ch_sv_trim(text), ch_sv_trim(ch_sv_str(k->text))) ||
               differs(why, "expected", ch_sv_str(k->text), text);
    if (!parse(&arena, text, &v, why))
        return false;
    if (ch_json_equal(v, k->json))
        return true;
    CH_BUF_AUTO wanted = {0};
    struct ch_jw w = ch_jw(&wanted);
    ch_jw_value(&w, k->json);
    return differs(why, "expected", ch_buf_sv(&wanted), text);
}

static bool check_matches(const struct ch_eval_check *k, struct ch_sv text, struct ch_buf *why) {
    int64_t fuel = FUEL;
    int found = ch_pattern_match(k->pattern, text, &fuel);
    if (found < 0)
        ch_buf_addf(why, "the pattern %s takes too many steps", k->text);
    return found > 0 || (found == 0 && differs(why, "expected a match of", ch_sv_str(k->text),
                                               text));
}

static bool check_content(const struct ch_eval_check *k, struct ch_sv text, struct ch_buf *why) {
    switch (k->kind) {
    case CH_EVAL_EQUALS:
        return check_equals(k, text, why);
    case CH_EVAL_MATCHES:
        return check_matches(k, text, why);
    case CH_EVAL_CONTAINS:
        return memmem(text.p ? text.p : "", text.n, k->text, strlen(k->text)) ||
               differs(why, "expected a text that contains", ch_sv_str(k->text), text);
    default:
        return check_schema(k->schema, text, why);
    }
}

static bool check_file(const struct ch_eval_check *k, const struct ch_eval_outcome *o,
                       struct ch_buf *why) {
    CH_BUF_AUTO content = {0};
    struct chela_error err = {0};
    int rc = o->file ? o->file(k->file, &content, &err, o->user) : CHELA_ENOENT;
    if (k->kind == CH_EVAL_ABSENT) {
        if (rc != CHELA_ENOENT)
            ch_buf_addf(why, "expected no file %s, but there is one", k->file);
        return rc == CHELA_ENOENT;
    }
    if (rc == 0)
        return check_content(k, ch_buf_sv(&content), why);
    ch_buf_addf(why, rc == CHELA_ENOENT ? "there is no file %s" : "%s cannot be read", k->file);
    return false;
}

/* --- calls ------------------------------------------------------------------------------- */

static void add_calls(struct ch_buf *out, const struct ch_eval_outcome *o) {
    if (!o->ncalls)
        ch_buf_add_str(out, "no call was made");
    for (size_t i = 0; i < o->ncalls && i < 20; i++)
        ch_buf_addf(out, "%s%.*s", i ? ", " : "calls: ", CH_SV_FMT(o->calls[i].name));
    if (o->ncalls > 20)
        ch_buf_add_str(out, ", ...");
}

static bool check_include(const struct ch_eval_check *k, const struct ch_eval_outcome *o,
                          struct ch_buf *why) {
    CH_BUF_AUTO reason = {0};
    for (size_t i = 0; i < o->ncalls; i++) {
        if (!ch_sv_is(o->calls[i].name, k->text))
            continue;
        ch_buf_clear(&reason);
        if (!k->schema || check_schema(k->schema, o->calls[i].arguments, &reason))
            return true;
    }
    if (reason.n)
        ch_buf_addf(why, "%s was called with other arguments: %s", k->text, ch_buf_str(&reason));
    else
        ch_buf_addf(why, "expected a call of %s; ", k->text);
    if (!reason.n)
        add_calls(why, o);
    return false;
}

static bool check_exclude(const struct ch_eval_check *k, const struct ch_eval_outcome *o,
                          struct ch_buf *why) {
    for (size_t i = 0; i < o->ncalls; i++) {
        if (!ch_sv_is(o->calls[i].name, k->text))
            continue;
        ch_buf_addf(why, "%s was called, with ", k->text);
        add_quoted(why, o->calls[i].arguments);
        return false;
    }
    return true;
}

static bool check_order(const struct ch_eval_check *k, const struct ch_eval_outcome *o,
                        struct ch_buf *why) {
    size_t at = 0;
    for (CH_JSON_EACH(e, k->json)) {
        while (at < o->ncalls && !ch_sv_eq(o->calls[at].name, ch_json_str(e)))
            at++;
        if (at++ < o->ncalls)
            continue;
        ch_buf_addf(why, "expected a call of %.*s at its place; ", CH_SV_FMT(ch_json_str(e)));
        add_calls(why, o);
        return false;
    }
    return true;
}

/* --- status and budget ------------------------------------------------------------------- */

static bool is_status(struct ch_sv word, const struct ch_eval_outcome *o) {
    return ch_sv_is(word, o->status) || ch_sv_is(word, o->reason);
}

static bool check_status(const struct ch_eval_check *k, const struct ch_eval_outcome *o,
                         struct ch_buf *why) {
    bool is = is_status(ch_json_str(k->json), o);
    for (CH_JSON_EACH(e, k->json))
        is |= is_status(ch_json_str(e), o);
    if (is)
        return true;
    ch_buf_add_str(why, "expected status ");
    ch_json_add_text(why, k->json);
    ch_buf_addf(why, ", got %s (%s)", o->status, o->reason);
    if (o->error.n)
        ch_buf_addf(why, ": %.*s", CH_SV_FMT(ch_utf8_cut(o->error, MOST_QUOTED)));
    return false;
}

bool ch_eval_check_ended(const struct ch_eval_outcome *o, struct ch_buf *why) {
    if (strcmp(o->status, "done") == 0 || strcmp(o->status, "declined") == 0)
        return true;
    ch_buf_addf(why, "the run ended with status %s (%s)", o->status, o->reason);
    if (o->error.n)
        ch_buf_addf(why, ": %.*s", CH_SV_FMT(ch_utf8_cut(o->error, MOST_QUOTED)));
    return false;
}

static bool check_most(const struct ch_eval_check *k, double used, const char *unit,
                       struct ch_buf *why) {
    if (used < 0)
        ch_buf_add_str(why, "the cost is unknown, because the model has no price");
    else if (used > k->most)
        ch_buf_addf(why, "expected at most %g %s, got %g", k->most, unit, used);
    return used >= 0 && used <= k->most;
}

/* --- one check --------------------------------------------------------------------------- */

bool ch_eval_check_is_pure(const struct ch_eval_check *k) {
    return k->kind != CH_EVAL_JUDGE && k->kind != CH_EVAL_PROGRAM;
}

bool ch_eval_check(const struct ch_eval_check *k, const struct ch_eval_outcome *o,
                   struct ch_buf *why) {
    switch (k->kind) {
    case CH_EVAL_INCLUDE:
        return check_include(k, o, why);
    case CH_EVAL_EXCLUDE:
        return check_exclude(k, o, why);
    case CH_EVAL_ORDER:
        return check_order(k, o, why);
    case CH_EVAL_STATUS:
        return check_status(k, o, why);
    case CH_EVAL_TURNS:
        return check_most(k, o->turns, "turns", why);
    case CH_EVAL_TOKENS:
        return check_most(k, (double)o->tokens, "tokens", why);
    case CH_EVAL_COST:
        return check_most(k, o->cost, "US dollars", why);
    case CH_EVAL_SECONDS:
        return check_most(k, o->seconds, "seconds", why);
    default:
        return k->file ? check_file(k, o, why) : check_content(k, o->text, why);
    }
}
