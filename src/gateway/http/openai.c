/* openai.c -- see openai.h. */
#include "gateway/http/openai.h"

#include <stdio.h>

#include "base/error.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"

/* With the members of OpenAI's protocol, and those of Anthropic's. */
static void openai_write_model(struct ch_jw *w, const chela_agent *a) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "id", a->id);
    ch_jw_kcstr(w, "object", "model");
    ch_jw_kint(w, "created", 0);
    ch_jw_kcstr(w, "owned_by", "chela");
    ch_jw_kcstr(w, "type", "model");
    ch_jw_kcstr(w, "display_name", a->id);
    ch_jw_kcstr(w, "created_at", "1970-01-01T00:00:00Z");
    ch_jw_end(w, '}');
}

void ch_openai_models(struct ch_request *req) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    const char *last = NULL;
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "object", "list");
    ch_jw_kbegin(&w, "data", '[');
    for (chela_agent **a = req->gw->agents; *a; a++) {
        openai_write_model(&w, *a);
        last = (*a)->id;
    }
    ch_jw_end(&w, ']');
    ch_jw_kbool(&w, "has_more", false);
    ch_jw_kcstr(&w, "first_id", last ? req->gw->agents[0]->id : NULL);
    ch_jw_kcstr(&w, "last_id", last);
    ch_jw_end(&w, '}');
    ch_request_respond_json(req, 200, &out);
}

void ch_openai_model(struct ch_request *req) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    const chela_agent *a = ch_gateway_agent(req->gw, req->param);
    if (!a) {
        ch_request_fail(req, 404, "model_not_found", "there is no agent '%.*s'",
                        CH_SV_FMT(req->param));
        return;
    }
    openai_write_model(&w, a);
    ch_request_respond_json(req, 200, &out);
}

int ch_openai_agent(struct ch_request *req, struct ch_lane_opts *o, struct chela_error *err) {
    struct ch_sv id = ch_request_agent_id(req, "model");
    CH_BUF_AUTO known = {0};
    o->agent = ch_gateway_agent(req->gw, id);
    if (o->agent)
        return 0;
    for (chela_agent **a = req->gw->agents; *a; a++)
        ch_buf_addf(&known, "%s%s", known.n ? ", " : "", (*a)->id);
    return ch_fail(err, CHELA_ENOENT,
                   "`model` must be the id of an agent; there is no '%.*s' (known: %s)",
                   CH_SV_FMT(id), ch_buf_str(&known));
}

/* --- settings */

int ch_openai_number(struct ch_request *req, const char *key, double max, const double **set,
                     struct chela_error *err) {
    const struct ch_json *v = ch_json_get(req->json, key);
    if (!v || v->type == CH_JSON_NULL)
        return 0;
    double *out = ch_arena_alloc(&req->arena, sizeof(*out));
    *out = ch_json_double(v, -1);
    if (*out < 0 || *out > max)
        return ch_fail(err, CHELA_EINVAL, "`%s` must be a number from 0 to %g", key, max);
    *set = out;
    return 0;
}

/* A NUL would shorten the sequence. */
static bool openai_is_stop(const struct ch_json *v) {
    struct ch_sv text = ch_json_str(v);
    return v->type == CH_JSON_STRING && (!text.n || !memchr(text.p, '\0', text.n));
}

int ch_openai_stop(struct ch_request *req, const char *key, struct ch_lane_opts *o,
                   struct chela_error *err) {
    const struct ch_json *stop = ch_json_get(req->json, key);
    size_t n = 0;
    if (!stop || stop->type == CH_JSON_NULL)
        return 0;
    size_t max = stop->type == CH_JSON_ARRAY ? stop->n : 1;
    bool fits = max <= 16 && (stop->type == CH_JSON_ARRAY || openai_is_stop(stop));
    for (CH_JSON_EACH(e, stop))
        fits = fits && openai_is_stop(e);
    if (!fits)
        return ch_fail(err, CHELA_EINVAL, "`%s` must be a text or a list of at most 16 texts", key);
    const char **texts = ch_arena_zalloc(&req->arena, (max + 1) * sizeof(*texts));
    if (ch_json_str(stop).n)
        texts[n++] = ch_arena_str(&req->arena, ch_json_str(stop));
    for (CH_JSON_EACH(e, stop))
        if (ch_json_str(e).n)
            texts[n++] = ch_arena_str(&req->arena, ch_json_str(e));
    o->patch.stop = n ? texts : NULL;
    return 0;
}

