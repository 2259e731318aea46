/* check_responses.c -- checks whether OpenAI's Responses API would have accepted this
 * request.
 *
 * Members and their types are those of the official client's definitions
 * (ResponseCreateParams, ResponseInputItem); the other rules are known refusals of the
 * service: reasoning without the item it led to, or without its encrypted form where nothing
 * is stored; ids of the wrong kind or too long; calls without an output. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *type_of(const struct json *item) {
    return json_str(item, "type", "message");
}

static bool is(const struct json *v, const char *key, const char *word) {
    return strcmp(json_str(v, key, ""), word) == 0;
}

/* --- parts ------------------------------------------------------------------ */

static void input_part(struct checker *c, const struct json *p, const char *where, bool result) {
    const char *type = json_str(p, "type", "");

    if (strcmp(type, "input_text") == 0) {
        members(c, p, where, "type text prompt_cache_breakpoint");
        if (!json_is(json_get(p, "text"), JSON_STRING))
            fatal(c, "%s.text: a string is expected", where);
    } else if (strcmp(type, "input_image") == 0) {
        members(c, p, where, "type image_url file_id detail prompt_cache_breakpoint");
        const char *url = json_str(p, "image_url", "");
        if (strncmp(url, "https://", 8) != 0 && strncmp(url, "data:image/", 11) != 0)
            fatal(c, "%s.image_url: neither a URL nor an image", where);
        if (!one_of(json_str(p, "detail", result ? "auto" : "-"), "low high auto original"))
            fatal(c, "%s.detail: expected one of low, high, auto, original", where);
    } else if (strcmp(type, "input_file") == 0) {
        members(c, p, where,
                "type file_id file_url file_data filename detail prompt_cache_breakpoint");
        if (!*json_str(p, "file_url", "") && !*json_str(p, "file_data", ""))
            fatal(c, "%s: a file without contents", where);
    } else {
        fatal(c,
              "%s: Invalid value: '%s'. Supported values are: 'input_text', 'input_image', and "
              "'input_file'.",
              where, type);
    }
}

static void input_parts(struct checker *c, const struct json *list, const char *where,
                        bool result) {
    if (json_is(list, JSON_STRING))
        return;
    if (!json_is(list, JSON_ARRAY) || list->len == 0) {
        fatal(c, "%s: string or parts expected", where);
        return;
    }
    for (const struct json *p = list->first; p; p = p->next)
        input_part(c, p, where, result);
}

static void output_parts(struct checker *c, const struct json *list, const char *where) {
    if (!json_is(list, JSON_ARRAY) || list->len == 0) {
        fatal(c, "%s: parts expected", where);
        return;
    }
    for (const struct json *p = list->first; p; p = p->next) {
        if (is(p, "type", "refusal")) {
            members(c, p, where, "type refusal");
        } else if (is(p, "type", "output_text")) {
            members(c, p, where, "type text annotations logprobs parsed");
            if (!json_is(json_get(p, "annotations"), JSON_ARRAY))
                fatal(c, "%s: Missing required parameter: 'annotations'.", where);
        } else {
            fatal(c, "%s: Invalid value: '%s'. Supported values are: 'output_text' and 'refusal'.",
                  where, json_str(p, "type", ""));
        }
    }
}

/* --- items ------------------------------------------------------------------ */

/* Ids of items are optional except for some types; an id that is given must be valid. */
static void item_id(struct checker *c, const struct json *item, const char *where,
                    const char *prefix, bool required) {
    const struct json *id = json_get(item, "id");

    if (!id && !required)
        return;
    if (!json_is(id, JSON_STRING))
        fatal(c, "%s.id: Missing required parameter", where);
    else if (strlen(id->text) > 64)
        fatal(c, "%s.id: string too long. Expected a string with maximum length 64", where);
    else if (strncmp(id->text, prefix, strlen(prefix)) != 0)
        fatal(c, "%s.id: Invalid '%s'. Expected an ID that begins with '%s'.", where, id->text,
              prefix);
    for (const struct json *other = item->next; json_is(id, JSON_STRING) && other;
         other = other->next)
        if (strcmp(json_str(other, "id", ""), id->text) == 0)
            fatal(c, "%s.id: Duplicate item found with id %s", where, id->text);
}

