/* mcp_manifest.h -- the tools of a server: definitions, and which of them a person accepted.
 *
 * The definitions that were accepted are stored in a file. A listed tool whose definition
 * differs from the accepted one, or that is new, is not offered until it is accepted. The
 * first list of a server is accepted as it is, because the operator configured the server.
 * The order of the tools is that in which they were first seen. */
#ifndef CH_MCP_MANIFEST_H
#define CH_MCP_MANIFEST_H
#include "json/json.h"

/* A definition. Texts are owned; NULL: absent. */
struct ch_mcp_definition {
    char *description; /* cleaned */
    char *schema, *output; /* JSON texts */
    bool task; /* a call may be a task (versions with a handshake); not compared */
};

struct ch_mcp_tool {
    char *name, *alias; /* owned */
    struct ch_mcp_definition accepted; /* schema NULL: never accepted */
    struct ch_mcp_definition listed;   /* schema NULL: the server does not list the tool */
    struct ch_mcp_definition next;     /* from a list that is being read */
    unsigned revision; /* how often `accepted` changed */
};

struct ch_mcp_manifest {
    struct ch_mcp_tool *tools; /* owned */
    size_t n;
    bool known; /* a list of the server was accepted before; the next list is compared */
    size_t bytes; /* largest size of the definitions of the list in the file */
};

void ch_mcp_manifest_release(struct ch_mcp_manifest *m);

/* A tool is offered if it is listed, or was so when the file was written, as accepted. */
bool ch_mcp_tool_offered(const struct ch_mcp_tool *t);
/* The tool is listed and waits for a person's acceptance. */
bool ch_mcp_tool_changed(const struct ch_mcp_tool *t);

/* A new list is read. The listed tools stay until the list is complete. */
void ch_mcp_manifest_begin(struct ch_mcp_manifest *m);
/* Add the tools of one page. server: name of the server, for messages and aliases. Tools with
 * an invalid definition are left out, with a warning. CHELA_EPROTO: no list of tools.
 * CHELA_ELIMIT: too many tools, or definitions that are too large for the file. */
int ch_mcp_manifest_add(struct ch_mcp_manifest *m, const char *server, const struct ch_json *page,
                        struct chela_error *err);
/* The list is complete. all: accept everything, as at the first contact. True: the file must be
 * written. */
bool ch_mcp_manifest_end(struct ch_mcp_manifest *m, bool all);

/* Read and write the file. origin: digest of the server's identity, such as its command; a
 * file with another origin is ignored (CHELA_ENOENT). After any other failure no tool is
 * accepted, and the next list is not a first one. Both block. */
int ch_mcp_manifest_load(struct ch_mcp_manifest *m, const char *server, const char *path,
                         const char *origin, struct chela_error *err);
int ch_mcp_manifest_save(const struct ch_mcp_manifest *m, const char *path, const char *origin,
                         struct chela_error *err);

#endif