int ch_openai_positive(struct ch_request *req, const char *key, int64_t *out,
                       struct chela_error *err) {
    const struct ch_json *n = ch_json_get(req->json, key);
    if (!n || n->type == CH_JSON_NULL)
        return 0;
    if (!ch_json_as_int(n, out) || *out < 1)
        return ch_fail(err, CHELA_EINVAL, "`%s` must be a positive integer", key);
    return 0;
}

/* --- the effort of reasoning */

static int effort_word(const struct ch_json *v, const char *name, enum chela_reasoning *out,
                       struct chela_error *err) {
    static const struct {
        char word[8];
        enum chela_reasoning effort;
    } efforts[] = {{"default", CHELA_REASONING_DEFAULT}, {"none", CHELA_REASONING_OFF},
                   {"off", CHELA_REASONING_OFF},         {"minimal", CHELA_REASONING_MINIMAL},
                   {"low", CHELA_REASONING_LOW},         {"medium", CHELA_REASONING_MEDIUM},
                   {"high", CHELA_REASONING_HIGH},       {"xhigh", CHELA_REASONING_XHIGH},
                   {"max", CHELA_REASONING_MAX}};
    if (!v || v->type == CH_JSON_NULL)
        return 0;
    for (size_t i = 0; i < CH_LEN(efforts); i++)
        if (ch_sv_is(ch_json_str(v), efforts[i].word)) {
            *out = efforts[i].effort;
            return 0;
        }
    return ch_fail(err, CHELA_EINVAL,
                   "`%s` must be none, minimal, low, medium, high, xhigh or max", name);
}

/* The effort whose budget, where a model has one, is nearest. */
static void effort_of_tokens(const struct ch_json *v, enum chela_reasoning *out) {
    int64_t n;
    if (!ch_json_as_int(v, &n) || n < 0)
        return; /* absent, or -1: as the model likes */
    *out = n == 0       ? CHELA_REASONING_OFF
           : n <= 1024  ? CHELA_REASONING_MINIMAL
           : n <= 4096  ? CHELA_REASONING_LOW
           : n <= 12288 ? CHELA_REASONING_MEDIUM
           : n <= 20480 ? CHELA_REASONING_HIGH
           : n <= 28672 ? CHELA_REASONING_XHIGH
                        : CHELA_REASONING_MAX;
}

static void effort_switch(bool on, enum chela_reasoning *out) {
    if (!on)
        *out = CHELA_REASONING_OFF;
    else if (*out == CHELA_REASONING_DEFAULT || *out == CHELA_REASONING_OFF)
        *out = CHELA_REASONING_MEDIUM;
}

static int effort_thinking(const struct ch_json *thinking, enum chela_reasoning *out,
                           struct chela_error *err) {
    struct ch_sv type = ch_json_get_str(thinking, "type");
    bool on = ch_sv_is(type, "enabled") || ch_sv_is(type, "adaptive") || ch_sv_is(type, "auto");
    if (on)
        effort_switch(true, out);
    if (ch_sv_is(type, "enabled"))
        effort_of_tokens(ch_json_get(thinking, "budget_tokens"), out);
    if (on || !type.n)
        return 0;
    if (!ch_sv_is(type, "disabled") && !ch_sv_is(type, "between_tools"))
        return ch_fail(err, CHELA_EINVAL,
                       "`thinking.type` must be enabled, disabled, adaptive or between_tools");
    *out = CHELA_REASONING_OFF;
    return 0;
}

int ch_openai_effort(const struct ch_json *request, enum chela_reasoning *out,
                     struct chela_error *err) {
    const struct ch_json *reasoning = ch_json_get(request, "reasoning"),
                         *on[] = {ch_json_get(request, "enable_thinking"),
                                  ch_json_get(reasoning, "enabled")};
    int rc = ch_request_check_types(
        request, NULL,
        "reasoning:object reasoning.enabled:boolean reasoning.max_tokens:integer thinking:object "
        "thinking.type:string thinking.budget_tokens:integer output_config:object "
        "enable_thinking:boolean thinking_budget:integer",
        err);
    if (rc == 0)
        rc = effort_word(ch_json_get(reasoning, "effort"), "reasoning.effort", out, err);
    if (rc == 0)
        rc = effort_word(ch_json_get(request, "reasoning_effort"), "reasoning_effort", out, err);
    if (rc == 0)
        rc = effort_word(ch_json_path(request, "output_config", "effort", NULL),
                         "output_config.effort", out, err);
    for (CH_JSON_EACH(m, ch_json_get(request, "messages"))) /* Messages: the effort from there on */
        if (rc == 0)
            rc = effort_word(ch_json_path(m, "output_config", "effort", NULL),
                             "messages[].output_config.effort", out, err);
    for (size_t i = 0; i < CH_LEN(on); i++)
        if (ch_json_is(on[i], CH_JSON_TRUE) || ch_json_is(on[i], CH_JSON_FALSE))
            effort_switch(on[i]->type == CH_JSON_TRUE, out);
    effort_of_tokens(ch_json_get(request, "thinking_budget"), out);
    effort_of_tokens(ch_json_get(reasoning, "max_tokens"), out);
    return rc < 0 ? rc : effort_thinking(ch_json_get(request, "thinking"), out, err);
}

