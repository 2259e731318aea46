/* role_prompts.c -- see chela/prompt.h. A runtime loads its prompts on first use, because
 * most runs need none. */
#include "agent/context/role_prompts.h"

#include "agent/handle/agent.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/opts.h"
#include "chela/prompt.h"
#include "io/loop_entry.h"
#include "json/writer.h"
#include "model/provider/target.h"
#include "prompt/prompts.h"
#include "prompt/prompts_builtin.h"
#include "prompt/tokens.h"

const struct ch_prompt_alias ch_prompt_aliases[] = {
    {"targets", "tool_descriptions"}, {"tools", "tool_descriptions"},
    {"targets", "tools"},             {"request", "user_request"},
    {"request", "user_input"},        {"task", "task_description"},
    {"results", "previous_results"},  {"retries", "retry_count"},
};
const size_t ch_prompt_naliases = CH_LEN(ch_prompt_aliases);

static int open_prompts(chela_runtime *rt, struct chela_error *err) {
    if (rt->prompts)
        return 0;
    struct ch_prompts *c = ch_alloc(sizeof(*c));
    int rc = ch_prompts_builtin(c, err);
    if (rc == 0)
        rc = ch_prompts_link(c, err);
    rt->prompts = c;
    if (rc < 0)
        ch_role_prompts_free(rt);
    return rc;
}

const struct ch_prompts *ch_role_prompts(chela_runtime *rt, struct chela_error *err) {
    return open_prompts(rt, err) < 0 ? NULL : rt->prompts;
}

void ch_role_prompts_free(chela_runtime *rt) {
    if (!rt->prompts)
        return;
    ch_prompts_release(rt->prompts);
    ch_free(rt->prompts);
    rt->prompts = NULL;
}

int chela_prompts_load(chela_runtime *rt, const char *dir, struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    CH_NEEDS_ARG(dir, err);
    int rc = open_prompts(rt, err);
    if (rc == 0)
        rc = ch_prompts_load(rt->prompts, dir, err);
    return rc < 0 ? rc : ch_prompts_link(rt->prompts, err);
}

int chela_prompts_pin(chela_runtime *rt, const char *name, const char *version,
                      struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    CH_NEEDS_ARG(name, err);
    CH_NEEDS_ARG(version, err);
    int rc = open_prompts(rt, err);
    return rc < 0 ? rc : ch_prompts_pin(rt->prompts, name, version, err);
}

int chela_prompts_rollout(chela_runtime *rt, const char *name, const char *version,
                          unsigned percent, struct chela_error *err) {
    CH_ENTER(rt, rt->loop, err);
    CH_NEEDS_ARG(name, err);
    CH_NEEDS_ARG(version, err);
    int rc = open_prompts(rt, err);
    return rc < 0 ? rc : ch_prompts_rollout(rt->prompts, name, version, percent, err);
}

/* --- as JSON ---------------------------------------------------------------------- */

static void write_texts(struct ch_jw *w, const char *key, const char *const *list) {
    ch_jw_kbegin(w, key, '[');
    for (; list && *list; list++)
        ch_jw_cstr(w, *list);
    ch_jw_end(w, ']');
}

static void write_variables(struct ch_jw *w, const struct ch_prompt *t) {
    ch_jw_kbegin(w, "variables", '[');
    for (size_t i = 0; i < t->nvariables; i++) {
        ch_jw_begin(w, '{');
        ch_jw_kcstr(w, "name", t->variables[i].name);
        ch_jw_kcstr(w, "about", t->variables[i].about);
        ch_jw_kbool(w, "untrusted", t->variables[i].untrusted);
        ch_jw_end(w, '}');
    }
    ch_jw_end(w, ']');
}

/* True if the runtime has a value for the placeholder of a role's prompt, by its own name or
 * another. usual: the built-in prompt of the role. */
static bool has_value(const struct ch_prompt *usual, const char *name) {
    if (ch_prompt_has(usual, ch_sv_str(name)))
        return true;
    for (size_t i = 0; i < ch_prompt_naliases; i++)
        if (strcmp(ch_prompt_aliases[i].other, name) == 0 &&
            ch_prompt_has(usual, ch_sv_str(ch_prompt_aliases[i].name)))
            return true;
    return false;
}

