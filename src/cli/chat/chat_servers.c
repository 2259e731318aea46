/* chat_servers.c -- see chat_servers.h. */
#include "cli/chat/chat_servers.h"

#include <stdlib.h>
#include <string.h>

#include "cli/support/draft.h"

chela_mcp *ch_chat_server_find(const struct ch_chat *c, const char *name, size_t n) {
    char *word = ch_format("%.*s", (int)n, name);
    chela_mcp *client = c->setup->rt ? chela_mcp_find(c->setup->rt, word) : NULL;
    free(word);
    return client;
}

const char *ch_chat_server_name(const struct ch_chat *c, size_t i) {
    const chela_config *files[] = {c->setup->config, c->setup->mcp[0], c->setup->mcp[1]};
    for (size_t f = 0; f < 3; f++)
        for (size_t k = 0; files[f] && chela_config_mcp_name(files[f], k); k++)
            if (i-- == 0)
                return chela_config_mcp_name(files[f], k);
    return NULL;
}

static void servers_offer(struct ch_chat *c, const char *typed, struct ch_chat_words *w) {
    const char *name;
    for (size_t i = 0; (name = ch_chat_server_name(c, i)); i++)
        if (strncmp(typed + 1, name, strlen(typed + 1)) == 0)
            ch_chat_words_add(w, ch_format("%c%s:", *typed, name));
}

/* The text of a resource was added before (ch_chat_mcp_say). */
static int servers_attach(struct ch_chat *c, const char *name, struct ch_chat_message *m,
                          struct chela_error *err) {
    const char *colon = strchr(name, ':');
    (void)m, (void)err;
    return colon && ch_chat_server_find(c, name, (size_t)(colon - name));
}

const struct ch_chat_source ch_chat_servers = {
    .name = "MCP servers", .offer = servers_offer, .attach = servers_attach};
