/* check_gemini.c -- checks whether Gemini would have accepted this request.
 *
 * Shapes are those of the vendor's own types (GenerateContentParameters and below, as its
 * client sends them): a part has exactly one kind of data, roles are user and model, every
 * call is answered by the next content, in order. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANY_SIGNATURE "skip_thought_signature_validator"
#define MAX_CALLS 128

struct call {
    const char *name, *id;
};

struct history {
    struct checker *c;
    bool ids; /* this model's calls have ids */
    struct call open[MAX_CALLS];
    size_t nopen;
    const char *before; /* role of the previous content */
};

static bool is_3(const char *model) {
    return strncmp(model, "gemini-1", 8) != 0 && strncmp(model, "gemini-2", 8) != 0;
}

static bool same(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* --- parts */

static void signature(struct checker *c, const struct json *part, const char *name,
                      const char *where) {
    const char *have = json_str(part, "thoughtSignature", NULL);
    char want[32];

    if (!have || strcmp(have, ANY_SIGNATURE) == 0)
        return;
    thinking_signature(name, strlen(name), want);
    if (strcmp(have, want) != 0)
        fatal(c, "%s: Thought signature is not valid.", where);
}

static void blob(struct checker *c, const struct json *v, const char *where) {
    const char *type = json_str(v, "mimeType", "");

    if (json_get(v, "fileUri"))
        members(c, v, where, "fileUri mimeType displayName");
    else
        members(c, v, where, "data mimeType displayName");
    if (!strchr(type, '/'))
        fatal(c, "%s.mimeType: '%s'", where, type);
    if (!*json_str(v, "fileUri", json_str(v, "data", "")))
        fatal(c, "%s: neither data nor URI", where);
}

static void call_part(struct history *h, const struct json *part, const char *where, bool first) {
    const struct json *call = json_get(part, "functionCall"), *id = json_get(call, "id");
    const char *name = json_str(call, "name", "");

    members(h->c, call, where, "name args id");
    if (!name_ok(name, 64))
        fatal(h->c, "%s: bad name of a call: '%s'", where, name);
    if (!json_is(json_get(call, "args"), JSON_OBJECT))
        fatal(h->c, "%s.args: an object is expected", where);
    if (id && !name_ok(json_str(call, "id", ""), 64))
        fatal(h->c, "%s.id: '%s'", where, json_str(call, "id", ""));
    if (id && !h->ids)
        note(h->c, "a call has an id, and this model has none");
    if (h->ids && first && !json_get(part, "thoughtSignature"))
        fatal(h->c, "Function call is missing a thought_signature in functionCall parts.");
    signature(h->c, part, name, where);
    if (h->nopen < MAX_CALLS)
        h->open[h->nopen++] = (struct call){name, json_str(call, "id", NULL)};
}

static void response_parts(struct checker *c, const struct json *parts, const char *where) {
    for (const struct json *p = parts ? parts->first : NULL; p; p = p->next) {
        members(c, p, where, "inlineData fileData");
        blob(c, json_get(p, "inlineData") ? json_get(p, "inlineData") : json_get(p, "fileData"),
             where);
    }
}

static void response_part(struct history *h, const struct json *part, const char *where, size_t i) {
    const struct json *response = json_get(part, "functionResponse");
    const char *name = json_str(response, "name", ""), *id = json_str(response, "id", NULL);

    members(h->c, response, where, "name response id parts");
    if (!json_is(json_get(response, "response"), JSON_OBJECT))
        fatal(h->c, "%s.response: an object is expected", where);
    if (!h->ids && json_get(response, "parts"))
        fatal(h->c, "%s.parts: this model takes no media in a function response", where);
    response_parts(h->c, json_get(response, "parts"), where);
    if (i >= h->nopen)
        fatal(h->c, "%s: function response without a function call", where);
    else if (!same(h->open[i].name, name) || !same(h->open[i].id, id))
        fatal(h->c, "%s: response of %s, but %s was called", where, name, h->open[i].name);
}

/* Checks that a part has exactly one kind of data; returns the kind. */
static const char *kind_of(struct checker *c, const struct json *part, const char *where) {
    static const char kinds[] = "text functionCall functionResponse inlineData fileData "
                                "executableCode codeExecutionResult toolCall toolResponse "
                                "hologram"; /* of a later version of the service */
    const char *kind = NULL;

    members(c, part, where,
            "text functionCall functionResponse inlineData fileData executableCode "
            "codeExecutionResult toolCall toolResponse thought thoughtSignature videoMetadata "
            "mediaResolution hologram");
    for (const struct json *m = part->first; m; m = m->next) {
        if (!one_of(m->key, kinds))
            continue;
        if (kind)
            fatal(c, "%s: oneof field 'data' is already set", where);
        kind = m->key;
    }
    if (!kind)
        fatal(c, "%s: required oneof field 'data' must have one initialized field", where);
    return kind ? kind : "";
}

static void text_part(struct checker *c, const struct json *part, const char *where) {
    const struct json *text = json_get(part, "text");
    const char *sign = json_str(part, "thoughtSignature", NULL);

    if (!json_is(text, JSON_STRING))
        fatal(c, "%s.text: a string is expected", where);
    else if (blank(text->text) && !sign)
        fatal(c, "%s: empty text parameter", where);
    if (sign && strncmp(sign, "sig_", 4) != 0)
        fatal(c, "%s: Thought signature is not valid.", where);
}

/* --- contents */

struct seen {
    size_t calls, responses, others;
};

static void part(struct history *h, const struct json *p, const char *where, bool user,
                 struct seen *seen) {
    const char *kind = kind_of(h->c, p, where);
    bool call = strcmp(kind, "functionCall") == 0;
    bool response = strcmp(kind, "functionResponse") == 0;

    if ((call && user) || (response && !user))
        fatal(h->c, "%s: %s is not allowed in this role", where, kind);
    else if (call)
        call_part(h, p, where, seen->calls++ == 0);
    else if (response)
        response_part(h, p, where, seen->responses++);
    else if (strcmp(kind, "text") == 0)
        text_part(h->c, p, where);
    else if (strcmp(kind, "inlineData") == 0 || strcmp(kind, "fileData") == 0)
        blob(h->c, json_get(p, kind), where);
    if (!call && !response)
        seen->others++;
}

static void content(struct history *h, const struct json *v, size_t i) {
    const struct json *parts = json_get(v, "parts");
    const char *role = json_str(v, "role", "");
    bool user = strcmp(role, "user") == 0;
    struct seen seen = {0};
    char where[64], at[96];
    size_t k = 0;

    snprintf(where, sizeof(where), "contents[%zu]", i);
    members(h->c, v, where, "role parts");
    if (!one_of(role, "user model"))
        fatal(h->c, "%s: Please use a valid role: user, model.", where);
    if (i == 0 && !user)
        fatal(h->c, "%s: the first content must be the user's", where);
    if (!user && same(h->before, "model"))
        note(h->c, "two contents of the model in a row");
    if (!json_is(parts, JSON_ARRAY) || parts->len == 0) {
        fatal(h->c, "%s.parts: must not be empty", where);
        return;
    }
    if (!user && h->nopen)
        fatal(h->c, "%s: function calls without function responses", where);
    for (const struct json *p = parts->first; p; p = p->next) {
        snprintf(at, sizeof(at), "%s.parts[%zu]", where, k++);
        part(h, p, at, user, &seen);
    }
    if (user && seen.responses != h->nopen)
        fatal(h->c, "Please ensure that the number of function response parts is equal to the "
                    "number of function call parts of the function call turn.");
    if (seen.responses && seen.others)
        fatal(h->c, "%s: other parts beside function responses", where);
    if (user)
        h->nopen = 0;
    h->before = role;
}

/* --- tools and settings */

static void declaration(struct checker *c, const struct json *f) {
    const struct json *schema = json_get(f, "parametersJsonSchema");

    members(c, f, "functionDeclarations", "name description parameters parametersJsonSchema "
                                          "response responseJsonSchema behavior");
    if (!name_ok(json_str(f, "name", ""), 64))
        fatal(c, "functionDeclarations.name: '%s'", json_str(f, "name", ""));
    if (schema && json_get(f, "parameters"))
        fatal(c, "functionDeclarations: parameters and parametersJsonSchema");
    if (schema && strcmp(json_str(schema, "type", "object"), "object") != 0)
        fatal(c, "functionDeclarations: parameters schema should be of type OBJECT");
    for (const struct json *u = f->next; u; u = u->next)
        if (same(json_str(f, "name", ""), json_str(u, "name", "")))
            fatal(c, "Duplicate function declaration found: %s", json_str(f, "name", ""));
}

static const struct json *declarations(struct checker *c, const struct json *tools) {
    const struct json *found = NULL;

    if (!json_is(tools, JSON_ARRAY)) {
        fatal(c, "tools: an array is expected");
        return NULL;
    }
    for (const struct json *t = tools->first; t; t = t->next) {
        members(c, t, "tools", "functionDeclarations googleSearch codeExecution urlContext "
                               "googleMaps computerUse fileSearch mcpServers");
        const struct json *list = json_get(t, "functionDeclarations");
        for (const struct json *f = list ? list->first : NULL; f; f = f->next)
            declaration(c, f);
        found = list ? list : found;
    }
    return found;
}

static bool is_declared(const struct json *list, const char *name) {
    for (const struct json *f = list ? list->first : NULL; f; f = f->next)
        if (same(json_str(f, "name", ""), name))
            return true;
    return false;
}

static void tool_config(struct checker *c, const struct json *v, const struct json *declared) {
    const struct json *calling = json_get(v, "functionCallingConfig");
    const struct json *allowed = json_get(calling, "allowedFunctionNames");
    const char *mode = json_str(calling, "mode", "");

    members(c, v, "toolConfig", "functionCallingConfig retrievalConfig "
                                "includeServerSideToolInvocations");
    if (!calling)
        return;
    members(c, calling, "functionCallingConfig", "mode allowedFunctionNames");
    if (!one_of(mode, "AUTO ANY NONE VALIDATED"))
        fatal(c, "functionCallingConfig.mode: '%s'", mode);
    if (!declared)
        fatal(c, "Function calling config is set without function_declarations.");
    if (allowed && !one_of(mode, "ANY VALIDATED"))
        fatal(c, "allowedFunctionNames goes with ANY and VALIDATED alone");
    for (const struct json *n = allowed ? allowed->first : NULL; n; n = n->next)
        if (!is_declared(declared, n->text))
            fatal(c, "allowedFunctionNames: '%s' is not declared", n->text);
}

static void thinking(struct checker *c, const struct json *v, const char *model) {
    members(c, v, "thinkingConfig", "includeThoughts thinkingBudget thinkingLevel");
    if (json_get(v, "thinkingBudget") && json_get(v, "thinkingLevel"))
        fatal(c, "You can only set only one of thinking budget and thinking level.");
    if (json_get(v, "thinkingLevel")) {
        if (!is_3(model))
            fatal(c, "Thinking level is not supported for this model.");
        if (!one_of(json_str(v, "thinkingLevel", ""), "MINIMAL LOW MEDIUM HIGH"))
            fatal(c, "thinkingLevel: '%s'", json_str(v, "thinkingLevel", ""));
    }
}

static void generation(struct checker *c, const struct json *v, const char *model, bool tools) {
    bool json = strcmp(json_str(v, "responseMimeType", ""), "application/json") == 0;

    members(c, v, "generationConfig",
            "temperature topP topK candidateCount maxOutputTokens stopSequences presencePenalty "
            "frequencyPenalty seed responseMimeType responseSchema responseJsonSchema "
            "responseModalities thinkingConfig mediaResolution speechConfig imageConfig "
            "responseLogprobs logprobs enableEnhancedCivicAnswers");
    if ((json_get(v, "responseSchema") || json_get(v, "responseJsonSchema")) && !json)
        fatal(c, "responseSchema goes with responseMimeType application/json");
    if (json && tools && !is_3(model))
        fatal(c, "Function calling with a response mime type: 'application/json' is unsupported");
    if (json_get(v, "thinkingConfig"))
        thinking(c, json_get(v, "thinkingConfig"), model);
}

static void system_instruction(struct checker *c, const struct json *v) {
    const struct json *parts = json_get(v, "parts");

    members(c, v, "systemInstruction", "role parts");
    for (const struct json *p = parts ? parts->first : NULL; p; p = p->next)
        text_part(c, p, "systemInstruction");
}

static bool authorised(const struct request *rq) {
    const char *key = request_header(rq, "x-goog-api-key");
    const char *auth = request_header(rq, "authorization");

    return (key && *key) || (auth && strncmp(auth, "Bearer ", 7) == 0 && auth[7]);
}

void check_gemini(struct checker *c, const struct request *rq) {
    const struct json *v = rq->json, *contents = json_get(v, "contents"), *declared = NULL;
    struct history h = {.c = c, .ids = is_3(rq->model)};
    size_t i = 0;

    if (!authorised(rq))
        fatal(c, "Method doesn't allow unregistered callers");
    if (rq->stream && !strstr(rq->path, "alt=sse"))
        fatal(c, "only alt=sse is spoken here");
    members(c, v, "body", "contents systemInstruction tools toolConfig generationConfig "
                          "safetySettings cachedContent serviceTier labels continuationToken "
                          "store");
    if (!json_is(contents, JSON_ARRAY) || contents->len == 0) {
        fatal(c, "* GenerateContentRequest.contents: contents is not specified");
        return;
    }
    if (json_get(v, "systemInstruction"))
        system_instruction(c, json_get(v, "systemInstruction"));
    if (json_get(v, "tools"))
        declared = declarations(c, json_get(v, "tools"));
    if (json_get(v, "toolConfig"))
        tool_config(c, json_get(v, "toolConfig"), declared);
    if (json_get(v, "generationConfig"))
        generation(c, json_get(v, "generationConfig"), rq->model, declared != NULL);
    for (const struct json *m = contents->first; m; m = m->next)
        content(&h, m, i++);
    if (h.nopen)
        fatal(c, "contents: function calls without function responses");
}
