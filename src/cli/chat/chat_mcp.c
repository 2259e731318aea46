/* chat_mcp.c -- see chat_mcp.h.
 *
 * A server may have to start first, so every function returns at once and continues when the
 * server has answered. A server's text is untrusted: it is escaped for display, and reaches
 * the model inside a marked block. Names such as @file in it are ignored. */
#include "cli/chat/chat_mcp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/chat/chat_attach.h"
#include "cli/chat/chat_runs.h"
#include "cli/chat/chat_servers.h"
#include "cli/chat/chat_show.h"
#include "cli/support/draft.h"
#include "cli/support/mem.h"

enum {
    RESOURCES = 8,       /* resources of one message */
    BLOCK_BYTES = 262144 /* bytes of the text of one resource or message of a prompt */
};

static char *chat_mcp_get(const char *json, const char *pointer) {
    return chela_json_get(json, strlen(json), pointer, NULL);
}

char *ch_chat_mcp_argument(const char *prompt, size_t i) {
    char *pointer = ch_format("/arguments/%zu/name", i), *name = chat_mcp_get(prompt, pointer);
    free(pointer);
    return name;
}

int ch_chat_mcp_each(const char *json, const char *pointer,
                     int (*fn)(const char *item, size_t n, void *user), void *user) {
    char *list = json ? chat_mcp_get(json, pointer) : NULL;
    int rc = list ? chela_json_each(list, strlen(list), fn, user) : 0;
    chela_free(list);
    return rc;
}

/* Show a failure, unless the client was closed because the chat ended. */
static void complain(struct ch_chat *c, const struct chela_error *err) {
    if (err->code == CHELA_ESTATE)
        return;
    ch_console_error(c->console, "%s", err->message);
    c->dirty = true;
}

/* Send the typed text, followed by a server's text. */
static void say_with(struct ch_chat *c, const char *typed, const char *more) {
    ch_chat_attach_served(c, more);
    ch_chat_say(c, typed, typed, true);
    c->dirty = true;
}

/* --- /mcp ----------------------------------------------------------------------------- */

static int count_tool(const char *tool, size_t n, void *user) {
    (void)tool;
    (void)n;
    ++*(size_t *)user;
    return 0;
}

static void list_servers(struct ch_chat *c) {
    struct ch_draft d;
    const char *name;

    ch_draft_init(&d);
    for (size_t i = 0; (name = ch_chat_server_name(c, i)); i++) {
        chela_mcp *client = ch_chat_server_find(c, name, strlen(name));
        char *json = client ? chela_mcp_state_json(client) : NULL;
        char *state = json ? chat_mcp_get(json, "/state") : NULL;
        char *error = json ? chat_mcp_get(json, "/error") : NULL;
        size_t n = 0;
        ch_chat_mcp_each(json, "/tools", count_tool, &n);
        fprintf(d.f, "  %-16s%-10s%zu tool%s%s%s\n", name, state ? state : "unknown", n,
                n == 1 ? "" : "s",
                error && strcmp(error, "null") != 0 ? "; " : "",
                error && strcmp(error, "null") != 0 ? error : "");
        chela_free(json);
        chela_free(state);
        chela_free(error);
    }
    ch_draft_finish(&d);
    if (d.n)
        ch_chat_print(c, "", d.p, d.n);
    else
        ch_console_note(c->console, "no MCP server is configured; 'chela mcp add' adds one");
    free(d.p);
}

/* The offers of one server: three lists, one after another. */
struct offer {
    struct ch_chat *c;
    chela_mcp *client;
    char *name; /* owned */
    size_t next;
    struct ch_draft out;
};

static const struct {
    const char *method, *list, *key, *about, *mark;
} lists[] = {
    {"tools/list", "/tools", "/name", "/description", "  "},
    {"resources/list", "/resources", "/uri", "/name", "  @"},
    {"prompts/list", "/prompts", "/name", "/description", "  /"},
};
enum { LISTS = sizeof(lists) / sizeof(lists[0]) };

static void offer_on_list(const char *result, const struct chela_error *err, void *user);

static void free_offer(struct offer *o) {
    free(o->out.p);
    free(o->name);
    free(o);
}

static void offer_next(struct offer *o) {
    if (o->next < LISTS &&
        chela_mcp_send(o->client, lists[o->next].method, NULL, offer_on_list, o, NULL) == 0)
        return;
    ch_draft_finish(&o->out);
    if (o->out.n)
        ch_chat_print(o->c, "", o->out.p, o->out.n);
    else
        ch_console_note(o->c->console, "%s offers nothing", o->name);
    o->c->dirty = true;
    free_offer(o);
}

static int offer_on_item(const char *item, size_t n, void *user) {
    struct offer *o = user;
    char *key = chela_json_get(item, n, lists[o->next].key, NULL);
    char *about = chela_json_get(item, n, lists[o->next].about, NULL);
    if (about)
        about[strcspn(about, "\n")] = '\0';
    if (key)
        fprintf(o->out.f, "%s%s%s%s%s%s\n", lists[o->next].mark, o->next ? o->name : "",
                o->next ? ":" : "", key, about ? "  " : "", about ? about : "");
    chela_free(key);
    chela_free(about);
    return 0;
}

