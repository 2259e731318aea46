/* mcp_ask.c -- see mcp_ask.h.
 *
 * The state is a JSON object:
 *
 *     round         how often the server has asked
 *     requests      {KEY: {method, params}}
 *     requestState  for the server; absent: none
 *     answers       {KEY: result}
 *     form          {FIELD: value} of the first request without a result; null: left out
 *     problem       why the last answer was not accepted; absent: none
 *     tries         answers to the current field that were not accepted
 *     unasked       true: answers of a model need no consent
 *     agreed        true: a person agreed to the first request without a result
 *     refused       true: a person declined the first request without a result */
#include "mcp/mcp_ask.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "json/writer.h"
#include "mcp/mcp_protocol.h"
#include "mcp/mcp_sampling.h"
#include "net/url.h"
#include "schema/schema.h"

#define MOST_TRIES 3
#define MESSAGE_MAX 2000 /* bytes of the server's message in a question */
#define FIELD_MAX 500    /* bytes of the text of a field */

struct ch_mcp_asking {
    struct ch_arena arena;
    const struct ch_json *root, *requests, *answers, *form;
    struct ch_sv key;             /* key of the current request; p NULL: all are answered */
    const struct ch_json *params; /* parameters of the current request */
    bool sample;                  /* the current request is for an answer of a model */
    struct ch_sv field;           /* the current field of its form; p NULL: none is left */
    const struct ch_json *schema; /* of the field */
};

static const struct ch_json *form_of(const struct ch_json *params) {
    return ch_json_path(params, "requestedSchema", "properties", NULL);
}

static bool is_url(const struct ch_mcp_asking *a) {
    return !a->sample && ch_sv_is(ch_json_get_str(a->params, "mode"), "url");
}

static bool asks_for(const struct ch_json *request, const char *method) {
    return ch_sv_is(ch_json_get_str(request, "method"), method);
}

static bool is_sample(const struct ch_json *request) {
    return asks_for(request, "sampling/createMessage");
}

static bool has_flag(const struct ch_mcp_asking *a, const char *name) {
    return ch_json_bool(ch_json_get(a->root, name), false);
}

/* Find the first request and field without an answer. */
static void find_current(struct ch_mcp_asking *a) {
    for (CH_JSON_MEMBERS(key, request, a->requests)) {
        if (a->key.p || ch_json_get_sv(a->answers, ch_json_str(key)))
            continue;
        a->key = ch_json_str(key);
        a->params = ch_json_get(request, "params");
        a->sample = is_sample(request);
    }
    if (a->sample)
        return;
    for (CH_JSON_MEMBERS(name, property, form_of(a->params))) {
        if (a->field.p || ch_json_get_sv(a->form, ch_json_str(name)) || is_url(a))
            continue;
        a->field = ch_json_str(name);
        a->schema = property;
    }
}

static int read_state(struct ch_mcp_asking *a, struct ch_sv state, struct chela_error *err) {
    *a = (struct ch_mcp_asking){.root = NULL};
    struct ch_sv copy = ch_arena_sv(&a->arena, state);
    if (ch_json_parse(&a->arena, copy, CH_JSON_STRICT, &a->root, NULL, NULL) < 0 ||
        !ch_json_is(ch_json_get(a->root, "requests"), CH_JSON_OBJECT)) {
        ch_arena_release(&a->arena);
        return ch_fail(err, CHELA_EPARSE, "the stored state of the call is damaged");
    }
    a->requests = ch_json_get(a->root, "requests");
    a->answers = ch_json_get(a->root, "answers");
    a->form = ch_json_get(a->root, "form");
    find_current(a);
    return 0;
}

/* --- writing the state */

/* A member that replaces or extends an object. */
struct ch_mcp_change {
    struct ch_sv key;
    struct ch_sv value; /* JSON; p NULL: no change */
};

static void write_members(struct ch_jw *w, const char *name, const struct ch_json *object,
                          struct ch_mcp_change more) {
    ch_jw_kbegin(w, name, '{');
    for (CH_JSON_MEMBERS(key, value, object)) {
        ch_jw_key_sv(w, ch_json_str(key));
        ch_jw_value(w, value);
    }
    if (more.value.p) {
        ch_jw_key_sv(w, more.key);
        ch_jw_raw(w, more.value);
    }
    ch_jw_end(w, '}');
}

