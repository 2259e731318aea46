/* check.c -- checks whether the vendor would have accepted this request.
 *
 * A list of rules for each protocol, as strict as the services are known to
 * be: unknown members, empty texts, calls without results, results without
 * calls, ids used twice. So a test that gets an answer has also shown that the
 * request was well formed. */
#include "check.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fatal(struct checker *c, const char *fmt, ...) {
    char line[300];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    if (!c->out->fatal[0])
        snprintf(c->out->fatal, sizeof(c->out->fatal), "%s", line);
    if (c->out->list.n)
        text_addf(&c->out->list, ",");
    text_quote(&c->out->list, line);
}

/* Records a mistake that is not answered with an error. */
void note(struct checker *c, const char *line) {
    if (c->out->list.n)
        text_addf(&c->out->list, ",");
    text_quote(&c->out->list, line);
}

void thinking_signature(const char *text, size_t n, char out[32]) {
    uint64_t h = 1469598103934665603u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    snprintf(out, 32, "sig_%016llx", (unsigned long long)h);
}

/* Is word one of the space-separated words in list? */
bool one_of(const char *word, const char *list) {
    size_t n = strlen(word);

    for (const char *p = list; (p = strstr(p, word)) != NULL; p += n)
        if (n && (p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

void members(struct checker *c, const struct json *v, const char *where, const char *known) {
    if (!json_is(v, JSON_OBJECT)) {
        fatal(c, "%s: an object is expected", where);
        return;
    }
    for (const struct json *m = v->first; m; m = m->next) {
        if (!one_of(m->key, known))
            fatal(c, "%s.%s: Extra inputs are not permitted", where, m->key);
        for (const struct json *n = m->next; n; n = n->next)
            if (strcmp(m->key, n->key) == 0)
                fatal(c, "%s.%s: given twice", where, m->key);
    }
}

bool name_ok(const char *name, size_t most) {
    size_t n = strlen(name);

    return n > 0 && n <= most &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == n;
}

bool blank(const char *s) {
    return s[strspn(s, " \t\r\n")] == '\0';
}

/* --- calls and their results ------------------------------------------------ */

void call_made(struct checker *c, const char *where, const char *id) {
    struct calls *k = &c->calls;

    if (k->nseen == MAX_IDS) {
        fatal(c, "%s: more calls than this server keeps count of", where);
        return;
    }
    for (size_t i = 0; i < k->nseen; i++)
        if (strcmp(k->seen[i], id) == 0)
            fatal(c, "%s: `tool_use` ids must be unique: %s", where, id);
    k->seen[k->nseen++] = id;
    k->open[k->nopen++] = id;
}

void call_answered(struct checker *c, const char *where, const char *id) {
    struct calls *k = &c->calls;

    for (size_t i = 0; i < k->nopen; i++) {
        if (strcmp(k->open[i], id) == 0) {
            k->open[i] = k->open[--k->nopen];
            return;
        }
    }
    fatal(c, "%s: result for %s, which is no call of the message before", where, id);
}

void none_open(struct checker *c, const char *where) {
    if (c->calls.nopen)
        fatal(c, "%s: `tool_use` ids were found without `tool_result` blocks immediately after: %s",
              where, c->calls.open[0]);
    c->calls.nopen = 0;
}

/* --- Anthropic ---------------------------------------------------------------- */

static void a_cache_mark(struct checker *c, const struct json *v) {
    if (json_get(v, "cache_control"))
        c->cache_marks++;
}

static void a_text(struct checker *c, const struct json *b, const char *where) {
    members(c, b, where, "type text cache_control citations");
    if (blank(json_str(b, "text", "")))
        fatal(c, "%s: text content blocks must be non-empty", where);
}

static void a_thinking(struct checker *c, const struct json *b, const char *where) {
    const struct json *text = json_get(b, "thinking");
    char want[32];

    members(c, b, where, "type thinking signature");
    if (!json_is(text, JSON_STRING)) {
        fatal(c, "%s.thinking: Field required", where);
        return;
    }
    thinking_signature(text->text, text->len, want);
    if (strcmp(json_str(b, "signature", ""), want) != 0)
        fatal(c, "%s: Invalid `signature` in `thinking` block", where);
}

static void a_result(struct checker *c, const struct json *b, const char *where) {
    const struct json *content = json_get(b, "content");
    char at[160];
    size_t i = 0;

    members(c, b, where, "type tool_use_id content is_error cache_control");
    call_answered(c, where, json_str(b, "tool_use_id", ""));
    if (!json_is(content, JSON_ARRAY))
        return;
    for (const struct json *part = content->first; part; part = part->next) {
        snprintf(at, sizeof(at), "%.90s.content.%zu", where, i++);
        if (strcmp(json_str(part, "type", ""), "text") == 0)
            a_text(c, part, at);
        else if (json_true(b, "is_error"))
            fatal(c, "%s: only text is allowed with is_error", at);
    }
}

static void a_block(struct checker *c, const struct json *b, const char *where, bool user,
                    bool *other) {
    const char *type = json_str(b, "type", "");

    a_cache_mark(c, b);
    if (strcmp(type, "tool_result") == 0 && user) {
        if (*other)
            fatal(c, "%s: tool_result blocks come first in their message", where);
        a_result(c, b, where);
        return;
    }
    if (user)
        *other = true;
    if (strcmp(type, "text") == 0) {
        a_text(c, b, where);
    } else if (strcmp(type, "tool_use") == 0 && !user) {
        members(c, b, where, "type id name input cache_control caller");
        if (!name_ok(json_str(b, "id", ""), 64) || !name_ok(json_str(b, "name", ""), 128))
            fatal(c, "%s: bad id or name", where);
        if (!json_is(json_get(b, "input"), JSON_OBJECT))
            fatal(c, "%s.input: Input should be a valid dictionary", where);
        call_made(c, where, json_str(b, "id", ""));
    } else if (strcmp(type, "thinking") == 0 && !user) {
        a_thinking(c, b, where);
    } else if (!one_of(type, user ? "image document search_result container_upload"
                                  : "redacted_thinking server_tool_use web_search_tool_result "
                                  "tool_search_tool_result code_execution_tool_result "
                                    "hologram" /* of a later version of the service */)) {
        fatal(c, "%s: block of type '%s' is not allowed here", where, type);
    }
}

static void a_message(struct checker *c, const struct json *m, size_t i, const char **before) {
    const struct json *content = json_get(m, "content");
    const char *role = json_str(m, "role", "");
    bool user = strcmp(role, "user") == 0, other = false;
    char where[64];
    size_t k = 0;

    snprintf(where, sizeof(where), "messages.%zu", i);
    members(c, m, where, "role content");
    if (!one_of(role, "user assistant"))
        fatal(c, "%s.role: '%s' is not allowed", where, role);
    if (i == 0 && !user)
        fatal(c, "%s: the first message must be the user's", where);
    if (*before && !user && strcmp(*before, role) == 0) /* the user's are merged */
        note(c, "roles do not alternate");
    *before = role;
    if (!user)
        none_open(c, where);
    if (json_is(content, JSON_STRING)) {
        if (blank(content->text))
            fatal(c, "%s: all messages must have non-empty content", where);
    } else if (!json_is(content, JSON_ARRAY) || content->len == 0) {
        fatal(c, "%s: all messages must have non-empty content", where);
    } else {
        for (const struct json *b = content->first; b; b = b->next) {
            char at[160];
            snprintf(at, sizeof(at), "%.90s.content.%zu", where, k++);
            a_block(c, b, at, user, &other);
        }
    }
    if (user)
        none_open(c, where);
}

/* Tools that the vendor defined, by type; their names are fixed. */
static bool a_vendor_tool(struct checker *c, const struct json *t) {
    static const struct {
        const char *type, *name;
    } known[] = {
        {"bash_20250124", "bash"},
        {"text_editor_20250728", "str_replace_based_edit_tool"},
        {"memory_20250818", "memory"},
        {"tool_search_tool_bm25_20251119", "tool_search_tool_bm25"},
        {"tool_search_tool_regex_20251119", "tool_search_tool_regex"},
        {"code_execution_20260120", "code_execution"},
        {"code_execution_20260521", "code_execution"},
    };
    const char *type = json_str(t, "type", "custom");

    if (strcmp(type, "custom") == 0)
        return false;
    members(c, t, "tools", "type name cache_control max_characters max_uses");
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].type, type) == 0) {
            if (strcmp(known[i].name, json_str(t, "name", "")) != 0)
                fatal(c, "tools.name: Input should be '%s'", known[i].name);
            return true;
        }
    fatal(c, "tools: Input tag '%s' found using 'type' does not match any of the expected tags",
          type);
    return true;
}