/* Writes the placeholders that no run fills. A prompt that no role uses has none. */
static void write_unknown(struct ch_jw *w, const struct ch_prompts *builtin,
                          const struct ch_prompt *t) {
    struct ch_prompt_query q = {.name = t->name};
    const struct ch_prompt *usual = ch_prompts_pick(builtin, &q, NULL);
    ch_jw_kbegin(w, "unknown", '[');
    for (size_t i = 0; usual && i < t->nvariables; i++)
        if (!has_value(usual, t->variables[i].name))
            ch_jw_cstr(w, t->variables[i].name);
    ch_jw_end(w, ']');
}

static bool is_used(const struct ch_prompts *c, const struct ch_prompt_entry *e) {
    struct ch_prompt_query q = {.name = e->prompt.name, .model = e->variant};
    return ch_prompts_pick(c, &q, NULL) == &e->prompt;
}

/* Writes the members of a prompt without the braces. */
static void write_prompt(struct ch_jw *w, const struct ch_prompts *c,
                         const struct ch_prompt_entry *e) {
    const struct ch_prompt *t = &e->prompt;
    ch_jw_kcstr(w, "name", t->name);
    ch_jw_kcstr(w, "version", t->version);
    ch_jw_kcstr(w, "variant", e->variant);
    ch_jw_kbool(w, "used", is_used(c, e));
    ch_jw_kcstr(w, "fingerprint", t->fingerprint);
    ch_jw_kcstr(w, "description", t->head.description);
    ch_jw_kcstr(w, "changelog", t->head.changelog);
    write_variables(w, t);
    ch_jw_kvalue(w, "schema", t->head.schema);
    write_texts(w, "headings", t->head.headings);
    write_texts(w, "modules", t->head.modules);
    ch_jw_kbool(w, "cases", ch_prompts_has_cases(c, t->name));
    ch_jw_kcstr(w, "where", t->where);
}

char *chela_prompts_json(chela_runtime *rt, struct chela_error *err) {
    CH_ENTER_OR(rt, rt->loop, err, NULL);
    const struct ch_prompts *c = ch_role_prompts(rt, err);
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    if (!c)
        return NULL;
    struct ch_prompts builtin = {0};
    if (ch_prompts_builtin(&builtin, err) < 0 || ch_prompts_link(&builtin, err) < 0) {
        ch_prompts_release(&builtin);
        return NULL;
    }
    ch_jw_begin(&w, '[');
    for (size_t i = 0; i < c->n; i++) {
        ch_jw_begin(&w, '{');
        write_prompt(&w, c, &c->list[i]);
        write_unknown(&w, &builtin, &c->list[i].prompt);
        ch_jw_end(&w, '}');
    }
    ch_jw_end(&w, ']');
    ch_prompts_release(&builtin);
    return ch_buf_take(&out);
}

static const struct ch_prompt_entry *entry_of(const struct ch_prompts *c,
                                              const struct ch_prompt *t) {
    size_t i = 0;
    while (&c->list[i].prompt != t)
        i++;
    return &c->list[i];
}

static int role_prompts_read_query(const struct chela_prompt_query *given,
                                   struct ch_prompt_query *out, struct chela_error *err) {
    struct chela_prompt_query q;
    int rc = CH_OPTS_NEED(chela_prompt_query, &q, given, err);
    if (rc == 0 && !q.name)
        rc = ch_fail(err, CHELA_EINVAL, "the name of the prompt is missing");
    *out = (struct ch_prompt_query){q.name, q.version, q.model, q.session};
    return rc;
}