/* The state with an answer to the current request, or with a field of its form. */
static void rewrite(struct ch_buf *state, const struct ch_mcp_asking *a, struct ch_sv result,
                    struct ch_sv field) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    const struct ch_json *kept = ch_json_get(a->root, "requestState");

    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "round", ch_json_int(ch_json_get(a->root, "round"), 1));
    ch_jw_kvalue(&w, "requests", a->requests);
    if (kept) {
        ch_jw_kvalue(&w, "requestState", kept);
    }
    if (has_flag(a, "unasked"))
        ch_jw_kbool(&w, "unasked", true);
    write_members(&w, "answers", a->answers, (struct ch_mcp_change){a->key, result});
    if (!result.p)
        write_members(&w, "form", a->form, (struct ch_mcp_change){a->field, field});
    ch_jw_end(&w, '}');
    ch_buf_clear(state);
    ch_buf_add_sv(state, ch_buf_sv(&out));
}

/* Rewrites the state with a further member whose value is true. */
static void rewrite_flag(struct ch_buf *state, const struct ch_mcp_asking *a, const char *flag) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);

    ch_jw_begin(&w, '{');
    for (CH_JSON_MEMBERS(key, value, a->root)) {
        ch_jw_key_sv(&w, ch_json_str(key));
        ch_jw_value(&w, value);
    }
    ch_jw_kbool(&w, flag, true);
    ch_jw_end(&w, '}');
    ch_buf_clear(state);
    ch_buf_add_sv(state, ch_buf_sv(&out));
}

/* The answer was not accepted: the same question is asked again. */
static void rewrite_problem(struct ch_buf *state, const struct ch_mcp_asking *a, int64_t tries,
                            struct ch_sv problem) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);

    ch_jw_begin(&w, '{');
    for (CH_JSON_MEMBERS(key, value, a->root)) {
        if (ch_sv_is(ch_json_str(key), "problem") || ch_sv_is(ch_json_str(key), "tries"))
            continue;
        ch_jw_key_sv(&w, ch_json_str(key));
        ch_jw_value(&w, value);
    }
    ch_jw_kint(&w, "tries", tries);
    ch_jw_kstr(&w, "problem", ch_utf8_cut(problem, FIELD_MAX));
    ch_jw_end(&w, '}');
    ch_buf_clear(state);
    ch_buf_add_sv(state, ch_buf_sv(&out));
}

/* --- the beginning */

static bool is_roots(const struct ch_json *request) {
    return asks_for(request, "roots/list");
}

static int check_requests(const struct ch_json *requests, const struct ch_mcp_may *may,
                          struct chela_error *err) {
    int rc = 0;

    for (CH_JSON_MEMBERS(key, request, requests)) {
        struct ch_sv method = ch_json_get_str(request, "method");
        (void)key;
        if (rc == 0 && may->samples && is_sample(request))
            rc = ch_mcp_sampling_check(ch_json_get(request, "params"), err);
        else if (rc == 0 && !asks_for(request, "elicitation/create") &&
                 !(may->roots.p && is_roots(request)))
            rc = ch_fail(err, CHELA_EPROTO,
                         "the server asks for input (%.*s), and nobody can give it",
                         (int)CH_MIN(method.n, 100), method.p ? method.p : "");
    }
    return rc;
}

int ch_mcp_ask_check(const struct ch_json *requests, const struct ch_json *request_state,
                     unsigned round, struct chela_error *err) {
    if (round > CH_LIMIT_MCP_ROUNDS)
        return ch_fail(err, CHELA_ELIMIT, "the server asked for input more than %d times",
                       CH_LIMIT_MCP_ROUNDS);
    if (!requests && !request_state)
        return ch_fail(err, CHELA_EPROTO, "the server asks for input without saying which");
    if (request_state && (!ch_json_is(request_state, CH_JSON_STRING) ||
                          request_state->n > CH_LIMIT_MCP_STATE))
        return ch_fail(err, CHELA_EPROTO, "the state of the request is not a short text");
    if (ch_json_is(requests, CH_JSON_OBJECT) && requests->n > CH_LIMIT_MCP_QUESTIONS)
        return ch_fail(err, CHELA_ELIMIT, "the server asks more than %d questions at once",
                       CH_LIMIT_MCP_QUESTIONS);
    return 0;
}