/* --- settings of both protocols */

int ch_openai_sampling(struct ch_request *req, struct ch_lane_opts *o, struct chela_error *err) {
    static const char *const longest[] = {"max_tokens", "max_output_tokens",
                                          "max_completion_tokens"};
    int64_t *seed = ch_arena_alloc(&req->arena, sizeof(*seed));
    int rc = ch_request_check_types(req->json, NULL, "seed:integer parallel_tool_calls:boolean",
                                    err);
    if (rc == 0)
        rc = ch_openai_number(req, "temperature", 2, &o->patch.temperature, err);
    if (rc == 0)
        rc = ch_openai_number(req, "top_p", 1, &o->patch.top_p, err);
    if (rc == 0)
        rc = ch_openai_stop(req, "stop", o, err);
    for (size_t i = 0; rc == 0 && i < CH_LEN(longest); i++)
        rc = ch_openai_positive(req, longest[i], &o->patch.max_output_tokens, err);
    if (ch_json_as_int(ch_json_get(req->json, "seed"), seed))
        o->patch.seed = seed;
    o->patch.one_call = !ch_json_bool(ch_json_get(req->json, "parallel_tool_calls"), true);
    return rc < 0 ? rc : ch_openai_effort(req->json, &o->patch.reasoning, err);
}

/* --- tools */

/* The definition of a tool: a member of the tool in Chat Completions, the tool itself in Responses.
 * Some clients send the form of the other protocol. */
static const struct ch_json *openai_definition(const struct ch_json *tool, const char *member) {
    const struct ch_json *inner = ch_json_get(tool, member);
    return inner ? inner : tool;
}

/* A tool without a type is a function. */
static int openai_add_tool(struct ch_client_tools *t, const struct ch_json *tool,
                           struct ch_sv space, struct chela_error *err) {
    struct ch_sv type = ch_json_get_str(tool, "type");
    int rc = ch_request_check_types(tool, "tools[]", "type:string function:object custom:object",
                                    err);
    if (rc < 0)
        return rc;
    if (!type.n || ch_sv_is(type, "function"))
        return ch_client_tools_add(t, openai_definition(tool, "function"), "parameters", space,
                                   err);
    if (ch_sv_is(type, "custom"))
        return ch_client_tools_add_text(t, openai_definition(tool, "custom"), space, err);
    ch_client_tools_skip(t, type);
    return 0;
}

static int openai_add_namespace(struct ch_client_tools *t, const struct ch_json *space,
                                struct chela_error *err) {
    int rc = ch_request_check_types(space, "tools[]", "name:string tools:array", err);
    for (CH_JSON_EACH(tool, ch_json_get(space, "tools")))
        if (rc == 0)
            rc = openai_add_tool(t, tool, ch_json_get_str(space, "name"), err);
    return rc;
}

int ch_openai_tools(struct ch_client_tools *t, const struct ch_json *tools,
                    struct chela_error *err) {
    int rc = 0;
    for (CH_JSON_EACH(tool, tools)) {
        bool space = ch_sv_is(ch_json_get_str(tool, "type"), "namespace");
        if (rc == 0)
            rc = space ? openai_add_namespace(t, tool, err)
                       : openai_add_tool(t, tool, CH_SV(""), err);
    }
    return rc;
}

int ch_openai_format(struct ch_request *req, const char *name, const struct ch_json *f,
                     const struct ch_json *schema, struct ch_lane_opts *o,
                     struct chela_error *err) {
    struct ch_sv type = ch_json_get_str(f, "type");
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    if (!f || f->type == CH_JSON_NULL || ch_sv_is(type, "text"))
        return 0;
    if (ch_sv_is(type, "json_object")) {
        o->patch.output_schema = "{\"type\":\"object\"}";
        return 0;
    }
    if (!ch_sv_is(type, "json_schema") || !ch_json_is(schema, CH_JSON_OBJECT))
        return ch_fail(err, CHELA_EINVAL, "`%s` must be text, json_object or json_schema", name);
    ch_jw_value(&w, schema);
    o->patch.output_schema = ch_arena_str(&req->arena, ch_buf_sv(&text));
    return 0;
}

