/* box_network.h -- the network of a command in the sandbox: a proxy of the runtime.
 *
 * A command without the host's network reaches one address, a socket in its box that the runtime
 * serves (net/forward.h). Destinations are judged by name: by the lists of the policy, by those of
 * the agent, which can deny, and by what a person has allowed. The rest is refused at once, and
 * noted, so that the result can say what would allow it. Loop thread only. */
#ifndef CH_TOOL_BOX_NETWORK_H
#define CH_TOOL_BOX_NETWORK_H
#include "base/buf.h"
#include "base/sha256.h"
#include "io/loop.h"
#include "net/url.h"
#include "tool/process/sandbox_policy.h"

#define CH_REFUSED_HOSTS 16 /* noted for one command */

struct ch_box_network;

struct ch_refused_host {
    const char *host; /* "example.com", "example.com:8080", "[::1]:81" */
    bool askable;     /* a person may allow it */
};
struct ch_refused_hosts {
    struct ch_refused_host v[CH_REFUSED_HOSTS];
    size_t n;
    bool closed; /* the command has no network at all */
    bool met;    /* the hosts would be allowed, but private data and foreign text have met */
};

struct ch_box_network_opts {
    struct ch_loop *loop;
    const struct ch_sandbox_policy *policy; /* borrowed */
    struct ch_sv command;                   /* borrowed */
    bool met; /* as in struct ch_program_opts */
    bool (*granted)(const unsigned char *digest, void *user); /* NULL: nothing */
    void *user;
};

/* NULL if commands of this policy have no such network: no sandbox, or the host's network. */
struct ch_box_network *ch_box_network_new(const struct ch_box_network_opts *opts);
/* Serve the socket, which is taken over. */
void ch_box_network_listen(struct ch_box_network *n, int fd);
void ch_box_network_stop(struct ch_box_network *n); /* end all connections; n may be NULL */
void ch_box_network_close(struct ch_box_network *n);

/* NULL: no destination was refused. Borrowed from n, which may be NULL. */
const struct ch_refused_hosts *ch_box_network_refused(const struct ch_box_network *n);

/* Append a line for each refused destination, with the line that would allow it. */
void ch_refused_text(const struct ch_refused_hosts *list, struct ch_buf *out);

/* The digest of a consent for every command (command empty), or for this command. host: as in
 * struct ch_refused_host. False: the host cannot be read. */
bool ch_refused_digest(const char *host, struct ch_sv command, unsigned char out[CH_SHA256_SIZE]);

#endif