int ch_mcp_ask_begin(struct ch_buf *state, const struct ch_json *requests,
                     const struct ch_json *request_state, unsigned round,
                     const struct ch_mcp_may *may, struct chela_error *err) {
    struct ch_jw w = ch_jw(state);
    int rc = ch_mcp_ask_check(requests, request_state, round, err);

    if (rc == 0)
        rc = check_requests(requests, may, err);
    if (rc < 0)
        return rc;
    ch_jw_begin(&w, '{');
    ch_jw_kint(&w, "round", round);
    ch_jw_key(&w, "requests");
    if (ch_json_is(requests, CH_JSON_OBJECT))
        ch_jw_value(&w, requests);
    else
        ch_jw_raw(&w, CH_SV("{}"));
    if (request_state)
        ch_jw_kvalue(&w, "requestState", request_state);
    if (may->unasked)
        ch_jw_kbool(&w, "unasked", true);
    ch_jw_kbegin(&w, "answers", '{');
    for (CH_JSON_MEMBERS(key, request, requests))
        if (is_roots(request)) {
            ch_jw_key_sv(&w, ch_json_str(key));
            ch_jw_raw(&w, may->roots);
        }
    ch_jw_end(&w, '}');
    ch_jw_end(&w, '}');
    if (state->n > 3 * CH_LIMIT_MCP_STATE)
        return ch_fail(err, CHELA_ELIMIT, "the server asks for too much input at once");
    return 0;
}

/* --- the question */

static void add_clean(struct ch_buf *out, struct ch_sv text, size_t max) {
    CH_BUF_AUTO clean = {0};

    ch_mcp_clean(&clean, text);
    ch_buf_add_sv(out, ch_utf8_cut(ch_buf_sv(&clean), max));
}

static bool is_required(const struct ch_mcp_asking *a) {
    for (CH_JSON_EACH(e, ch_json_path(a->params, "requestedSchema", "required", NULL)))
        if (ch_sv_eq(ch_json_str(e), a->field))
            return true;
    return false;
}

/* The permitted values of a field: an array of texts, or of {const, title}; NULL: any. */
static const struct ch_json *values_of(const struct ch_json *schema) {
    const struct ch_json *items = ch_json_get(schema, "items");
    const struct ch_json *one = ch_json_get(schema, "enum");

    one = one ? one : ch_json_get(schema, "oneOf");
    one = one ? one : ch_json_get(items, "enum");
    return one ? one : ch_json_get(items, "anyOf");
}

/* The name that people see for value i. */
static struct ch_sv title_of(const struct ch_json *schema, const struct ch_json *value, size_t i) {
    const struct ch_json *names = ch_json_get(schema, "enumNames");
    struct ch_sv title = ch_json_get_str(value, "title");

    if (title.n)
        return title;
    if (ch_json_at(names, i))
        return ch_json_str(ch_json_at(names, i));
    return ch_json_is(value, CH_JSON_OBJECT) ? ch_json_get_str(value, "const") : ch_json_str(value);
}

static void add_default(struct ch_buf *out, const struct ch_json *value) {
    CH_BUF_AUTO text = {0};

    ch_json_add_text(&text, value);
    ch_buf_add_str(out, " Default: ");
    add_clean(out, ch_buf_sv(&text), 100);
    ch_buf_add_str(out, ".");
}

static void add_field(struct ch_buf *out, const struct ch_mcp_asking *a) {
    struct ch_sv title = ch_json_get_str(a->schema, "title");
    struct ch_sv about = ch_json_get_str(a->schema, "description");
    const struct ch_json *otherwise = ch_json_get(a->schema, "default");

    ch_buf_add_str(out, "\n\n");
    add_clean(out, title.n ? title : a->field, 200);
    if (about.n) {
        ch_buf_add_str(out, ": ");
        add_clean(out, about, FIELD_MAX);
    }
    if (ch_sv_is(ch_json_get_str(a->schema, "type"), "array"))
        ch_buf_add_str(out, " Several values are separated by commas.");
    if (otherwise)
        add_default(out, otherwise);
    if (otherwise || !is_required(a))
        ch_buf_addf(out, " \"-\" %s.", otherwise ? "takes the default" : "leaves it out");
}