static void message(struct checker *c, const struct json *m, const char *where) {
    const struct json *content = json_get(m, "content");
    const char *role = json_str(m, "role", "");

    none_open(c, where);
    if (one_of(role, "user system developer")) {
        members(c, m, where, "type role content status phase");
        input_parts(c, content, where, false);
        return;
    }
    if (strcmp(role, "assistant") != 0) {
        fatal(c, "%s.role: Invalid value: '%s'", where, role);
        return;
    }
    members(c, m, where, "type id role status content phase");
    if (json_get(m, "phase") && !json_is(json_get(m, "phase"), JSON_NULL) &&
        !one_of(json_str(m, "phase", "-"), "commentary final_answer"))
        fatal(c, "%s.phase: Invalid value", where);
    if (json_is(content, JSON_STRING)) {
        if (json_get(m, "id"))
            note(c, "an id on a message of the simple form");
        return;
    }
    item_id(c, m, where, "msg_", true);
    if (!one_of(json_str(m, "status", "-"), "in_progress completed incomplete"))
        fatal(c, "%s.status: Missing required parameter", where);
    output_parts(c, content, where);
}

static void function_call(struct checker *c, const struct json *v, const char *where) {
    const struct json *args = json_get(v, "arguments");
    const char *id = json_str(v, "call_id", ""), *why;

    members(c, v, where,
            "type id call_id name arguments status namespace caller async "
            "parsed_arguments");
    item_id(c, v, where, "fc_", false);
    if (!*id || strlen(id) > 64)
        fatal(c, "%s.call_id: a string of 1 to 64 characters is expected", where);
    if (!name_ok(json_str(v, "name", ""), 64))
        fatal(c, "%s.name: '%s'", where, json_str(v, "name", ""));
    if (!json_is(args, JSON_STRING)) {
        fatal(c, "%s.arguments: a string is expected", where);
        return;
    }
    struct json *parsed = json_parse(args->text, args->len, &why);
    if (args->len && !json_is(parsed, JSON_OBJECT))
        note(c, "arguments of a call are no JSON object");
    json_free(parsed);
    call_made(c, where, id);
}

static void call_output(struct checker *c, const struct json *v, const char *where) {
    members(c, v, where, "type id call_id output status caller name namespace");
    call_answered(c, where, json_str(v, "call_id", ""));
    if (!json_get(v, "output"))
        fatal(c, "%s: Missing required parameter: 'output'.", where);
    else
        input_parts(c, json_get(v, "output"), where, true);
}

/* --- calls of tools that the vendor defined, and of custom tools --- */

static const struct {
    const char *type, *tool, *id, *members, *output;
} vendor_items[] = {
    {"custom_tool_call", "custom", "ctc_", "type id call_id name input status namespace caller",
     "type id call_id output status caller"},
    {"shell_call", "shell", "sh_", "type id call_id action status environment caller created_by",
     "type id call_id output max_output_length status caller"},
    {"local_shell_call", "local_shell", "lsh_", "type id call_id action status",
     "type id call_id output status"},
    {"apply_patch_call", "apply_patch", "apc_", "type id call_id operation status caller",
     "type id call_id output status caller"},
};
enum { VENDOR_ITEMS = sizeof(vendor_items) / sizeof(vendor_items[0]) };

static bool vendor_call(struct checker *c, const struct json *v, const char *where) {
    size_t i = 0;

    while (i < VENDOR_ITEMS && strcmp(type_of(v), vendor_items[i].type) != 0)
        i++;
    if (i == VENDOR_ITEMS)
        return false;
    members(c, v, where, vendor_items[i].members);
    item_id(c, v, where, vendor_items[i].id, false);
    bool ok = i == 0   ? json_is(json_get(v, "input"), JSON_STRING) && *json_str(v, "name", "")
              : i == 1 ? json_is(json_get(json_get(v, "action"), "commands"), JSON_ARRAY)
              : i == 2 ? is(json_get(v, "action"), "type", "exec")
                       : one_of(json_str(json_get(v, "operation"), "type", "-"),
                                "create_file update_file delete_file");
    if (!ok)
        fatal(c, "%s: what is called is missing", where);
    if (i > 0 && !one_of(json_str(v, "status", "-"), "in_progress completed incomplete"))
        fatal(c, "%s.status: Missing required parameter", where);
    call_made(c, where, json_str(v, "call_id", ""));
    return true;
}

