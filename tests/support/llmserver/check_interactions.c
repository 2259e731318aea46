/* check_interactions.c -- checks whether the Interactions API would have accepted this request.
 *
 * Shapes are those of the vendor's own types (CreateModelInteraction and below, as its client sends
 * them). Every call is answered before the user says something else. A thought with a valid
 * signature precedes the calls of a reply, as it came; so do steps of the service's own tools. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#define ANY_SIGNATURE "skip_thought_signature_validator"
#define INVALID "Request contains an invalid argument."

struct history {
    struct checker *c;
    bool thought; /* the reply has a signed thought */
};

static const char *type_of(const struct json *v) {
    return json_str(v, "type", "");
}

/* --- contents */

static void content(struct checker *c, const struct json *v, const char *where) {
    const char *type = type_of(v);

    if (strcmp(type, "text") == 0) {
        members(c, v, where, "type text annotations");
        if (!json_is(json_get(v, "text"), JSON_STRING) || blank(json_str(v, "text", "")))
            fatal(c, "%s.text: empty text parameter", where);
    } else if (one_of(type, "image audio document video")) {
        members(c, v, where, "type data uri mime_type resolution channels sample_rate");
        if (!strchr(json_str(v, "mime_type", ""), '/'))
            fatal(c, "%s.mime_type: '%s'", where, json_str(v, "mime_type", ""));
        if (!*json_str(v, "uri", json_str(v, "data", "")))
            fatal(c, "%s: neither data nor uri", where);
    } else if (strcmp(type, "hologram") != 0) { /* of a later version of the service */
        fatal(c, "The value '%s' is not supported for 'type' at '%s'.", type, where);
    }
}

static void contents(struct checker *c, const struct json *list, const char *where) {
    if (!json_is(list, JSON_ARRAY) || !list->len)
        fatal(c, "%s.content: must not be empty", where);
    for (const struct json *v = json_is(list, JSON_ARRAY) ? list->first : NULL; v; v = v->next)
        content(c, v, where);
}

/* --- steps */

static void thought(struct history *h, const struct json *v, const char *where) {
    const struct json *summary = json_get(v, "summary");
    const char *have = json_str(v, "signature", "");
    struct text all = {0};
    char want[32];

    members(h->c, v, where, "type signature summary");
    for (const struct json *p = summary ? summary->first : NULL; p; p = p->next) {
        content(h->c, p, where);
        text_add(&all, json_str(p, "text", ""), strlen(json_str(p, "text", "")));
    }
    thinking_signature(all.p ? all.p : "", all.n, want);
    if (!*have)
        fatal(h->c, INVALID);
    else if (strcmp(have, want) != 0 && strcmp(have, ANY_SIGNATURE) != 0)
        fatal(h->c, "%s: Corrupted thought signature.", where);
    h->thought = true;
    text_free(&all);
}

static void function_call(struct history *h, const struct json *v, const char *where) {
    members(h->c, v, where, "type id name arguments");
    if (!name_ok(json_str(v, "name", ""), 64))
        fatal(h->c, "%s.name: '%s'", where, json_str(v, "name", ""));
    if (!json_is(json_get(v, "arguments"), JSON_OBJECT))
        fatal(h->c, "%s.arguments: an object is expected", where);
    if (!h->thought)
        fatal(h->c, INVALID);
    call_made(h->c, where, json_str(v, "id", ""));
}

static void function_result(struct history *h, const struct json *v, const char *where) {
    const struct json *result = json_get(v, "result");

    members(h->c, v, where, "type call_id name is_error result");
    if (!name_ok(json_str(v, "name", ""), 64))
        fatal(h->c, "%s.name: '%s'", where, json_str(v, "name", ""));
    call_answered(h->c, where, json_str(v, "call_id", ""));
    if (json_is(result, JSON_ARRAY))
        contents(h->c, result, where);
    else if (!json_is(result, JSON_STRING) || !result->len)
        fatal(h->c, "%s.result: a text or contents are expected", where);
}

static void step(struct history *h, const struct json *v, size_t i) {
    const char *type = type_of(v);
    char where[64];

    snprintf(where, sizeof(where), "input[%zu]", i);
    if (i == 0 && strcmp(type, "user_input") != 0)
        fatal(h->c, "%s: the first step must be the user's", where);
    if (strcmp(type, "user_input") == 0)
        none_open(h->c, where);
    if (one_of(type, "user_input function_result"))
        h->thought = false;
    if (one_of(type, "user_input model_output")) {
        members(h->c, v, where, "type content");
        contents(h->c, json_get(v, "content"), where);
    } else if (strcmp(type, "thought") == 0) {
        thought(h, v, where);
    } else if (strcmp(type, "function_call") == 0) {
        function_call(h, v, where);
    } else if (strcmp(type, "function_result") == 0) {
        function_result(h, v, where);
    } else if (one_of(type, "google_search_call code_execution_call url_context_call")) {
        members(h->c, v, where, "type id arguments signature search_type");
        if (!json_is(json_get(v, "arguments"), JSON_OBJECT))
            fatal(h->c, "%s.arguments: an object is expected", where);
    } else if (!one_of(type, "google_search_result code_execution_result url_context_result "
                             "hologram")) {
        fatal(h->c, "The value '%s' is not supported for 'type' at '%s'.", type, where);
    }
}