static void add_page(struct ch_buf *out, const struct ch_mcp_asking *a) {
    struct ch_sv text = ch_json_get_str(a->params, "url");
    CH_BUF_AUTO copy = {0};
    struct ch_url url;

    ch_buf_add_sv(&copy, ch_sv(text.p, CH_MIN(text.n, CH_LIMIT_URL)));
    bool known = ch_url_parse(ch_buf_sv(&copy), &url, NULL) == 0;
    ch_buf_add_str(out, "\n\nThe server wants you to open a page in a browser. Host: ");
    add_clean(out, known ? url.host : CH_SV("not known"), 300);
    ch_buf_add_str(out, "\nAddress: ");
    add_clean(out, text, 1200);
    ch_buf_add_str(out, "\nOpen the page only if you trust its host, and then say \"done\".");
}

static void write_choices(struct ch_jw *w, const struct ch_mcp_asking *a) {
    const struct ch_json *values = a->field.p ? values_of(a->schema) : NULL;
    size_t n = 0;

    ch_jw_kbegin(w, "choices", '[');
    if (is_url(a))
        ch_jw_cstr(w, "done");
    else if (!a->field.p)
        ch_jw_cstr(w, "accept");
    else if (values)
        for (CH_JSON_EACH(v, values)) {
            struct ch_sv title = title_of(a->schema, v, n);
            if (n++ < CH_LIMIT_CHOICES - 1 && title.n)
                ch_jw_str(w, ch_utf8_cut(title, FIELD_MAX));
        }
    else {
        ch_jw_cstr(w, "yes");
        ch_jw_cstr(w, "no");
    }
    ch_jw_cstr(w, "decline");
    ch_jw_end(w, ']');
}

static bool has_choices(const struct ch_mcp_asking *a) {
    struct ch_sv type = ch_json_get_str(a->schema, "type");

    return !a->field.p || ch_sv_is(type, "boolean") ||
           (values_of(a->schema) && !ch_sv_is(type, "array"));
}

/* The values of a field with several choices, which no list of buttons can express. */
static void add_values(struct ch_buf *out, const struct ch_mcp_asking *a) {
    const struct ch_json *values = values_of(a->schema);
    size_t n = 0;

    if (has_choices(a) || !values)
        return;
    ch_buf_add_str(out, "\nPermitted:");
    for (CH_JSON_EACH(v, values)) {
        ch_buf_add_str(out, n ? ", " : " ");
        add_clean(out, title_of(a->schema, v, n), 100);
        if (++n == CH_LIMIT_CHOICES)
            break;
    }
}

static void add_sample(struct ch_buf *out, const struct ch_mcp_asking *a, const char *server) {
    ch_buf_addf(out,
                "The MCP server %s wants an answer of at most %lld tokens from the model and sees "
                "the answer. The model sees this and nothing of the conversation:\n",
                server, (long long)ch_json_int(ch_json_get(a->params, "maxTokens"), 0));
    ch_mcp_sampling_tell(out, a->params);
    /* so that the choices at the end remain visible */
    out->n = ch_utf8_cut(ch_buf_sv(out), CH_LIMIT_QUESTION - 2 * FIELD_MAX).n;
}

static void add_request(struct ch_buf *out, const struct ch_mcp_asking *a, const char *server) {
    ch_buf_addf(out, "The MCP server %s asks: ", server);
    add_clean(out, ch_json_get_str(a->params, "message"), MESSAGE_MAX);
    if (is_url(a))
        add_page(out, a);
    else if (a->field.p) {
        add_field(out, a);
        add_values(out, a);
    }
}