static void shell_output(struct checker *c, const struct json *list, const char *where) {
    if (!json_is(list, JSON_ARRAY) || !list->len)
        fatal(c, "%s.output: an array is expected", where);
    for (const struct json *o = json_is(list, JSON_ARRAY) ? list->first : NULL; o; o = o->next) {
        const struct json *outcome = json_get(o, "outcome");
        members(c, o, where, "stdout stderr outcome");
        if (!json_is(json_get(o, "stdout"), JSON_STRING) ||
            !json_is(json_get(o, "stderr"), JSON_STRING) ||
            !(is(outcome, "type", "timeout") ||
              (is(outcome, "type", "exit") && json_get(outcome, "exit_code"))))
            fatal(c, "%s.output: stdout, stderr and outcome are required", where);
    }
}

static bool vendor_output(struct checker *c, const struct json *v, const char *where) {
    const struct json *output = json_get(v, "output");
    const char *type = type_of(v);
    size_t i = 0;

    while (i < VENDOR_ITEMS && (strncmp(type, vendor_items[i].type, strlen(vendor_items[i].type)) ||
                                strcmp(type + strlen(vendor_items[i].type), "_output") != 0))
        i++;
    if (i == VENDOR_ITEMS)
        return false;
    members(c, v, where, vendor_items[i].output);
    call_answered(c, where, json_str(v, "call_id", ""));
    if (i == 1)
        shell_output(c, output, where);
    else if (i == 0)
        input_parts(c, output, where, true);
    else if (!json_is(output, JSON_STRING))
        fatal(c, "%s.output: a string is expected", where);
    if (i == 3 && !one_of(json_str(v, "status", "-"), "completed failed"))
        fatal(c, "%s.status: completed or failed is required", where);
    return true;
}

/* The output has the type of its call, and its caller. */
static void fits_its_call(struct checker *c, const struct json *input, const struct json *v,
                          const char *where) {
    const char *id = json_str(v, "call_id", ""), *type = type_of(v);

    if (strlen(type) < 12 || strcmp(type + strlen(type) - 12, "_call_output") != 0)
        return;
    for (const struct json *x = input->first; x != v; x = x->next) {
        const struct json *caller = json_get(x, "caller"), *echo = json_get(v, "caller");
        if (!is(x, "call_id", id))
            continue;
        if (strncmp(type_of(x), type, strlen(type) - 7) != 0 ||
            strlen(type_of(x)) != strlen(type) - 7)
            fatal(c, "%s: No tool call of type %s found for %s", where, type, id);
        if (strcmp(json_str(caller, "caller_id", ""), json_str(echo, "caller_id", "")) != 0)
            fatal(c, "%s.caller: must be the caller of the call", where);
    }
}

/* The signature of the joined texts of a summary is their encrypted form. */
static void signature_of(const struct json *summary, char out[32]) {
    struct text all = {0};

    for (const struct json *p = summary ? summary->first : NULL; p; p = p->next)
        text_add(&all, json_str(p, "text", ""), strlen(json_str(p, "text", "")));
    thinking_signature(all.p ? all.p : "", all.n, out);
    text_free(&all);
}

static void reasoning(struct checker *c, const struct json *v, const char *where, bool stored) {
    const struct json *summary = json_get(v, "summary"), *next = v->next;
    const char *encrypted = json_str(v, "encrypted_content", "");
    char want[32];

    members(c, v, where, "type id summary content encrypted_content status");
    item_id(c, v, where, "rs_", true);
    if (!json_is(summary, JSON_ARRAY)) {
        fatal(c, "%s: Missing required parameter: 'summary'.", where);
        return;
    }
    while (next && strcmp(type_of(next), "reasoning") == 0)
        next = next->next;
    if (!next || is(next, "role", "user") || strcmp(type_of(next), "function_call_output") == 0)
        fatal(c,
              "%s: Item '%s' of type 'reasoning' was provided without its required following "
              "item.",
              where, json_str(v, "id", ""));
    if (!*encrypted && !stored)
        fatal(c,
              "%s: Item with id '%s' not found. Items are not persisted when `store` is set to "
              "false.",
              where, json_str(v, "id", ""));
    signature_of(summary, want);
    if (*encrypted && strcmp(encrypted, want) != 0)
        fatal(c, "%s: The encrypted content could not be verified.", where);
}

