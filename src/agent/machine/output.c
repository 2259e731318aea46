/* output.c -- see output.h. */
#include "agent/machine/output.h"

#include "base/choice.h"
#include "base/error.h"
#include "base/mem.h"
#include "schema/schema.h"
#include "json/writer.h"

struct ch_output {
    char *text; /* owned: the schema as compact JSON */
    struct ch_schema *schema;
    enum ch_output_way by;
    bool in_words; /* never by a tool */
    bool is_object; /* the schema requires an object */
    ch_output_form_fn *form; /* may be NULL */
    void *user;              /* for form */
};

static int read_way(enum chela_output_by by, enum ch_output_way *out, struct chela_error *err) {
    *out = by == CHELA_OUTPUT_BY_NATIVE   ? CH_OUTPUT_NATIVE
           : by == CHELA_OUTPUT_BY_TOOL   ? CH_OUTPUT_BY_TOOL
           : by == CHELA_OUTPUT_BY_PROMPT ? CH_OUTPUT_PROMPT
                                          : CH_OUTPUT_AUTO;
    return ch_choice_check(CHELA_CHOICE_OUTPUT_BY, by, err);
}

void ch_output_free(struct ch_output *o) {
    if (!o)
        return;
    ch_schema_free(o->schema);
    ch_free(o->text);
    ch_free(o);
}
CH_DEFINE_AUTO(ch_output)

int ch_output_new(const char *schema, enum chela_output_by by, struct ch_output **out,
                  struct chela_error *err) {
    CH_AUTO(ch_output) o = ch_alloc(sizeof(*o));
    CH_ARENA_AUTO arena = {0};
    struct ch_buf text = {0};
    struct ch_jw w = ch_jw(&text);
    const struct ch_json *v;
    struct chela_error why = {0};
    int rc = read_way(by, &o->by, err);
    if (rc < 0)
        return rc;
    if (ch_json_parse(&arena, ch_sv_str(schema), CH_JSON_STRICT, &v, NULL, &why) < 0 ||
        ch_schema_new(v, NULL, &o->schema, &why) < 0)
        return ch_fail(err, CHELA_EINVAL, "the schema of the answer: %s", why.message);
    ch_jw_value(&w, v);
    o->text = ch_buf_take(&text);
    o->is_object = ch_sv_is(ch_json_get_str(v, "type"), "object");
    if (o->by == CH_OUTPUT_BY_TOOL && !o->is_object)
        return ch_fail(err, CHELA_EINVAL,
                       "the schema of the answer: only an object can be given by a tool (\"type\": "
                       "\"object\")");
    *out = CH_TAKE(o);
    return 0;
}

void ch_output_in_words(struct ch_output *o) {
    o->in_words = true;
}

void ch_output_form_by(struct ch_output *o, ch_output_form_fn *fn, void *user) {
    o->form = fn;
    o->user = user;
}

bool ch_output_has_tool(const struct ch_output *o) {
    return o->is_object && (o->by == CH_OUTPUT_AUTO || o->by == CH_OUTPUT_BY_TOOL);
}

bool ch_output_must_be_native(const struct ch_output *o) {
    return o->by == CH_OUTPUT_NATIVE;
}

const char *ch_output_schema(const struct ch_output *o) {
    return o->text;
}

static bool takes_schema(const struct ch_output *o, const struct ch_model_request *req,
                         size_t ntools) {
    const struct ch_codec *codec = req->endpoint->codec;
    if (req->endpoint->quirks & CH_Q_NO_OUTPUT_SCHEMA)
        return false;
    struct ch_model_request asked = *req;
    asked.output_schema = ch_sv_str(o->text);
    asked.ntools = ntools;
    return !codec->takes_schema || codec->takes_schema(&asked);
}

int ch_output_way(const struct ch_output *o, const struct ch_model_request *req,
                  enum ch_output_way *way, struct chela_error *err) {
    bool native = o->by <= CH_OUTPUT_NATIVE && takes_schema(o, req, req->ntools);
    if (o->by == CH_OUTPUT_NATIVE && !native)
        return ch_fail(err, CHELA_EINVAL,
                       "%s/%.*s cannot be held to this schema by its protocol%s: let the answer be "
                       "given by tool or prompt",
                       req->endpoint->provider, CH_SV_FMT(req->model),
                       takes_schema(o, req, 0) ? " while it has tools" : "");
    *way = o->by != CH_OUTPUT_AUTO ? o->by
           : native                ? CH_OUTPUT_NATIVE
           : o->is_object && !o->in_words ? CH_OUTPUT_BY_TOOL
                                   : CH_OUTPUT_PROMPT;
    return 0;
}