static void write_question(const struct ch_mcp_asking *a, const char *server,
                           struct ch_buf *out) {
    struct ch_sv problem = ch_json_get_str(a->root, "problem");
    struct ch_jw w = ch_jw(out);
    CH_BUF_AUTO text = {0};

    if (a->sample)
        add_sample(&text, a, server);
    else
        add_request(&text, a, server);
    if (problem.n) {
        ch_buf_add_str(&text, "\n\nThe last answer was not accepted: ");
        add_clean(&text, problem, FIELD_MAX);
    }
    if (!is_url(a) && !a->sample)
        ch_buf_add_str(&text, "\n\nThe server sees the answer. Give no password or key. "
                              "\"decline\" refuses.");
    ch_jw_begin(&w, '{');
    ch_jw_kstr(&w, "question", ch_utf8_cut(ch_buf_sv(&text), CH_LIMIT_QUESTION));
    if (is_url(a) || has_choices(a))
        write_choices(&w, a);
    ch_jw_end(&w, '}');
}

int ch_mcp_ask_next(struct ch_sv state, const char *server, struct ch_buf *question,
                    struct chela_error *err) {
    struct ch_mcp_asking a;
    int rc = read_state(&a, state, err);

    if (rc < 0)
        return rc;
    if (!a.key.p)
        rc = CH_MCP_DUE_NOTHING;
    else if (has_flag(&a, "refused"))
        rc = ch_fail(err, CHELA_EPERM, "the server's request for an answer of the model was "
                     "declined");
    else if (a.sample && (has_flag(&a, "unasked") || has_flag(&a, "agreed")))
        rc = CH_MCP_DUE_MODEL;
    else {
        write_question(&a, server, question);
        rc = CH_MCP_DUE_PERSON;
    }
    ch_arena_release(&a.arena);
    return rc;
}

/* --- the answer */

static struct ch_sv to_json(struct ch_arena *arena, struct ch_sv text) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);

    ch_jw_str(&w, text);
    return ch_arena_sv(arena, ch_buf_sv(&out));
}

/* The value that has this title, or is this text. */
static struct ch_sv resolve(const struct ch_json *schema, struct ch_sv text) {
    const struct ch_json *values = values_of(schema);
    size_t i = 0;

    for (CH_JSON_EACH(v, values)) {
        struct ch_sv plain =
            ch_json_is(v, CH_JSON_OBJECT) ? ch_json_get_str(v, "const") : ch_json_str(v);
        if (ch_sv_eq_nocase(title_of(schema, v, i++), text) || ch_sv_eq_nocase(plain, text))
            return plain;
    }
    return text;
}

/* The words of an answer as a JSON value, before its type is corrected. */
static struct ch_sv word_value(struct ch_mcp_asking *a, struct ch_sv text) {
    struct ch_sv type = ch_json_get_str(a->schema, "type");
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);

    if (ch_sv_is(type, "boolean") &&
        (ch_sv_eq_nocase(text, CH_SV("yes")) || ch_sv_eq_nocase(text, CH_SV("true"))))
        return CH_SV("true");
    if (ch_sv_is(type, "boolean") &&
        (ch_sv_eq_nocase(text, CH_SV("no")) || ch_sv_eq_nocase(text, CH_SV("false"))))
        return CH_SV("false");
    if (!ch_sv_is(type, "array"))
        return to_json(&a->arena, resolve(a->schema, text));
    ch_jw_begin(&w, '[');
    while (text.n) {
        struct ch_sv word = ch_sv_trim(ch_sv_split(&text, ','));
        if (word.n)
            ch_jw_str(&w, resolve(a->schema, word));
    }
    ch_jw_end(&w, ']');
    return ch_arena_sv(&a->arena, ch_buf_sv(&out));
}

/* Check a value against its schema, with "5" as a number where one is wanted. */
static int fit_value(struct ch_mcp_asking *a, const struct ch_json *schema, struct ch_sv json,
                     struct ch_sv *out, struct ch_buf *problem) {
    CH_AUTO(ch_schema) compiled = NULL;
    struct ch_schema_opts opts = {.assert_format = true};
    struct ch_violations left = {0};
    struct ch_changes changes = {0};
    const struct ch_json *value, *fitted;
    struct ch_sv text;
    struct ch_buf made = {0};
    struct ch_jw w = ch_jw(&made);

    if (ch_schema_new(schema, &opts, &compiled, NULL) < 0 ||
        ch_json_parse(&a->arena, json, CH_JSON_STRICT, &value, NULL, NULL) < 0) {
        ch_buf_add_str(problem, "the server's form is not valid");
        return CHELA_EINVAL;
    }
    int rc = ch_schema_coerce(compiled, value, 0, &a->arena, &fitted, &text, &changes, &left);
    if (rc < 0)
        ch_violations_text(&left, problem);
    ch_jw_value(&w, fitted);
    *out = ch_arena_sv(&a->arena, ch_buf_sv(&made));
    ch_buf_release(&made);
    return rc;
}

