/* openai.c -- see openai.h. */
#include "gateway/http/openai.h"

#include <stdio.h>

#include "base/error.h"
#include "base/limits.h"
#include "gateway/lane/lane.h"
#include "gateway/request/gateway_state.h"
#include "gateway/request/request.h"

static void openai_write_model(struct ch_jw *w, const chela_agent *a) {
    ch_jw_begin(w, '{');
    ch_jw_kcstr(w, "id", a->id);
    ch_jw_kcstr(w, "object", "model");
    ch_jw_kint(w, "created", 0);
    ch_jw_kcstr(w, "owned_by", "chela");
    ch_jw_end(w, '}');
}

void ch_openai_models(struct ch_request *req) {
    CH_BUF_AUTO out = {0};
    struct ch_jw w = ch_jw(&out);
    ch_jw_begin(&w, '{');
    ch_jw_kcstr(&w, "object", "list");
    ch_jw_key(&w, "data");
    ch_jw_begin(&w, '[');
    for (chela_agent **a = req->gw->agents; *a; a++)
        openai_write_model(&w, *a);
    ch_jw_end(&w, ']');
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
    struct ch_sv id = ch_json_get_str(req->json, "model");
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

static int openai_read_number(const struct ch_json *o, const char *key, double max, double *out,
                              const double **set, struct chela_error *err) {
    const struct ch_json *v = ch_json_get(o, key);
    if (!v || v->type == CH_JSON_NULL)
        return 0;
    *out = ch_json_double(v, -1);
    if (*out < 0 || *out > max)
        return ch_fail(err, CHELA_EINVAL, "`%s` must be a number from 0 to %g", key, max);
    *set = out;
    return 0;
}

static int read_stop(struct ch_request *req, struct ch_openai_params *p, struct ch_lane_opts *o,
                     struct chela_error *err) {
    const struct ch_json *stop = ch_json_get(req->json, "stop");
    size_t n = 0;
    if (!stop || stop->type == CH_JSON_NULL)
        return 0;
    size_t max = stop->type == CH_JSON_ARRAY ? stop->n : 1;
    if (max > 16)
        return ch_fail(err, CHELA_EINVAL, "`stop` must have at most 16 texts");
    p->stop = ch_arena_zalloc(&req->arena, (max + 1) * sizeof(*p->stop));
    if (stop->type == CH_JSON_STRING)
        p->stop[n++] = ch_arena_str(&req->arena, ch_json_str(stop));
    for (CH_JSON_EACH(e, stop))
        if (ch_json_str(e).n)
            p->stop[n++] = ch_arena_str(&req->arena, ch_json_str(e));
    o->patch.stop = n ? p->stop : NULL;
    return 0;
}

int ch_openai_sampling(struct ch_request *req, struct ch_openai_params *p, struct ch_lane_opts *o,
                       struct chela_error *err) {
    static const char *const longest[] = {"max_completion_tokens", "max_output_tokens",
                                          "max_tokens"};
    int rc = openai_read_number(req->json, "temperature", 2, &p->temperature, &o->patch.temperature,
                                err);
    if (rc == 0)
        rc = openai_read_number(req->json, "top_p", 1, &p->top_p, &o->patch.top_p, err);
    if (rc == 0)
        rc = read_stop(req, p, o, err);
    if (rc < 0)
        return rc;
    if (ch_json_as_int(ch_json_get(req->json, "seed"), &p->seed))
        o->patch.seed = &p->seed;
    for (size_t i = CH_LEN(longest); i > 0; i--) {
        const struct ch_json *n = ch_json_get(req->json, longest[i - 1]);
        if (!n || n->type == CH_JSON_NULL)
            continue;
        if (!ch_json_as_int(n, &o->patch.max_output_tokens) || o->patch.max_output_tokens < 1)
            return ch_fail(err, CHELA_EINVAL, "`%s` must be a positive integer", longest[i - 1]);
    }
    return 0;
}

/* --- tools */

int ch_openai_tool(struct ch_request *req, const struct ch_json *f, struct chela_tool_opts *tools,
                   size_t *n, struct chela_error *err) {
    const struct ch_json *schema = ch_json_get(f, "parameters");
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    if (*n == CH_LIMIT_CLIENT_TOOLS)
        return ch_fail(err, CHELA_EINVAL, "more than %d tools", CH_LIMIT_CLIENT_TOOLS);
    if (!ch_json_get_str(f, "name").n)
        return ch_fail(err, CHELA_EINVAL, "a tool has no name");
    if (ch_json_is(schema, CH_JSON_OBJECT))
        ch_jw_value(&w, schema);
    tools[*n] = (struct chela_tool_opts)
        CHELA_TOOL_OPTS(.name = ch_arena_str(&req->arena, ch_json_get_str(f, "name")),
                        .description = ch_arena_str(&req->arena, ch_json_get_str(f, "description")),
                        .schema = text.n ? ch_arena_str(&req->arena, ch_buf_sv(&text)) : NULL);
    (*n)++;
    return 0;
}

int ch_openai_tools(struct ch_request *req, const char *member, struct ch_lane_opts *o,
                    struct chela_error *err) {
    const struct ch_json *tools = ch_json_get(req->json, "tools");
    size_t max = ch_json_is(tools, CH_JSON_ARRAY) ? tools->n : 0;
    struct chela_tool_opts *list = ch_arena_alloc(&req->arena, (max + 1) * sizeof(*list));
    for (CH_JSON_EACH(t, tools)) {
        if (!ch_sv_is(ch_json_get_str(t, "type"), "function"))
            return ch_fail(err, CHELA_EINVAL, "only tools of type function are supported");
        int rc = ch_openai_tool(req, member ? ch_json_get(t, member) : t, list, &o->ntools, err);
        if (rc < 0)
            return rc;
    }
    o->tools = list;
    return 0;
}

int ch_openai_format(struct ch_request *req, const char *name, const struct ch_json *f,
                     const struct ch_json *schema, struct ch_lane_opts *o,
                     struct chela_error *err) {
    struct ch_sv type = ch_json_get_str(f, "type");
    CH_BUF_AUTO text = {0};
    struct ch_jw w = ch_jw(&text);
    if (!type.n || ch_sv_is(type, "text"))
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

int ch_openai_choice(struct ch_request *req, struct ch_lane_opts *o, struct chela_error *err) {
    const struct ch_json *c = ch_json_get(req->json, "tool_choice");
    struct ch_sv word = ch_json_str(c), name = ch_json_get_str(c, "name");
    if (!c || c->type == CH_JSON_NULL)
        return 0;
    if (!name.n)
        name = ch_json_str(ch_json_path(c, "function", "name", NULL));
    if (ch_sv_is(word, "auto") || ch_sv_is(word, "none"))
        o->patch.tool_choice = ch_arena_str(&req->arena, word);
    else if (ch_sv_is(word, "required"))
        o->patch.tool_choice = "any";
    else if (name.n)
        o->patch.tool_choice = ch_arena_str(&req->arena, name);
    else
        return ch_fail(err, CHELA_EINVAL,
                       "`tool_choice` must be auto, none, required or the name of a function");
    return 0;
}

static void usage_key(struct ch_jw *w, const char *kind, const char *rest) {
    char key[64];
    snprintf(key, sizeof(key), "%s%s", kind, rest);
    ch_jw_key(w, key);
}

static void usage_details(struct ch_jw *w, const char *kind, const char *name, int64_t n) {
    usage_key(w, kind, "_tokens_details");
    ch_jw_begin(w, '{');
    ch_jw_kint(w, name, n);
    ch_jw_end(w, '}');
}

void ch_openai_write_usage(struct ch_jw *w, const char *in, const char *out,
                           const struct chela_usage *u) {
    ch_jw_key(w, "usage");
    ch_jw_begin(w, '{');
    usage_key(w, in, "_tokens");
    ch_jw_int(w, u->input);
    usage_key(w, out, "_tokens");
    ch_jw_int(w, u->output);
    ch_jw_kint(w, "total_tokens", u->input + u->output);
    usage_details(w, in, "cached_tokens", u->cache_read);
    usage_details(w, out, "reasoning_tokens", u->reasoning);
    ch_jw_end(w, '}');
}