char *chela_prompt_json(chela_runtime *rt, const struct chela_prompt_query *q,
                        struct chela_error *err) {
    CH_ENTER_OR(rt, rt->loop, err, NULL);
    struct ch_prompt_query query;
    const struct ch_prompts *c =
        role_prompts_read_query(q, &query, err) < 0 ? NULL : ch_role_prompts(rt, err);
    const struct ch_prompt *t = c ? ch_prompts_pick(c, &query, err) : NULL;
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    if (!t)
        return NULL;
    const struct ch_prompt_entry *e = entry_of(c, t);
    ch_jw_begin(&w, '{');
    write_prompt(&w, c, e);
    ch_jw_kstr(&w, "text", t->body);
    ch_jw_end(&w, '}');
    return ch_buf_take(&out);
}

/* --- rendering -------------------------------------------------------------------- */

static int read_values(struct ch_arena *a, struct ch_sv json, struct ch_prompt_value **out,
                       size_t *n, struct chela_error *err) {
    const struct ch_json *root;
    int rc = ch_json_parse(a, json, CH_JSON_STRICT, &root, NULL, err);
    if (rc < 0)
        return rc;
    if (root->type != CH_JSON_OBJECT)
        return ch_fail(err, CHELA_EINVAL, "the values of a prompt are a JSON object");
    *out = ch_arena_zalloc(a, (root->n + 1) * sizeof(**out));
    for (CH_JSON_MEMBERS(k, v, root)) {
        if (ch_json_get_sv(root, ch_json_str(k)) != v)
            continue; /* the last of several members with the same name counts */
        struct ch_prompt_value *value = &(*out)[(*n)++];
        value->name = ch_arena_str(a, ch_json_str(k));
        value->text = ch_json_str(v);
        value->json = v->type == CH_JSON_STRING ? NULL : v;
    }
    return 0;
}

char *chela_prompt_render(chela_runtime *rt, const struct chela_prompt_query *q,
                          const char *values, size_t len, struct chela_error *err) {
    CH_ENTER_OR(rt, rt->loop, err, NULL);
    struct ch_prompt_query query;
    const struct ch_prompts *c =
        role_prompts_read_query(q, &query, err) < 0 ? NULL : ch_role_prompts(rt, err);
    const struct ch_prompt *used;
    struct ch_prompt_value *list = NULL;
    size_t n = 0;
    CH_ARENA_AUTO a = {0};
    CH_PROMPT_TEXT_AUTO text = {0};
    CH_BUF_AUTO out = {0};
    if (!c || read_values(&a, ch_sv(values, len), &list, &n, err) < 0 ||
        ch_prompts_render(c, &query, list, n, &text, &used, err) < 0)
        return NULL;
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "fingerprint", used->fingerprint);
    ch_jw_kstr(&w, "system", ch_buf_sv(&text.system));
    ch_jw_kstr(&w, "user", ch_buf_sv(&text.user));
    ch_jw_kint(&w, "tokens",
               (int64_t)(ch_tokens(ch_buf_sv(&text.system)) + ch_tokens(ch_buf_sv(&text.user))));
    ch_jw_end(&w, '}');
    return ch_buf_take(&out);
}

int ch_instructions_render(const chela_agent *a, const char *session, struct ch_buf *out,
                           const char **fingerprint, struct chela_error *err) {
    const struct ch_prompts *c = ch_role_prompts(a->rt, err);
    struct ch_prompt_query q = {.name = a->context.prompt,
                                .model = a->ntargets ? a->targets[0]->spec : NULL,
                                .session = session};
    CH_ARENA_AUTO arena = {0};
    CH_PROMPT_TEXT_AUTO text = {0};
    struct ch_prompt_value *list = NULL;
    const struct ch_prompt *used;
    size_t n = 0;
    const char *vars = a->context.vars ? a->context.vars : "{}";
    int rc = c ? read_values(&arena, ch_sv_str(vars), &list, &n, err) : CHELA_ENOENT;
    if (rc == 0)
        rc = ch_prompts_render(c, &q, list, n, &text, &used, err);
    if (rc < 0)
        return rc;
    ch_buf_add_sv(out, ch_sv_trim(ch_buf_sv(text.system.n ? &text.system : &text.user)));
    if (fingerprint)
        *fingerprint = used->fingerprint;
    return 0;
}