static bool a_has_type(const struct json *tools, const char *prefix) {
    for (const struct json *t = tools ? tools->first : NULL; t; t = t->next)
        if (strncmp(json_str(t, "type", ""), prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

static void a_deferral(struct checker *c, const struct json *tools) {
    size_t deferred = 0;

    for (const struct json *t = tools->first; t; t = t->next) {
        const struct json *callers = json_get(t, "allowed_callers");
        if (json_true(t, "defer_loading") && json_get(t, "cache_control"))
            fatal(c, "tools: cache_control may not be set on a tool with defer_loading");
        deferred += json_true(t, "defer_loading");
        for (const struct json *k = callers ? callers->first : NULL; k; k = k->next)
            if (!json_is(k, JSON_STRING) ||
                (strcmp(k->text, "direct") != 0 && !a_has_type(tools, "code_execution_20260")))
                fatal(c, "tools.allowed_callers: needs the tool code_execution");
    }
    if (deferred && deferred == tools->len)
        fatal(c, "tools: at least one tool must not have defer_loading");
    if (deferred && !a_has_type(tools, "tool_search_tool_"))
        fatal(c, "tools: defer_loading needs a tool search tool");
}

/* Code that calls tools excludes some choices. */
static void a_choice(struct checker *c, const struct json *body) {
    const struct json *tools = json_get(body, "tools"), *choice = json_get(body, "tool_choice");

    for (const struct json *t = tools ? tools->first : NULL; t; t = t->next)
        if (json_get(t, "allowed_callers") && json_true(choice, "disable_parallel_tool_use"))
            fatal(c, "tool_choice: disable_parallel_tool_use is not supported with "
                     "programmatic tool calling");
}

static void a_tools(struct checker *c, const struct json *tools) {
    if (!json_is(tools, JSON_ARRAY)) {
        fatal(c, "tools: Input should be a valid list");
        return;
    }
    for (const struct json *t = tools->first; t; t = t->next) {
        a_cache_mark(c, t);
        for (const struct json *u = t->next; u; u = u->next)
            if (strcmp(json_str(t, "name", ""), json_str(u, "name", "")) == 0)
                fatal(c, "tools: Tool names must be unique.");
        if (a_vendor_tool(c, t))
            continue;
        members(c, t, "tools", "name description input_schema type strict cache_control "
                               "eager_input_streaming defer_loading input_examples "
                               "allowed_callers");
        if (!name_ok(json_str(t, "name", ""), 128))
            fatal(c, "tools: name '%s'", json_str(t, "name", ""));
        if (strcmp(json_str(json_get(t, "input_schema"), "type", ""), "object") != 0)
            fatal(c, "tools.input_schema.type: Input should be 'object'");
    }
    a_deferral(c, tools);
}

/* Code of the service waits for the results that this request brings: it is found by its
 * container, and nothing else may be said. */
static void a_waiting_code(struct checker *c, const struct json *body,
                           const struct json *messages) {
    const struct json *calls = NULL, *results = NULL;
    bool waits = false;

    for (const struct json *m = messages->first; m; m = m->next) {
        calls = results;
        results = m;
    }
    const struct json *blocks = calls ? json_get(calls, "content") : NULL;
    for (const struct json *b = json_is(blocks, JSON_ARRAY) ? blocks->first : NULL; b; b = b->next)
        if (strncmp(json_str(json_get(b, "caller"), "type", ""), "code_execution", 14) == 0)
            waits = true;
    if (!waits)
        return;
    if (!*json_str(body, "container", json_str(json_get(body, "container"), "id", "")))
        fatal(c, "container: required while a programmatic tool call waits");
    blocks = json_get(results, "content");
    for (const struct json *b = json_is(blocks, JSON_ARRAY) ? blocks->first : NULL; b; b = b->next)
        if (strcmp(json_str(b, "type", ""), "tool_result") != 0)
            fatal(c, "messages: only tool_result blocks may answer a programmatic tool call");
}

static void a_system(struct checker *c, const struct json *system) {
    if (!json_is(system, JSON_ARRAY))
        return;
    for (const struct json *b = system->first; b; b = b->next) {
        a_cache_mark(c, b);
        a_text(c, b, "system");
    }
}

static void anthropic(struct checker *c, const struct request *rq) {
    const struct json *v = rq->json, *messages = json_get(v, "messages");
    const char *key = request_header(rq, "x-api-key"), *auth = request_header(rq, "authorization");
    const char *before = NULL;
    size_t i = 0;

    if (!(key && *key) && !(auth && strncmp(auth, "Bearer ", 7) == 0 && auth[7]))
        fatal(c, "x-api-key header is required");
    if (!request_header(rq, "anthropic-version"))
        fatal(c, "anthropic-version: header is required");
    members(c, v, "body", "model max_tokens messages system tools tool_choice thinking "
                          "output_config stop_sequences stream metadata service_tier speed "
                          "cache_control temperature top_p top_k container inference_geo "
                          "diagnostics");
    if (json_int(v, "max_tokens", -1) < 1)
        fatal(c, "max_tokens: Field required");
    if (!json_is(messages, JSON_ARRAY) || messages->len == 0) {
        fatal(c, "messages: at least one message is required");
        return;
    }
    a_system(c, json_get(v, "system"));
    if (json_get(v, "tools"))
        a_tools(c, json_get(v, "tools"));
    else if (json_get(v, "tool_choice"))
        fatal(c, "tool_choice may only be specified while providing tools");
    for (const struct json *m = messages->first; m; m = m->next)
        a_message(c, m, i++, &before);
    none_open(c, "messages");
    a_waiting_code(c, v, messages);
    a_choice(c, v);
    if (c->calls.nseen && !json_get(v, "tools"))
        note(c, "history with calls, and no tools");
    if (c->cache_marks > 4)
        fatal(c, "A maximum of 4 blocks with cache_control may be provided. Found %d.",
              c->cache_marks);
}

/* --- Chat Completions ------------------------------------------------------- */

static void o_calls(struct checker *c, const struct json *calls, const char *where) {
    const char *why;

    for (const struct json *t = calls->first; t; t = t->next) {
        const struct json *fn = json_get(t, "function"), *args = json_get(fn, "arguments");
        const char *id = json_str(t, "id", "");
        members(c, t, where, "id type function");
        members(c, fn, where, "name arguments");
        if (!*id || strlen(id) > 40)
            fatal(c, "%s: Invalid 'tool_calls.id': string of 1 to 40 characters expected", where);
        if (strcmp(json_str(t, "type", ""), "function") != 0 ||
            !name_ok(json_str(fn, "name", ""), 64))
            fatal(c, "%s: bad type or name of a call", where);
        if (!json_is(args, JSON_STRING))
            fatal(c, "%s: arguments: a string is expected", where);
        struct json *parsed = json_is(args, JSON_STRING) ? json_parse(args->text, args->len, &why)
                                                         : NULL;
        if (!json_is(parsed, JSON_OBJECT))
            note(c, "arguments of a call are no JSON object");
        json_free(parsed);
        call_made(c, where, id);
    }
}

static void o_content(struct checker *c, const struct json *content, const char *where) {
    if (json_is(content, JSON_STRING))
        return;
    if (!json_is(content, JSON_ARRAY) || content->len == 0) {
        fatal(c, "%s.content: string or parts expected", where);
        return;
    }
    for (const struct json *p = content->first; p; p = p->next)
        if (!one_of(json_str(p, "type", "-"), "text image_url input_audio file"))
            fatal(c, "%s.content: part of type '%s'", where, json_str(p, "type", ""));
}

static void o_message(struct checker *c, const struct json *m, size_t i) {
    const char *role = json_str(m, "role", "");
    const struct json *calls = json_get(m, "tool_calls"), *content = json_get(m, "content");
    char where[64];

    snprintf(where, sizeof(where), "messages[%zu]", i);
    members(c, m, where,
            "role content name tool_calls tool_call_id refusal reasoning_content reasoning "
            "reasoning_details");
    if (strcmp(role, "tool") == 0) {
        call_answered(c, where, json_str(m, "tool_call_id", ""));
        o_content(c, content, where);
        return;
    }
    none_open(c, where);
    if (strcmp(role, "assistant") == 0) {
        if (json_is(calls, JSON_ARRAY) && calls->len)
            o_calls(c, calls, where);
        else if (!json_is(content, JSON_STRING) || !*content->text)
            fatal(c, "%s: assistant message must have either content or tool_calls", where);
        return;
    }
    if (!one_of(role, "system developer user"))
        fatal(c, "%s.role: '%s'", where, role);
    o_content(c, content, where);
}

static void o_tools(struct checker *c, const struct json *tools) {
    if (!json_is(tools, JSON_ARRAY) || tools->len == 0) {
        fatal(c, "tools: [] is too short");
        return;
    }
    for (const struct json *t = tools->first; t; t = t->next) {
        const struct json *fn = json_get(t, "function");
        members(c, t, "tools", "type function");
        members(c, fn, "tools.function", "name description parameters strict");
        if (!name_ok(json_str(fn, "name", ""), 64))
            fatal(c, "tools.function.name: '%s'", json_str(fn, "name", ""));
        for (const struct json *u = t->next; u; u = u->next)
            if (strcmp(json_str(fn, "name", ""),
                       json_str(json_get(u, "function"), "name", "")) == 0)
                note(c, "two tools of one name");
    }
}

/* The order of roles that Mistral accepts: after results only the assistant may follow. */
static void mistral_order(struct checker *c, const struct json *messages) {
    const char *before = "";

    for (const struct json *m = messages->first; m; m = m->next) {
        const char *role = json_str(m, "role", "");
        if (strcmp(before, "tool") == 0 && !one_of(role, "tool assistant"))
            fatal(c, "Unexpected role '%s' after role 'tool'", role);
        before = role;
    }
}

static void openai(struct checker *c, const struct request *rq) {
    const struct json *v = rq->json, *messages = json_get(v, "messages");
    const char *auth = request_header(rq, "authorization");
    size_t i = 0;

    if (!auth || strncmp(auth, "Bearer ", 7) != 0 || !auth[7])
        fatal(c, "You didn't provide an API key.");
    members(c, v, "body", "model messages stream stream_options max_completion_tokens max_tokens "
                          "temperature top_p stop seed n tools tool_choice parallel_tool_calls "
                          "response_format reasoning_effort verbosity store prompt_cache_key "
                          "prompt_cache_options prompt_cache_retention service_tier metadata user "
                          "frequency_penalty presence_penalty logit_bias safety_identifier");
    if (json_get(v, "max_tokens") && json_get(v, "max_completion_tokens"))
        fatal(c, "Setting 'max_tokens' and 'max_completion_tokens' at the same time");
    if (json_get(v, "stream_options") && !json_true(v, "stream"))
        fatal(c, "The 'stream_options' parameter is only allowed when 'stream' is enabled.");
    if (!json_is(messages, JSON_ARRAY) || messages->len == 0) {
        fatal(c, "[] is too short - 'messages'");
        return;
    }
    if (json_get(v, "tools"))
        o_tools(c, json_get(v, "tools"));
    else if (json_get(v, "tool_choice") || json_get(v, "parallel_tool_calls"))
        fatal(c, "'tool_choice' is only allowed when 'tools' are specified.");
    for (const struct json *m = messages->first; m; m = m->next)
        o_message(c, m, i++);
    none_open(c, "messages");
    if (strstr(json_str(v, "model", ""), "mistral"))
        mistral_order(c, messages);
}

void check_request(const struct request *rq, struct problems *out) {
    struct checker c = {.out = out};
    const char *type = request_header(rq, "content-type");

    if (!type || strncmp(type, "application/json", 16) != 0)
        fatal(&c, "content-type: application/json expected");
    if (!rq->json) {
        fatal(&c, "The request body is not valid JSON: %s", rq->json_why);
        return;
    }
    if (rq->api == API_BEDROCK) {
        bedrock_check(rq, out);
        return;
    }
    if (rq->api == API_GEMINI) {
        check_gemini(&c, rq);
        return;
    }
    if (!json_is(rq->json, JSON_OBJECT) || !*json_str(rq->json, "model", "")) {
        fatal(&c, "model: Field required");
        return;
    }
    if (rq->api == API_ANTHROPIC)
        anthropic(&c, rq);
    else if (rq->api == API_RESPONSES)
        check_responses(&c, rq);
    else if (rq->api == API_INTERACTIONS)
        check_interactions(&c, rq);
    else
        openai(&c, rq);
}
