/* chat_mcp_complete.c -- see chat_mcp_complete.h.
 *
 *     /SERVER:PR         prompts/list
 *     /SERVER:PROMPT ar  prompts/list, which has the argument's name, then completion/complete
 *     @SERVER:URI        resources/list, resources/templates/list, and completion/complete if a
 *                        template fits
 *
 * An answer is used only if the text has not changed since Tab. A server without a list or
 * without completions offers no words. */
#include "cli/chat/chat_mcp_complete.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/chat/chat_mcp.h"
#include "cli/chat/chat_servers.h"
#include "cli/chat/chat_source.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"

enum { WORD_BYTES = 1024 }; /* of an offered word */

struct completion {
    struct ch_chat *c;
    chela_mcp *client;
    char *text; /* owned: the editor's text at Tab */
    size_t at;  /* the cursor at Tab */
    size_t from;  /* begin of the completed part */
    char *typed;  /* owned: the completed part */
    char *prompt; /* owned: its argument is completed; NULL: a name or a resource */
    size_t args;  /* begin of the prompt's arguments in text */
    char *before, *after; /* owned: around each value of a template; may be NULL */
    struct ch_chat_words words;
};

static void completion_free(struct completion *t) {
    for (size_t i = 0; i < t->words.n; i++)
        free(t->words.list[i]);
    free(t->text);
    free(t->typed);
    free(t->prompt);
    free(t->before);
    free(t->after);
    free(t);
}

/* A word is one word of the line, so it has no blanks. */
static void completion_add(struct completion *t, char *word) {
    bool fits = strlen(word) <= WORD_BYTES && strncmp(word, t->typed, strlen(t->typed)) == 0;
    for (const char *p = word; fits && *p; p++)
        fits = (unsigned char)*p > ' ' && *p != 0x7f;
    if (fits)
        ch_chat_words_add(&t->words, word);
    else
        free(word);
}

