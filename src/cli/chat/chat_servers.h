/* chat_servers.h -- the MCP servers whose resources and prompts a message can name. */
#ifndef CH_CLI_CHAT_SERVERS_H
#define CH_CLI_CHAT_SERVERS_H
#include "cli/chat/chat_source.h"

/* The client of the server with this name of n bytes; NULL: there is none. */
chela_mcp *ch_chat_server_find(const struct ch_chat *c, const char *name, size_t n);
/* The name of server i; NULL after the last. */
const char *ch_chat_server_name(const struct ch_chat *c, size_t i);

/* Completes the names of servers, "@SERVER:" and "/SERVER:". */
extern const struct ch_chat_source ch_chat_servers;

#endif