static void item(struct checker *c, const struct json *input, const struct json *v, size_t i,
                 bool stored) {
    const char *type = type_of(v);
    char where[64];

    snprintf(where, sizeof(where), "input[%zu]", i);
    if (json_is(v, JSON_OBJECT))
        fits_its_call(c, input, v, where);
    if (!json_is(v, JSON_OBJECT))
        fatal(c, "%s: an object is expected", where);
    else if (vendor_call(c, v, where) || vendor_output(c, v, where))
        ;
    else if (one_of(type, "tool_search_call tool_search_output program_output"))
        ;
    else if (strcmp(type, "program") == 0 && *json_str(v, "fingerprint", ""))
        ;
    else if (strcmp(type, "message") == 0)
        message(c, v, where);
    else if (strcmp(type, "function_call") == 0)
        function_call(c, v, where);
    else if (strcmp(type, "function_call_output") == 0)
        call_output(c, v, where);
    else if (strcmp(type, "reasoning") == 0)
        reasoning(c, v, where, stored);
    else if (strcmp(type, "hologram") == 0)
        ; /* of a later version of the service */
    else if (strcmp(type, "web_search_call") == 0)
        item_id(c, v, where, "ws_", true);
    else if (strcmp(type, "image_generation_call") == 0 && *json_str(v, "result", "") &&
             *json_str(v, "status", ""))
        item_id(c, v, where, "ig_", true);
    else
        fatal(c, "%s: Invalid value: '%s'", where, type);
}

/* --- the rest of the body --------------------------------------------------- */

/* Every property must be required, and no other allowed. */
static void strict_schema(struct checker *c, const struct json *schema, const char *where) {
    const struct json *properties = json_get(schema, "properties");
    const struct json *required = json_get(schema, "required");

    if (!json_is(json_get(schema, "additionalProperties"), JSON_FALSE))
        fatal(c, "%s: 'additionalProperties' is required to be supplied and to be false.", where);
    size_t n = json_is(properties, JSON_OBJECT) ? properties->len : 0;
    if (n != (json_is(required, JSON_ARRAY) ? required->len : 0))
        fatal(c,
              "%s: 'required' is required to be supplied and to be an array including every key "
              "in properties.",
              where);
}

static bool vendor_tool(struct checker *c, const struct json *t) {
    const char *type = json_str(t, "type", "");

    if (strcmp(type, "custom") == 0) {
        const struct json *format = json_get(t, "format");
        members(c, t, "tools",
                "type name description format defer_loading allowed_callers async");
        if (format && is(format, "type", "grammar") &&
            (!one_of(json_str(format, "syntax", "-"), "lark regex") ||
             !*json_str(format, "definition", "")))
            fatal(c, "tools.format: syntax and definition are required");
    } else if (strcmp(type, "shell") == 0) {
        members(c, t, "tools", "type environment allowed_callers");
    } else if (one_of(type, "local_shell apply_patch tool_search")) {
        members(c, t, "tools", "type");
    } else {
        return false;
    }
    return true;
}

static void tools(struct checker *c, const struct json *list) {
    if (!json_is(list, JSON_ARRAY)) {
        fatal(c, "tools: an array is expected");
        return;
    }
    bool search = false, deferred = false;
    for (const struct json *t = list->first; t; t = t->next) {
        search = search || is(t, "type", "tool_search");
        deferred = deferred || json_true(t, "defer_loading");
    }
    if (deferred && !search)
        fatal(c, "tools: defer_loading requires the tool_search tool");
    for (const struct json *t = list->first; t; t = t->next) {
        const struct json *strict = json_get(t, "strict");
        if (vendor_tool(c, t))
            continue;
        members(c, t, "tools",
                "type name description parameters strict allowed_callers async "
                "defer_loading output_schema");
        if (!is(t, "type", "function"))
            fatal(c, "tools.type: '%s'", json_str(t, "type", ""));
        if (!name_ok(json_str(t, "name", ""), 64))
            fatal(c, "tools.name: '%s'", json_str(t, "name", ""));
        if (!is(json_get(t, "parameters"), "type", "object"))
            fatal(c, "tools.parameters: schema must be of type 'object'");
        if (!strict)
            note(c, "a tool that does not say whether it is strict");
        if (json_is(strict, JSON_TRUE))
            strict_schema(c, json_get(t, "parameters"), "tools.parameters");
        for (const struct json *u = t->next; u; u = u->next)
            if (is(u, "name", json_str(t, "name", "")))
                fatal(c, "tools: two of the name '%s'", json_str(t, "name", ""));
    }
}