static void offer_on_list(const char *result, const struct chela_error *err, void *user) {
    struct offer *o = user;

    if (err && err->code != CHELA_EPROTO) { /* EPROTO: the server has no such list */
        complain(o->c, err);
        ch_draft_finish(&o->out);
        free_offer(o);
        return;
    }
    ch_chat_mcp_each(result, lists[o->next].list, offer_on_item, o);
    o->next++;
    offer_next(o);
}

void ch_chat_mcp(struct ch_chat *c, const char *args) {
    if (!*args) {
        list_servers(c);
        return;
    }
    chela_mcp *client = ch_chat_server_find(c, args, strlen(args));
    if (!client) {
        ch_console_error(c->console, "there is no MCP server '%s' (/mcp lists them)", args);
        return;
    }
    struct offer *o = ch_must(calloc(1, sizeof(*o)));
    o->c = c;
    o->client = client;
    o->name = ch_dup(args);
    ch_draft_init(&o->out);
    offer_next(o);
}

/* --- /SERVER:PROMPT --------------------------------------------------------------------- */

struct prompt {
    struct ch_chat *c;
    chela_mcp *client;
    char *line;        /* owned: as typed */
    char *name, *args; /* owned */
};

static void free_prompt(struct prompt *p) {
    free(p->line);
    free(p->name);
    free(p->args);
    free(p);
}

static int prompt_on_message(const char *message, size_t n, void *user) {
    FILE *out = user;
    char *role = chela_json_get(message, n, "/role", NULL);
    char *text = chela_json_get(message, n, "/content/text", NULL);
    char *embedded = chela_json_get(message, n, "/content/resource/text", NULL);
    if (role && (text || embedded)) {
        fprintf(out, "\n\n<prompt%s>\n", strcmp(role, "user") == 0 ? "" : " role=\"assistant\"");
        ch_chat_attach_text(out, "prompt", text ? text : embedded, BLOCK_BYTES);
        fputs("\n</prompt>", out);
    }
    chela_free(text);
    chela_free(embedded);
    chela_free(role);
    return 0;
}

static void prompt_on_messages(const char *result, const struct chela_error *err, void *user) {
    struct prompt *p = user;
    struct ch_draft d;

    if (err) {
        complain(p->c, err);
        free_prompt(p);
        return;
    }
    ch_draft_init(&d);
    ch_chat_mcp_each(result, "/messages", prompt_on_message, d.f);
    ch_draft_finish(&d);
    if (d.n)
        say_with(p->c, p->line, d.p);
    else
        ch_console_error(p->c->console, "the prompt has no text");
    p->c->dirty = true;
    free(d.p);
    free_prompt(p);
}

/* The words of the line are the arguments in order; the last argument takes all remaining
 * words. */
static char *prompt_params(const char *prompt, const char *name, const char *args) {
    struct ch_draft d;
    char *key, *next;

    ch_draft_init(&d);
    fputs("{\"name\":", d.f);
    ch_draft_quote(d.f, name);
    fputs(",\"arguments\":{", d.f);
    args += strspn(args, " \t\n");
    for (size_t i = 0; *args && (key = ch_chat_mcp_argument(prompt, i)); i++) {
        next = ch_chat_mcp_argument(prompt, i + 1);
        size_t len = next ? strcspn(args, " \t\n") : strlen(args);
        char *value = ch_format("%.*s", (int)len, args);
        fputs(i ? "," : "", d.f);
        ch_draft_quote(d.f, key);
        fputc(':', d.f);
        ch_draft_quote(d.f, value);
        free(value);
        args += len;
        args += strspn(args, " \t\n");
        chela_free(key);
        chela_free(next);
    }
    fputs("}}", d.f);
    ch_draft_finish(&d);
    return d.p;
}

struct wanted {
    const char *name;
    char *item; /* owned: the prompt of that name; NULL: not found */
};

static int prompt_on_item(const char *item, size_t n, void *user) {
    struct wanted *w = user;
    char *name = chela_json_get(item, n, "/name", NULL);
    if (name && strcmp(name, w->name) == 0)
        w->item = chela_json_get(item, n, "", NULL);
    chela_free(name);
    return w->item != NULL;
}

char *ch_chat_mcp_prompt_of(const char *result, const char *name) {
    struct wanted w = {.name = name};
    ch_chat_mcp_each(result, "/prompts", prompt_on_item, &w);
    return w.item;
}

static void prompt_on_list(const char *result, const struct chela_error *err, void *user) {
    struct prompt *p = user;
    struct chela_error why = err ? *err : (struct chela_error){0};
    char *item = why.code ? NULL : ch_chat_mcp_prompt_of(result, p->name);

    if (item) {
        char *params = prompt_params(item, p->name, p->args);
        if (chela_mcp_send(p->client, "prompts/get", params, prompt_on_messages, p, &why) == 0)
            p = NULL;
        free(params);
        chela_free(item);
    } else if (!why.code) {
        ch_console_error(p->c->console, "the server has no prompt '%s'", p->name);
    }
    if (p && why.code)
        complain(p->c, &why);
    if (p)
        free_prompt(p);
}