/* The name of the tool that an object as `tool_choice` demands. */
static struct ch_sv choice_name(const struct ch_json *c) {
    static const char *const nested[] = {"function", "custom"};
    struct ch_sv name = ch_json_get_str(c, "name");
    for (size_t i = 0; !name.n && i < CH_LEN(nested); i++)
        name = ch_json_str(ch_json_path(c, nested[i], "name", NULL));
    return name;
}

static int choose(struct ch_request *req, const char *key, struct ch_sv word,
                  struct ch_lane_opts *o, struct chela_error *err) {
    if (ch_sv_is(word, "auto") || ch_sv_is(word, "none"))
        o->patch.tool_choice = ch_arena_str(&req->arena, word);
    else if (ch_sv_is(word, "required") || ch_sv_is(word, "any"))
        o->patch.tool_choice = "any";
    else
        return ch_fail(err, CHELA_EINVAL,
                       "`%s` must be auto, none, required or the name of a function", key);
    return 0;
}

/* The tool's name for the model; NULL: neither the client nor the agent has the tool. */
static const char *tool_chosen(struct ch_request *req, const struct ch_client_tools *t,
                               const chela_agent *a, struct ch_sv name) {
    for (size_t i = 0; i < t->n; i++)
        if (ch_sv_eq(t->kinds[i].name, name))
            return t->opts[i].name;
    const char *sent =
        ch_arena_str(&req->arena, ch_client_tools_name(&req->arena, CH_SV(""), name));
    return ch_registry_find(&a->registry, ch_sv_str(sent)) ? sent : NULL;
}

int ch_openai_choice(struct ch_request *req, const char *key, struct ch_client_tools *t,
                     struct ch_lane_opts *o, struct chela_error *err) {
    const struct ch_json *c = ch_json_get(req->json, key);
    struct ch_sv type = ch_json_get_str(c, "type"), name = choice_name(c);
    if (!c || c->type == CH_JSON_NULL)
        return 0;
    if (c->type == CH_JSON_STRING)
        return choose(req, key, ch_json_str(c), o, err);
    if (ch_sv_is(type, "allowed_tools")) {
        const struct ch_json *inner = ch_json_get(c, "allowed_tools");
        const struct ch_json *allowed = inner ? inner : c;
        struct ch_sv mode = ch_json_get_str(allowed, "mode");
        ch_client_tools_restrict(t, ch_json_get(allowed, "tools"));
        return choose(req, key, mode.n ? mode : CH_SV("auto"), o, err);
    }
    bool named = name.n && (!type.n || ch_sv_is(type, "function") || ch_sv_is(type, "custom") ||
                            ch_sv_is(type, "tool"));
    o->patch.tool_choice = named ? tool_chosen(req, t, o->agent, name) : NULL;
    if (o->patch.tool_choice)
        return 0;
    if (t->skipped.n && (named || ch_sv_contains_nocase(t->skipped,
                                                        ch_arena_str(&req->arena, type)))) {
        ch_client_tools_skip(t, ch_sv_str(key)); /* a tool that the vendor would run */
        return 0;
    }
    if (named)
        return ch_fail(err, CHELA_EINVAL, "`%s` names a tool that is not there: '%.*s'", key,
                       (int)CH_MIN(name.n, 64), name.p);
    return choose(req, key, type, o, err);
}

static void usage_key(struct ch_jw *w, const char *kind, const char *rest) {
    char key[64];
    snprintf(key, sizeof(key), "%s%s", kind, rest);
    ch_jw_key(w, key);
}

void ch_openai_write_usage(struct ch_jw *w, const char *in, const char *out,
                           const struct chela_usage *u) {
    ch_jw_kbegin(w, "usage", '{');
    usage_key(w, in, "_tokens");
    ch_jw_int(w, u->input);
    usage_key(w, out, "_tokens");
    ch_jw_int(w, u->output);
    ch_jw_kint(w, "total_tokens", u->input + u->output);
    usage_key(w, in, "_tokens_details");
    ch_jw_begin(w, '{');
    ch_jw_kint(w, "cached_tokens", u->cache_read);
    ch_jw_kint(w, "cache_write_tokens", u->cache_write);
    ch_jw_end(w, '}');
    usage_key(w, out, "_tokens_details");
    ch_jw_begin(w, '{');
    ch_jw_kint(w, "reasoning_tokens", u->reasoning);
    ch_jw_end(w, '}');
    ch_jw_end(w, '}');
}
