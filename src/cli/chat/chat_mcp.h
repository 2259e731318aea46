/* chat_mcp.h -- MCP servers in a conversation: /mcp, prompts as commands, resources in messages. */
#ifndef CH_CLI_CHAT_MCP_H
#define CH_CLI_CHAT_MCP_H
#include "cli/chat/chat.h"

/* The name of argument i of a prompt. NULL: none. Free with chela_free. */
char *ch_chat_mcp_argument(const char *prompt, size_t i);
/* As chela_json_each, for the array at the pointer. 0: json is NULL, or has no such value. */
int ch_chat_mcp_each(const char *json, const char *pointer,
                     int (*fn)(const char *item, size_t n, void *user), void *user);
/* The prompt of that name in the answer to prompts/list. NULL: none. Free with chela_free. */
char *ch_chat_mcp_prompt_of(const char *result, const char *name);

/* /mcp [NAME]: the servers, or what one of them offers. */
void ch_chat_mcp(struct ch_chat *c, const char *args);

/* "/SERVER:PROMPT [ARGUMENTS]": send the prompt of a server. False: the line is no such
 * command. */
bool ch_chat_mcp_prompt(struct ch_chat *c, const char *line);

/* A message that names resources, "@SERVER:URI": read them and send the message with their
 * texts. False: the message names none. */
bool ch_chat_mcp_say(struct ch_chat *c, const char *text);

#endif
