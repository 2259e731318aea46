/* mcp_link.h -- a connection that moves messages of the Model Context Protocol.
 *
 * Two kinds: the pipes of a child process (mcp_stdio.h) and HTTP requests to one URL
 * (mcp_http.h). A link handles bytes, headers and processes; it does not interpret messages.
 * No callback fires inside a function of the link. Loop thread only. */
#ifndef CH_MCP_LINK_H
#define CH_MCP_LINK_H
#include "base/buf.h"
#include "chela/error.h"

struct ch_mcp_link;

/* One message to send. Texts are borrowed for the call. */
struct ch_mcp_send {
    struct ch_sv message;
    int64_t id;           /* id of a request; 0: a notification or a response */
    const char *method;   /* NULL: a response */
    const char *version;  /* protocol version for the header; NULL: none */
    bool modern;          /* the message carries its version: more headers, no session */
    struct ch_sv name;    /* value of Mcp-Name; empty: none */
    struct ch_sv headers; /* further headers, "Name: value\n" each */
};

/* Why a request got no response. */
struct ch_mcp_failure {
    struct chela_error err;
    int status;            /* HTTP status; 0: none */
    bool session_lost;     /* the server no longer knows the session */
    bool taken;            /* the server began to answer: the request must not be sent again */
    const char *challenge; /* WWW-Authenticate; NULL: none */
};

/* All are called on the loop thread; each may close the link. */
struct ch_mcp_link_events {
    void (*opened)(void *user); /* messages may be sent */
    void (*message)(struct ch_sv text, void *user);
    void (*failed)(int64_t id, const struct ch_mcp_failure *failure, void *user);
    /* The link is unusable: close it. */
    void (*down)(const struct chela_error *err, void *user);
};

struct ch_mcp_link_ops {
    int (*send)(struct ch_mcp_link *l, const struct ch_mcp_send *s);
    /* The response of this request is no longer wanted. Optional. */
    void (*forget)(struct ch_mcp_link *l, int64_t id);
    /* The session is agreed: listen for messages of the server. Optional. */
    void (*listen)(struct ch_mcp_link *l, const char *version);
    /* Say goodbye before `close`: end the input of the program, or the session. `left` is called
     * once, when the other side has ended too. False: there is nothing to wait for, and `left`
     * is not called. Optional. */
    bool (*leave)(struct ch_mcp_link *l, void (*left)(void *user), void *user);
    void (*close)(struct ch_mcp_link *l);
};

struct ch_mcp_link {
    const struct ch_mcp_link_ops *ops;
    const struct ch_mcp_link_events *events;
    void *user;
    int status; /* HTTP status of the message that is being delivered; 0: none */
};

#endif
