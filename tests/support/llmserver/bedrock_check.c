/* bedrock_check.c -- checks whether Converse would have accepted this request.
 *
 * The shapes are those of the SDK's types; the other rules are known refusals of the
 * service: blank texts, roles that do not alternate, calls without results in the very next
 * message, results after other blocks, tools that are used and not described, a signature
 * that does not match its text. */
#include "server.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_CALLS 128

struct checking {
    struct problems *out;
    const char *open[MAX_CALLS]; /* ids of calls that wait for their results */
    size_t nopen;
    int marks;
    bool used_tools;
};

__attribute__((format(printf, 2, 3))) static void wrong(struct checking *c, const char *fmt, ...) {
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

static bool one_of(const char *word, const char *list) {
    size_t n = strlen(word);

    for (const char *p = list; n && (p = strstr(p, word)) != NULL; p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

static bool object(struct checking *c, const struct json *v, const char *where, const char *known) {
    if (!json_is(v, JSON_OBJECT)) {
        wrong(c, "%s: an object is expected", where);
        return false;
    }
    for (const struct json *m = v->first; m; m = m->next) {
        if (!one_of(m->key, known))
            wrong(c, "%s: extraneous key [%s] is not permitted", where, m->key);
        for (const struct json *n = m->next; n; n = n->next)
            if (strcmp(m->key, n->key) == 0)
                wrong(c, "%s.%s: given twice", where, m->key);
    }
    return true;
}

/* Exactly one member of a union must be set. */
static const struct json *member_of(struct checking *c, const struct json *v, const char *where,
                                    const char *known) {
    if (!object(c, v, where, known))
        return NULL;
    if (v->len != 1)
        wrong(c, "%s: exactly one member must be set", where);
    return v->first;
}

static bool is_word(const char *s, size_t most) {
    size_t n = strlen(s);

    return n > 0 && n <= most &&
           strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == n;
}

static void text(struct checking *c, const struct json *v, const char *where) {
    if (!json_is(v, JSON_STRING) || v->text[strspn(v->text, " \t\r\n")] == '\0')
        wrong(c, "%s: The text field is blank. Add text to the text field, and try again.", where);
}

static void mark(struct checking *c, const struct json *v, const char *where) {
    c->marks++;
    if (object(c, v, where, "type ttl") && strcmp(json_str(v, "type", ""), "default") != 0)
        wrong(c, "%s: cachePoint type", where);
}

static void media(struct checking *c, const struct json *v, const char *where, bool image) {
    const char *format = json_str(v, "format", "");
    const struct json *source = json_get(v, "source");

    if (!object(c, v, where, image ? "format source" : "format name source context citations"))
        return;
    if (!one_of(format, image ? "png jpeg gif webp" : "pdf csv doc docx xls xlsx html txt md"))
        wrong(c, "%s.format: '%s'", where, format);
    if (!image && !*json_str(v, "name", ""))
        wrong(c, "%s.name: required", where);
    const struct json *m = member_of(c, source, where, "bytes s3Location text content");
    if (m && strcmp(m->key, "bytes") == 0 &&
        (m->len == 0 || m->len % 4 ||
         strspn(m->text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") !=
             m->len))
        wrong(c, "%s.source.bytes: not base64", where);
}

static void call(struct checking *c, const struct json *v, const char *where) {
    const char *id = json_str(v, "toolUseId", "");

    c->used_tools = true;
    if (!object(c, v, where, "toolUseId name input type"))
        return;
    if (!is_word(id, 64) || !is_word(json_str(v, "name", ""), 64))
        wrong(c, "%s: toolUseId or name does not match [a-zA-Z0-9_-]{1,64}", where);
    if (!json_is(json_get(v, "input"), JSON_OBJECT))
        wrong(c, "%s.input: an object is expected", where);
    if (strcmp(json_str(v, "type", ""), "server_tool_use") == 0)
        return;
    for (size_t i = 0; i < c->nopen; i++)
        if (strcmp(c->open[i], id) == 0)
            wrong(c, "%s: duplicate toolUseId %s", where, id);
    if (c->nopen < MAX_CALLS)
        c->open[c->nopen++] = id;
}

static void result(struct checking *c, const struct json *v, const char *where) {
    const struct json *content = json_get(v, "content");
    const char *id = json_str(v, "toolUseId", ""), *status = json_str(v, "status", "success");
    size_t i = 0;

    c->used_tools = true;
    if (!object(c, v, where, "toolUseId content status type"))
        return;
    while (i < c->nopen && strcmp(c->open[i], id) != 0)
        i++;
    if (i == c->nopen)
        wrong(c, "%s: no toolUse block for the toolResult %s", where, id);
    else
        c->open[i] = c->open[--c->nopen];
    if (!one_of(status, "success error"))
        wrong(c, "%s.status: '%s'", where, status);
    if (!json_is(content, JSON_ARRAY) || content->len == 0) {
        wrong(c, "%s: The content field in the toolResult is empty.", where);
        return;
    }
    for (const struct json *part = content->first; part; part = part->next) {
        const struct json *m =
            member_of(c, part, where, "text json image document video searchResult");
        if (m && strcmp(m->key, "text") == 0)
            text(c, m, where);
        else if (m && strcmp(m->key, "json") == 0 && !json_is(m, JSON_OBJECT))
            wrong(c, "%s: json must be an object", where);
        else if (m && one_of(m->key, "image document"))
            media(c, m, where, m->key[0] == 'i');
        if (m && strcmp(status, "error") == 0 && strcmp(m->key, "text") != 0)
            wrong(c, "%s: only text goes with an error", where);
    }
}

static void reasoning(struct checking *c, const struct json *v, const char *where) {
    const struct json *m = member_of(c, v, where, "reasoningText redactedContent");
    const struct json *said = json_get(m, "text");
    char want[32];

    if (!m || strcmp(m->key, "reasoningText") != 0 || !object(c, m, where, "text signature"))
        return;
    if (!json_is(said, JSON_STRING)) {
        wrong(c, "%s.text: required", where);
        return;
    }
    thinking_signature(said->text, said->len, want);
    if (strcmp(json_str(m, "signature", ""), want) != 0)
        wrong(c, "%s: Invalid `signature` in `thinking` block", where);
}

/* The blocks before this one in the same message. */
struct seen {
    bool user, other, mark, document, text;
};

static void block(struct checking *c, const struct json *b, const char *where, struct seen *s) {
    const struct json *m = member_of(c, b, where,
                                     s->user ? "text image document video audio toolResult "
                                               "cachePoint guardContent searchResult"
                                             : "text toolUse toolResult reasoningContent "
                                               "cachePoint citationsContent");
    if (!m)
        return;
    bool is_result = strcmp(m->key, "toolResult") == 0;
    if (strcmp(m->key, "cachePoint") == 0) {
        if (s->document)
            wrong(c, "%s: a cachePoint may not follow a document", where);
        mark(c, m, where);
        return;
    }
    if (is_result && s->user && s->other)
        wrong(c, "%s: toolResult blocks come first in their message", where);
    s->other |= !is_result;
    s->document = strcmp(m->key, "document") == 0;
    s->text |= strcmp(m->key, "text") == 0;
    s->mark |= s->document;
    if (strcmp(m->key, "text") == 0)
        text(c, m, where);
    else if (strcmp(m->key, "toolUse") == 0)
        call(c, m, where);
    else if (is_result && s->user)
        result(c, m, where);
    else if (strcmp(m->key, "reasoningContent") == 0)
        reasoning(c, m, where);
    else if (one_of(m->key, "image document"))
        media(c, m, where, m->key[0] == 'i');
}

static void message(struct checking *c, const struct json *m, size_t i, const char **before) {
    const struct json *content = json_get(m, "content");
    const char *role = json_str(m, "role", "");
    struct seen s = {.user = strcmp(role, "user") == 0};
    char where[64];
    size_t k = 0;

    snprintf(where, sizeof(where), "messages.%zu", i);
    if (!object(c, m, where, "role content"))
        return;
    if (!one_of(role, "user assistant"))
        wrong(c, "%s.role: '%s'", where, role);
    if (i == 0 && !s.user)
        wrong(c, "A conversation must start with a user message.");
    if (*before && strcmp(*before, role) == 0)
        wrong(c, "%s: A conversation must alternate between user and assistant roles.", where);
    *before = role;
    if (!json_is(content, JSON_ARRAY) || content->len == 0) {
        wrong(c, "%s: The content field is empty.", where);
        return;
    }
    for (const struct json *b = content->first; b; b = b->next) {
        char at[100];
        snprintf(at, sizeof(at), "%.60s.content.%zu", where, k++);
        block(c, b, at, &s);
    }
    if (s.mark && !s.text)
        wrong(c, "%s: a text must come with a document", where);
    if (s.user && c->nopen)
        wrong(c, "Expected toolResult blocks at %s.content for the following Ids: %s", where,
              c->open[0]);
    c->nopen = s.user ? 0 : c->nopen;
}

static void tool(struct checking *c, const struct json *t) {
    const struct json *m = member_of(c, t, "toolConfig.tools", "toolSpec cachePoint systemTool");

    if (m && strcmp(m->key, "cachePoint") == 0) {
        mark(c, m, "toolConfig.tools");
        return;
    }
    if (!m || !object(c, m, "toolSpec", "name description inputSchema strict"))
        return;
    if (!is_word(json_str(m, "name", ""), 64))
        wrong(c, "toolSpec.name: '%s'", json_str(m, "name", ""));
    if (json_get(m, "description") && !*json_str(m, "description", ""))
        wrong(c, "toolSpec.description: may not be empty");
    const struct json *schema = member_of(c, json_get(m, "inputSchema"), "inputSchema", "json");
    if (strcmp(json_str(schema, "type", ""), "object") != 0)
        wrong(c, "toolSpec.inputSchema.json.type: must be object");
    for (const struct json *u = t->next; u; u = u->next)
        if (strcmp(json_str(m, "name", ""), json_str(json_get(u, "toolSpec"), "name", "-")) == 0)
            wrong(c, "toolConfig.tools: two tools of one name");
}

static void tools(struct checking *c, const struct json *config) {
    const struct json *list = json_get(config, "tools"), *choice = json_get(config, "toolChoice");

    if (!config) {
        if (c->used_tools)
            wrong(c, "The toolConfig field must be defined when using toolUse and toolResult "
                     "content blocks.");
        return;
    }
    if (!object(c, config, "toolConfig", "tools toolChoice"))
        return;
    if (!json_is(list, JSON_ARRAY) || list->len == 0)
        wrong(c, "toolConfig.tools: at least one tool");
    for (const struct json *t = list ? list->first : NULL; t; t = t->next)
        tool(c, t);
    if (choice)
        member_of(c, choice, "toolConfig.toolChoice", "auto any tool");
}

static void system_prompt(struct checking *c, const struct json *list) {
    for (const struct json *b = list ? list->first : NULL; b; b = b->next) {
        const struct json *m = member_of(c, b, "system", "text cachePoint guardContent");
        if (m && strcmp(m->key, "text") == 0)
            text(c, m, "system");
        else if (m && strcmp(m->key, "cachePoint") == 0)
            mark(c, m, "system");
    }
}

void bedrock_check(const struct request *rq, struct problems *out) {
    struct checking c = {.out = out};
    const struct json *v = rq->json, *messages = json_get(v, "messages");
    const char *auth = request_header(rq, "authorization"), *before = NULL;
    char why[200] = "";
    size_t i = 0;

    if (!auth)
        wrong(&c, "Missing Authentication Token");
    else if (strncmp(auth, "Bearer ", 7) != 0 && !sigv4_verify(rq, why, sizeof(why)))
        wrong(&c, "The request signature does not match: %s", why);
    object(&c, v, "body",
           "messages system inferenceConfig toolConfig guardrailConfig "
           "additionalModelRequestFields additionalModelResponseFieldPaths "
           "promptVariables requestMetadata performanceConfig serviceTier "
           "outputConfig");
    if (json_get(v, "inferenceConfig"))
        object(&c, json_get(v, "inferenceConfig"), "inferenceConfig",
               "maxTokens temperature topP stopSequences");
    if (!json_is(messages, JSON_ARRAY) || messages->len == 0) {
        wrong(&c, "messages: at least one message is required");
        return;
    }
    system_prompt(&c, json_get(v, "system"));
    for (const struct json *m = messages->first; m; m = m->next)
        message(&c, m, i++, &before);
    if (c.nopen)
        wrong(&c, "the last message's toolUse has no toolResult");
    tools(&c, json_get(v, "toolConfig"));
    if (c.marks > 4)
        wrong(&c, "at most 4 cachePoint blocks, found %d", c.marks);
}