static void action(struct ch_buf *state, const struct ch_mcp_asking *a, const char *word,
                   struct ch_sv content) {
    CH_BUF_AUTO result = {0};
    struct ch_jw w = ch_jw(&result);

    if (a->sample) {
        rewrite_flag(state, a, strcmp(word, "accept") == 0 ? "agreed" : "refused");
        return;
    }

    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "action", word);
    if (content.p)
        ch_jw_kraw(&w, "content", content);
    ch_jw_end(&w, '}');
    rewrite(state, a, ch_buf_sv(&result), ch_sv(NULL, 0));
}

/* A field is filled in. After the last one the form becomes the answer: fields that were left
 * out are null in the state, and take their default or are absent in the answer. */
static void set_field(struct ch_buf *state, const struct ch_mcp_asking *before,
                      struct ch_sv given) {
    struct ch_mcp_asking a;
    CH_BUF_AUTO content = {0};
    struct ch_jw w = ch_jw(&content);

    rewrite(state, before, ch_sv(NULL, 0), given);
    if (read_state(&a, ch_sv(state->p, state->n), NULL) < 0)
        return;
    if (!a.field.p) {
        ch_jw_begin(&w, '{');
        for (CH_JSON_MEMBERS(name, property, form_of(a.params))) {
            const struct ch_json *value = ch_json_get_sv(a.form, ch_json_str(name));
            if (!value || value->type == CH_JSON_NULL)
                value = ch_json_get(property, "default");
            if (!value)
                continue;
            ch_jw_key_sv(&w, ch_json_str(name));
            ch_jw_value(&w, value);
        }
        ch_jw_end(&w, '}');
        action(state, &a, "accept", ch_buf_sv(&content));
    }
    ch_arena_release(&a.arena);
}

static void not_accepted(struct ch_buf *state, const struct ch_mcp_asking *a,
                         struct ch_sv problem) {
    int64_t tries = ch_json_int(ch_json_get(a->root, "tries"), 0) + 1;

    if (tries >= MOST_TRIES)
        action(state, a, "cancel", ch_sv(NULL, 0));
    else
        rewrite_problem(state, a, tries, problem);
}

/* A whole form as a JSON object, as a program may give it. */
static bool take_object(struct ch_buf *state, struct ch_mcp_asking *a, struct ch_sv text) {
    CH_BUF_AUTO problem = {0};
    const struct ch_json *object;
    struct ch_sv fitted;

    if (text.p[0] != '{' ||
        ch_json_parse(&a->arena, ch_arena_sv(&a->arena, text), CH_JSON_STRICT, &object, NULL,
                      NULL) < 0 ||
        fit_value(a, ch_json_get(a->params, "requestedSchema"), text, &fitted, &problem) < 0)
        return false;
    action(state, a, "accept", fitted);
    return true;
}

static void take_field(struct ch_buf *state, struct ch_mcp_asking *a, struct ch_sv text) {
    CH_BUF_AUTO problem = {0};
    struct ch_sv fitted;
    bool may_skip = ch_json_get(a->schema, "default") || !is_required(a);

    if (take_object(state, a, text))
        return;
    if (may_skip && ch_sv_is(text, "-"))
        set_field(state, a, CH_SV("null"));
    else if (fit_value(a, a->schema, word_value(a, text), &fitted, &problem) == 0)
        set_field(state, a, fitted);
    else
        not_accepted(state, a, ch_buf_sv(&problem));
}

static bool means_yes(struct ch_sv text) {
    static const char *const words[] = {"accept", "done", "yes", "ok"};

    for (size_t i = 0; i < CH_LEN(words); i++)
        if (ch_sv_eq_nocase(text, ch_sv_str(words[i])))
            return true;
    return false;
}