void ch_output_ask(const struct ch_output *o, enum ch_output_way way, struct ch_model_request *req,
                   struct ch_arena *arena) {
    if (way == CH_OUTPUT_NATIVE)
        req->output_schema = ch_sv_str(o->text);
    else if (way == CH_OUTPUT_BY_TOOL)
        req->system = ch_sv_str(
            ch_arena_printf(arena,
                            "%.*s\n\n## Answer\nGive your final answer by calling " CH_OUTPUT_TOOL
                            ", once, when all work is done. Text alone is not an answer.\n",
                            CH_SV_FMT(req->system)));
    else
        req->system = ch_sv_str(
            ch_arena_printf(arena,
                            "%.*s\n\n## Answer\nYour final answer is one JSON value that fits the "
                            "JSON Schema below, and nothing else: no words around it, no code "
                            "fence.\n%s\n",
                            CH_SV_FMT(req->system), o->text));
}

/* --- checking */

static struct ch_sv from_to(struct ch_sv s, const char *first, const char *last) {
    size_t a = 0, b = s.n;
    while (a < s.n && !memchr(first, s.p[a], 2))
        a++;
    while (b > a && !memchr(last, s.p[b - 1], 2))
        b--;
    return ch_sv(s.p + a, b - a);
}

/* Parses the whole answer, or else the text from its first to its last bracket. */
static const struct ch_json *find_json(struct ch_arena *arena, struct ch_sv *answer) {
    const struct ch_json *v;
    *answer = ch_sv_trim(*answer);
    if (ch_json_parse(arena, *answer, CH_JSON_STRICT, &v, NULL, NULL) == 0)
        return v;
    struct ch_sv inner = from_to(*answer, "{[", "}]");
    if (!inner.n || ch_json_parse(arena, inner, CH_JSON_STRICT, &v, NULL, NULL) < 0)
        return NULL;
    *answer = inner;
    return v;
}

static bool output_fits(const struct ch_output *o, struct ch_sv answer, struct ch_buf *json,
                        struct ch_buf *why) {
    CH_ARENA_AUTO arena = {0};
    struct ch_violations left = {0};
    struct ch_changes changes = {0};
    struct ch_sv corrected = {NULL, 0};
    const struct ch_json *v = find_json(&arena, &answer), *fit;
    if (!v) {
        ch_buf_add_str(why, answer.n ? "it is no JSON" : "it is empty");
        return false;
    }
    if (ch_schema_coerce(o->schema, v, CH_COERCE_DROP_NULL, &arena, &fit, &corrected, &changes,
                         &left) < 0) {
        ch_violations_text(&left, why);
        return false;
    }
    ch_buf_add_sv(json, corrected.p ? corrected : answer);
    return true;
}

bool ch_output_fits(const struct ch_output *o, struct ch_sv answer) {
    CH_BUF_AUTO json = {0};
    CH_BUF_AUTO why = {0};
    return output_fits(o, answer, &json, &why);
}

bool ch_output_check(const struct ch_output *o, struct ch_sv answer, struct ch_buf *json,
                     struct ch_buf *why) {
    CH_BUF_AUTO formed = {0};
    CH_BUF_AUTO wrong = {0};
    if (output_fits(o, answer, json, &wrong))
        return true;
    if (o->form && o->form(o->user, answer, &formed)) {
        ch_buf_clear(&wrong);
        if (output_fits(o, ch_buf_sv(&formed), json, &wrong))
            return true;
    }
    ch_buf_add_sv(why, ch_buf_sv(&wrong));
    return false;
}

void ch_output_complain(enum ch_output_way way, struct ch_sv why, struct ch_buf *out) {
    ch_buf_addf(out, "Your answer is not of the required form:\n%.*s\n", CH_SV_FMT(why));
    if (way == CH_OUTPUT_BY_TOOL)
        ch_buf_add_str(out, "Call " CH_OUTPUT_TOOL " with an answer that fits its schema.");
    else
        ch_buf_add_str(out, "Answer again: one JSON value that fits the schema, nothing else.");
}