static int completion_order(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void completion_end(struct completion *t) {
    struct ch_edit *e = &t->c->edit;
    t->c->completing = false;
    if (e->at == t->at && strcmp(e->text, t->text) == 0) {
        qsort(t->words.list, t->words.n, sizeof(t->words.list[0]), completion_order);
        ch_edit_complete(e, t->from, t->words.list, t->words.n);
        t->c->dirty = true;
    }
    completion_free(t);
}

/* Goes on with another request; if it cannot be sent, ends with the words so far. */
static void completion_send(struct completion *t, const char *method, const char *params,
                            chela_mcp_done_fn *done) {
    if (chela_mcp_send(t->client, method, params, done, t, NULL) < 0)
        completion_end(t);
}

/* True: the server failed, which is shown. Without such a method it has nothing to offer. */
static bool completion_failed(struct completion *t, const struct chela_error *err) {
    if (!err || err->code == CHELA_EPROTO)
        return false;
    if (err->code != CHELA_ESTATE) { /* ESTATE: the chat has ended */
        ch_console_error(t->c->console, "%s", err->message);
        t->c->dirty = true;
        t->c->completing = false;
    }
    completion_free(t);
    return true;
}

/* --- completion/complete ---------------------------------------------------------------- */

static int completion_on_value(const char *item, size_t n, void *user) {
    struct completion *t = user;
    char *value = chela_json_get(item, n, "", NULL);
    completion_add(t, ch_format("%s%s%s", t->before ? t->before : "", value ? value : "",
                                t->after ? t->after : ""));
    chela_free(value);
    return 0;
}

static void completion_on_values(const char *result, const struct chela_error *err, void *user) {
    struct completion *t = user;

    if (completion_failed(t, err))
        return;
    ch_chat_mcp_each(result, "/completion/values", completion_on_value, t);
    completion_end(t);
}

/* ref: a JSON object. earlier: members of the arguments that are known, or "". */
static void completion_ask(struct completion *t, const char *ref, const char *argument,
                           const char *value, const char *earlier) {
    struct ch_draft d;

    ch_draft_init(&d);
    fprintf(d.f, "{\"ref\":%s,\"argument\":{\"name\":", ref);
    ch_draft_quote(d.f, argument);
    fputs(",\"value\":", d.f);
    ch_draft_quote(d.f, value);
    fprintf(d.f, "}%s%s%s}", *earlier ? ",\"context\":{\"arguments\":{" : "", earlier,
            *earlier ? "}}" : "");
    ch_draft_finish(&d);
    completion_send(t, "completion/complete", d.p, completion_on_values);
    free(d.p);
}

static char *completion_ref(const char *type, const char *key, const char *name) {
    struct ch_draft d;

    ch_draft_init(&d);
    fprintf(d.f, "{\"type\":\"%s\",\"%s\":", type, key);
    ch_draft_quote(d.f, name);
    fputc('}', d.f);
    ch_draft_finish(&d);
    return d.p;
}

/* --- prompts ------------------------------------------------------------------------------ */

/* The words before the cursor are the values of the first arguments. */
static void completion_of_argument(struct completion *t, const char *prompt) {
    struct ch_draft earlier;
    const char *word = t->text + t->args;
    size_t i = 0;

    ch_draft_init(&earlier);
    for (;; i++) {
        word += strspn(word, " \t\n");
        if ((size_t)(word - t->text) >= t->from)
            break;
        size_t n = strcspn(word, " \t\n");
        char *key = ch_chat_mcp_argument(prompt, i);
        char *value = ch_format("%.*s", (int)n, word);
        if (key) {
            fputs(i ? "," : "", earlier.f);
            ch_draft_quote(earlier.f, key);
            fputc(':', earlier.f);
            ch_draft_quote(earlier.f, value);
        }
        chela_free(key);
        free(value);
        word += n;
    }
    ch_draft_finish(&earlier);
    char *key = ch_chat_mcp_argument(prompt, i);
    char *ref = completion_ref("ref/prompt", "name", t->prompt);
    if (key)
        completion_ask(t, ref, key, t->typed, earlier.p);
    else
        completion_end(t); /* the prompt has no such argument */
    chela_free(key);
    free(ref);
    free(earlier.p);
}

static int completion_on_prompt(const char *item, size_t n, void *user) {
    char *name = chela_json_get(item, n, "/name", NULL);
    if (name)
        completion_add(user, ch_dup(name));
    chela_free(name);
    return 0;
}

static void completion_on_prompts(const char *result, const struct chela_error *err, void *user) {
    struct completion *t = user;

    if (completion_failed(t, err))
        return;
    char *found = t->prompt ? ch_chat_mcp_prompt_of(result, t->prompt) : NULL;
    if (!t->prompt)
        ch_chat_mcp_each(result, "/prompts", completion_on_prompt, t);
    if (found)
        completion_of_argument(t, found);
    else
        completion_end(t);
    chela_free(found);
}

/* --- resources ---------------------------------------------------------------------------- */

/* True: the template begins like the typed URI, and the server is asked for its variable. */
static bool completion_by_template(struct completion *t, const char *template) {
    size_t head = strcspn(template, "{");
    const char *close = strchr(template + head, '}');

    if (!close || strncmp(t->typed, template, head) != 0 || strchr(t->typed + head, '/'))
        return false;
    size_t n = (size_t)(close - template) - head - 1;
    char *variable = ch_format("%.*s", (int)n, template + head + 1);
    bool plain = n > 0 && !strpbrk(variable, "+#./;?&,*:|");
    if (plain) {
        char *ref = completion_ref("ref/resource", "uri", template);
        t->before = ch_format("%.*s", (int)head, template);
        t->after = ch_format("%.*s", (int)strcspn(close + 1, "{"), close + 1);
        completion_ask(t, ref, variable, t->typed + head, "");
        free(ref);
    }
    free(variable);
    return plain;
}

/* 1: the server is asked, and the completion may have ended. */
static int completion_on_template(const char *item, size_t n, void *user) {
    struct completion *t = user;
    char *template = chela_json_get(item, n, "/uriTemplate", NULL);
    size_t head = template ? strcspn(template, "{") : 0;
    bool asked = template && completion_by_template(t, template);
    if (template && !asked && head > strlen(t->typed))
        completion_add(t, ch_format("%.*s", (int)head, template));
    chela_free(template);
    return asked;
}

static void completion_on_templates(const char *result, const struct chela_error *err,
                                    void *user) {
    struct completion *t = user;

    if (completion_failed(t, err))
        return;
    if (ch_chat_mcp_each(result, "/resourceTemplates", completion_on_template, t) != 1)
        completion_end(t);
}

static int completion_on_resource(const char *item, size_t n, void *user) {
    char *uri = chela_json_get(item, n, "/uri", NULL);
    if (uri)
        completion_add(user, ch_dup(uri));
    chela_free(uri);
    return 0;
}

static void completion_on_resources(const char *result, const struct chela_error *err,
                                    void *user) {
    struct completion *t = user;

    if (completion_failed(t, err))
        return;
    ch_chat_mcp_each(result, "/resources", completion_on_resource, t);
    completion_send(t, "resources/templates/list", NULL, completion_on_templates);
}

/* --- the word before the cursor ----------------------------------------------------------- */

/* The server that the word names before its colon; NULL: none. */
static chela_mcp *completion_server(const struct ch_chat *c, const char *word, size_t n,
                                    const char **name) {
    const char *colon = n ? memchr(word, ':', n) : NULL;
    *name = colon ? colon + 1 : NULL;
    return colon ? ch_chat_server_find(c, word + 1, (size_t)(colon - word) - 1) : NULL;
}

bool ch_chat_mcp_complete(struct ch_chat *c) {
    const char *text = c->edit.text ? c->edit.text : "", *name;
    size_t at = c->edit.at, from = at, first = strcspn(text, " \t\n");

    while (from > 0 && !strchr(" \t\n", text[from - 1]))
        from--;
    bool resource = from < at && text[from] == '@', prompt = !resource && text[0] == '/';
    size_t begin = resource ? from : 0;
    size_t n = !resource && !prompt ? 0 : (prompt ? first : at) - begin;
    chela_mcp *client = completion_server(c, text + begin, n, &name);
    if (!client || (size_t)(name - text) > at)
        return false;
    if (c->completing)
        return true;
    struct completion *t = ch_must(calloc(1, sizeof(*t)));
    bool argument = prompt && from > 0;
    c->completing = true;
    t->c = c;
    t->client = client;
    t->text = ch_dup(text);
    t->at = at;
    t->from = argument ? from : (size_t)(name - text);
    t->typed = ch_format("%.*s", (int)(at - t->from), text + t->from);
    t->prompt = argument ? ch_format("%.*s", (int)(text + first - name), name) : NULL;
    t->args = first;
    if (resource)
        completion_send(t, "resources/list", NULL, completion_on_resources);
    else
        completion_send(t, "prompts/list", NULL, completion_on_prompts);
    return true;
}