static void take_answer(struct ch_buf *state, struct ch_mcp_asking *a, struct ch_sv text,
                        bool is_error) {
    bool plain = is_url(a) || !a->field.p;

    if (is_error || text.n == 0 || ch_sv_eq_nocase(text, CH_SV("cancel")))
        action(state, a, "cancel", ch_sv(NULL, 0));
    else if (ch_sv_eq_nocase(text, CH_SV("decline")))
        action(state, a, "decline", ch_sv(NULL, 0));
    else if (!plain)
        take_field(state, a, text);
    else if (means_yes(text))
        action(state, a, "accept", is_url(a) ? ch_sv(NULL, 0) : CH_SV("{}"));
    else
        not_accepted(state, a, CH_SV("it is neither a yes nor a no"));
}

int ch_mcp_ask_answer(struct ch_buf *state, struct ch_sv text, bool is_error,
                      struct chela_error *err) {
    struct ch_mcp_asking a;
    int rc = read_state(&a, ch_sv(state->p, state->n), err);

    if (rc < 0)
        return rc;
    if (a.key.p)
        take_answer(state, &a, ch_sv_trim(text), is_error);
    ch_arena_release(&a.arena);
    return 0;
}

int ch_mcp_ask_refuse(struct ch_buf *state, struct chela_error *err) {
    int rc;

    for (;;) {
        struct ch_mcp_asking a;
        rc = read_state(&a, ch_sv(state->p, state->n), err);
        if (rc < 0)
            return rc;
        bool open = a.key.p && !has_flag(&a, "refused") && !(a.sample && has_flag(&a, "unasked"));
        if (open)
            action(state, &a, "cancel", ch_sv(NULL, 0));
        ch_arena_release(&a.arena);
        if (!open)
            return 0;
    }
}

/* --- the answer of a model */

int ch_mcp_ask_sample(struct ch_sv state, struct ch_arena *arena, const struct ch_json **params,
                      struct chela_error *err) {
    struct ch_mcp_asking a;
    int rc = read_state(&a, state, err);
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);

    if (rc < 0)
        return rc;
    ch_jw_value(&w, a.params);
    ch_arena_release(&a.arena);
    return ch_json_parse(arena, ch_arena_sv(arena, ch_buf_sv(&text)), CH_JSON_STRICT, params, NULL,
                         err);
}

int ch_mcp_ask_sampled(struct ch_buf *state, struct ch_sv result, struct chela_error *err) {
    struct ch_mcp_asking a;
    int rc = read_state(&a, ch_sv(state->p, state->n), err);

    if (rc < 0)
        return rc;
    if (a.key.p)
        rewrite(state, &a, result, ch_sv(NULL, 0));
    ch_arena_release(&a.arena);
    return 0;
}

/* --- for the server */

int ch_mcp_ask_members(struct ch_sv state, struct ch_buf *out, unsigned *round,
                       struct chela_error *err) {
    struct ch_mcp_asking a;
    struct ch_jw w = ch_jw(out);
    int rc = read_state(&a, state, err);

    if (rc < 0)
        return rc;
    const struct ch_json *kept = ch_json_get(a.root, "requestState");
    *round = (unsigned)ch_json_int(ch_json_get(a.root, "round"), 1);
    if (a.requests->n)
        write_members(&w, "inputResponses", a.answers,
                      (struct ch_mcp_change){.key = {NULL, 0}, .value = {NULL, 0}});
    if (kept) {
        ch_jw_kvalue(&w, "requestState", kept);
    }
    ch_arena_release(&a.arena);
    return 0;
}

int ch_mcp_ask_response(struct ch_sv state, struct ch_buf *out, struct chela_error *err) {
    struct ch_mcp_asking a;
    struct ch_jw w = ch_jw(out);
    int rc = read_state(&a, state, err);

    if (rc < 0)
        return rc;
    for (CH_JSON_MEMBERS(key, answer, a.answers)) {
        (void)key;
        if (out->n == 0)
            ch_jw_value(&w, answer);
    }
    ch_arena_release(&a.arena);
    return out->n ? 0 : ch_fail(err, CHELA_EPARSE, "the stored state of the call is damaged");
}