/* --- tools and settings */

static bool is_declared(const struct json *list, const char *name) {
    for (const struct json *t = json_is(list, JSON_ARRAY) ? list->first : NULL; t; t = t->next)
        if (strcmp(type_of(t), "function") == 0 && strcmp(json_str(t, "name", ""), name) == 0)
            return true;
    return false;
}

static void tools(struct checker *c, const struct json *list) {
    if (!json_is(list, JSON_ARRAY)) {
        fatal(c, "tools: an array is expected");
        return;
    }
    for (const struct json *t = list->first; t; t = t->next) {
        const struct json *schema = json_get(t, "parameters");
        if (one_of(type_of(t), "code_execution google_search google_maps url_context file_search "
                               "computer_use mcp_server"))
            continue;
        members(c, t, "tools", "type name description parameters");
        if (strcmp(type_of(t), "function") != 0)
            fatal(c, "The value '%s' is not supported for 'type' at 'tools'.", type_of(t));
        if (!name_ok(json_str(t, "name", ""), 64))
            fatal(c, "tools.name: '%s'", json_str(t, "name", ""));
        if (schema && strcmp(json_str(schema, "type", "object"), "object") != 0)
            fatal(c, "tools.parameters: type object is expected");
        for (const struct json *u = t->next; u; u = u->next)
            if (strcmp(json_str(u, "name", "-"), json_str(t, "name", "")) == 0)
                fatal(c, "tools: two of the name '%s'", json_str(t, "name", ""));
    }
}

static void tool_choice(struct checker *c, const struct json *v, const struct json *list) {
    const struct json *allowed = json_get(v, "allowed_tools"), *names = json_get(allowed, "tools");
    const char *mode = json_is(v, JSON_STRING) ? v->text : json_str(allowed, "mode", "-");

    if (!list)
        fatal(c, "tool_choice: there are no tools");
    if (!one_of(mode, "auto any none validated"))
        fatal(c, "tool_choice: '%s'", mode);
    for (const struct json *n = names ? names->first : NULL; n; n = n->next)
        if (!is_declared(list, n->text))
            fatal(c, "tool_choice: '%s' is not declared", n->text);
}

static void config(struct checker *c, const struct json *v, const struct json *list) {
    members(c, v, "generation_config",
            "max_output_tokens seed stop_sequences temperature top_p thinking_level "
            "thinking_summaries tool_choice");
    if (json_get(v, "thinking_level") &&
        !one_of(json_str(v, "thinking_level", "-"), "minimal low medium high"))
        fatal(c, "thinking_level: '%s'", json_str(v, "thinking_level", "-"));
    if (json_get(v, "thinking_summaries") &&
        !one_of(json_str(v, "thinking_summaries", "-"), "auto none"))
        fatal(c, "thinking_summaries: '%s'", json_str(v, "thinking_summaries", "-"));
    if (json_get(v, "tool_choice"))
        tool_choice(c, json_get(v, "tool_choice"), list);
}

static void format(struct checker *c, const struct json *v) {
    members(c, v, "response_format", "type mime_type schema");
    if (strcmp(type_of(v), "text") != 0 ||
        strcmp(json_str(v, "mime_type", ""), "application/json") != 0 ||
        !json_is(json_get(v, "schema"), JSON_OBJECT))
        fatal(c, "response_format: type, mime_type and schema are expected");
}

void check_interactions(struct checker *c, const struct request *rq) {
    const struct json *v = rq->json, *input = json_get(v, "input");
    const char *key = request_header(rq, "x-goog-api-key");
    const char *auth = request_header(rq, "authorization");
    struct history h = {.c = c};
    size_t i = 0;

    if (!(key && *key) && (!auth || strncmp(auth, "Bearer ", 7) != 0))
        fatal(c, "The API key is missing.");
    members(c, v, "body",
            "model input system_instruction tools generation_config response_format store stream "
            "background service_tier labels previous_interaction_id cached_content");
    if (!json_is(json_get(v, "store"), JSON_FALSE) && !json_true(v, "background"))
        note(c, "the service stores this interaction");
    if (json_get(v, "tools"))
        tools(c, json_get(v, "tools"));
    if (json_get(v, "generation_config"))
        config(c, json_get(v, "generation_config"), json_get(v, "tools"));
    if (json_get(v, "response_format"))
        format(c, json_get(v, "response_format"));
    if (json_is(input, JSON_STRING) && input->len)
        return;
    if (!json_is(input, JSON_ARRAY) || !input->len) {
        fatal(c, "input: must not be empty");
        return;
    }
    for (const struct json *x = input->first; x; x = x->next)
        step(&h, x, i++);
    if (c->calls.nopen)
        fatal(c, "No function_result for the function_call %s.", c->calls.open[0]);
}