static void tool_choice(struct checker *c, const struct json *v, const struct json *list) {
    bool found = false;

    if (!v)
        return;
    if (!list) {
        fatal(c, "tool_choice is only allowed when tools are specified");
    } else if (json_is(v, JSON_STRING)) {
        if (!one_of(v->text, "none auto required"))
            fatal(c, "tool_choice: Invalid value: '%s'", v->text);
    } else {
        members(c, v, "tool_choice", "type name");
        for (const struct json *t = list->first; t; t = t->next)
            found = found || is(t, "name", json_str(v, "name", ""));
        if (!is(v, "type", "function") || !found)
            fatal(c, "tool_choice: Tool choice '%s' not found in 'tools' parameter.",
                  json_str(v, "name", ""));
    }
}

static void output_format(struct checker *c, const struct json *text) {
    const struct json *format = json_get(text, "format");

    if (!text)
        return;
    members(c, text, "text", "format verbosity");
    if (!format || is(format, "type", "text"))
        return;
    members(c, format, "text.format", "type name schema description strict");
    if (!is(format, "type", "json_schema") || !name_ok(json_str(format, "name", ""), 64) ||
        !json_is(json_get(format, "schema"), JSON_OBJECT))
        fatal(c, "text.format: type, name and schema are required");
    if (json_true(format, "strict"))
        strict_schema(c, json_get(format, "schema"), "text.format.schema");
}

static void parameters(struct checker *c, const struct json *v) {
    const struct json *r = json_get(v, "reasoning"), *include = json_get(v, "include");

    if (json_get(v, "max_output_tokens") && json_int(v, "max_output_tokens", 0) < 16)
        fatal(c, "max_output_tokens: Expected a value >= 16");
    if (json_get(v, "stream_options") && !json_true(v, "stream"))
        fatal(c, "The 'stream_options' parameter is only allowed when 'stream' is enabled.");
    if (strlen(json_str(v, "prompt_cache_key", "")) > 64)
        fatal(c, "prompt_cache_key: at most 64 characters");
    if (r) {
        members(c, r, "reasoning", "effort summary context mode generate_summary");
        if (json_get(r, "effort") &&
            !one_of(json_str(r, "effort", "-"), "none minimal low medium high xhigh max"))
            fatal(c, "reasoning.effort: Invalid value");
        if (json_get(r, "summary") && !one_of(json_str(r, "summary", "-"), "auto concise detailed"))
            fatal(c, "reasoning.summary: Invalid value");
    }
    for (const struct json *i = include ? include->first : NULL; i; i = i->next)
        if (!json_is(i, JSON_STRING) ||
            !one_of(i->text, "file_search_call.results web_search_call.results "
                             "web_search_call.action.sources message.input_image.image_url "
                             "computer_call_output.output.image_url code_interpreter_call.outputs "
                             "reasoning.encrypted_content message.output_text.logprobs"))
            fatal(c, "include: Invalid value");
}

void check_responses(struct checker *c, const struct request *rq) {
    const struct json *v = rq->json, *input = json_get(v, "input");
    const char *auth = request_header(rq, "authorization"), *key = request_header(rq, "api-key");
    bool stored = !json_is(json_get(v, "store"), JSON_FALSE);
    size_t i = 0;

    if ((!auth || strncmp(auth, "Bearer ", 7) != 0 || !auth[7]) && !(key && *key))
        fatal(c, "You didn't provide an API key.");
    members(c, v, "body",
            "model input instructions tools tool_choice parallel_tool_calls stream stream_options "
            "store include max_output_tokens max_tool_calls temperature top_p top_logprobs text "
            "reasoning truncation metadata prompt prompt_cache_key prompt_cache_options "
            "prompt_cache_retention previous_response_id conversation background "
            "context_management safety_identifier service_tier moderation access_programs image "
            "user");
    if (json_is(input, JSON_STRING) && input->len == 0)
        fatal(c, "input: an empty text");
    if (!json_is(input, JSON_STRING) && (!json_is(input, JSON_ARRAY) || input->len == 0)) {
        fatal(c, "Missing required parameter: 'input'.");
        return;
    }
    if (json_get(v, "tools"))
        tools(c, json_get(v, "tools"));
    tool_choice(c, json_get(v, "tool_choice"), json_get(v, "tools"));
    parameters(c, v);
    output_format(c, json_get(v, "text"));
    for (const struct json *x = json_is(input, JSON_ARRAY) ? input->first : NULL; x; x = x->next)
        item(c, input, x, i++, stored);
    if (c->calls.nopen)
        fatal(c, "No tool output found for function call %s.", c->calls.open[0]);
}