bool ch_chat_mcp_prompt(struct ch_chat *c, const char *line) {
    size_t n = strcspn(line, " \t\n");
    const char *colon = memchr(line, ':', n);
    struct chela_error err = {0};

    chela_mcp *client = colon ? ch_chat_server_find(c, line + 1, (size_t)(colon - line) - 1) : NULL;
    if (!client)
        return false;
    struct prompt *p = ch_must(calloc(1, sizeof(*p)));
    p->c = c;
    p->client = client;
    p->line = ch_dup(line);
    p->name = ch_format("%.*s", (int)(line + n - colon) - 1, colon + 1);
    p->args = ch_dup(line + n);
    if (chela_mcp_send(client, "prompts/list", NULL, prompt_on_list, p, &err) < 0) {
        complain(c, &err);
        free_prompt(p);
    }
    return true;
}

/* --- @SERVER:URI ------------------------------------------------------------------------ */

struct mention {
    chela_mcp *client;
    char *server, *uri; /* owned */
};

struct message {
    struct ch_chat *c;
    char *text; /* owned: as typed */
    struct mention mentions[RESOURCES];
    size_t n, next;
    struct ch_draft out;
};

static void free_message(struct message *m) {
    for (size_t i = 0; i < m->n; i++) {
        free(m->mentions[i].server);
        free(m->mentions[i].uri);
    }
    free(m->out.p);
    free(m->text);
    free(m);
}

static void read_next(struct message *m);

static int message_on_content(const char *item, size_t n, void *user) {
    struct message *m = user;
    const struct mention *at = &m->mentions[m->next];
    char *text = chela_json_get(item, n, "/text", NULL);
    char *type = chela_json_get(item, n, "/mimeType", NULL);
    fprintf(m->out.f, "\n\n<resource server=\"%s\" uri=\"", at->server);
    ch_chat_attach_name(m->out.f, at->uri);
    fputs("\">\n", m->out.f);
    if (!text)
        fputs("[binary content, ", m->out.f);
    ch_chat_attach_text(m->out.f, "resource", text ? text : type ? type : "of an unknown type",
                        BLOCK_BYTES);
    fputs(text ? "\n</resource>" : "]\n</resource>", m->out.f);
    chela_free(text);
    chela_free(type);
    return 0;
}

static void message_on_read(const char *result, const struct chela_error *err, void *user) {
    struct message *m = user;

    if (err) {
        complain(m->c, err);
        if (err->code != CHELA_ESTATE)
            ch_chat_give_back(m->c, m->text);
        ch_draft_finish(&m->out);
        free_message(m);
        return;
    }
    ch_chat_mcp_each(result, "/contents", message_on_content, m);
    m->next++;
    read_next(m);
}

static void read_next(struct message *m) {
    struct chela_error err = {0};

    if (m->next == m->n) {
        ch_draft_finish(&m->out);
        say_with(m->c, m->text, m->out.p);
        free_message(m);
        return;
    }
    struct ch_draft params;
    ch_draft_init(&params);
    fputs("{\"uri\":", params.f);
    ch_draft_quote(params.f, m->mentions[m->next].uri);
    fputc('}', params.f);
    ch_draft_finish(&params);
    if (chela_mcp_send(m->mentions[m->next].client, "resources/read", params.p, message_on_read, m,
                       &err) < 0)
        message_on_read(NULL, &err, m);
    free(params.p);
}

static void find_mentions(struct message *m) {
    for (const char *word = m->text; *word; word += strcspn(word, " \t\n")) {
        word += strspn(word, " \t\n");
        size_t n = strcspn(word, " \t\n");
        const char *colon = *word == '@' ? memchr(word, ':', n) : NULL;
        chela_mcp *client = colon && colon + 1 < word + n
                                ? ch_chat_server_find(m->c, word + 1, (size_t)(colon - word) - 1)
                                : NULL;
        if (client && m->n == RESOURCES)
            ch_console_note(m->c->console, "%.*s is not attached: a message has at most %d "
                            "resources", (int)n, word, RESOURCES);
        else if (client)
            m->mentions[m->n++] =
                (struct mention){client, ch_format("%.*s", (int)(colon - word) - 1, word + 1),
                                 ch_format("%.*s", (int)(word + n - colon) - 1, colon + 1)};
    }
}

bool ch_chat_mcp_say(struct ch_chat *c, const char *text) {
    if (!strchr(text, '@'))
        return false;
    struct message *m = ch_must(calloc(1, sizeof(*m)));
    m->c = c;
    m->text = ch_dup(text);
    find_mentions(m);
    if (!m->n) {
        free_message(m);
        return false;
    }
    ch_chat_user(c, text, strlen(text));
    ch_draft_init(&m->out);
    read_next(m);
    return true;
}
