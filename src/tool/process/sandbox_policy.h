/* sandbox_policy.h -- outside programs run in a box.
 *
 * The box itself is made by a program of its own, chela-sandbox (src/sandbox),
 * which stands between us and the command. Here is what the rest of chela
 * knows about it: the policy it is given, which of its layers hold on this
 * machine, and the command line it is started with.
 *
 * Three modes: `required` does not run a command if a layer that is needed is
 * missing; `auto` runs it in what holds, and says what that is; `off` runs it
 * as any other program. */
#ifndef CH_TOOL_SANDBOX_POLICY_H
#define CH_TOOL_SANDBOX_POLICY_H
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "chela/error.h"

enum ch_sandbox_mode { CH_SANDBOX_AUTO, CH_SANDBOX_REQUIRED, CH_SANDBOX_OFF };
enum ch_sandbox_network { CH_SANDBOX_NET_NONE, CH_SANDBOX_NET_HOST };

struct ch_sandbox_limits { /* 0: the default of limits.h; UINT64_MAX: none */
    uint64_t cpu_s;        /* of one process */
    uint64_t memory;       /* bytes of data of one process */
    uint64_t file_size;    /* bytes of one file */
    uint64_t files;        /* open in one process */
    uint64_t processes;    /* and threads, of the command */
    uint64_t tmp;          /* bytes of the private /tmp */
};

/* All lists are NULL-terminated, and may be NULL. A zeroed policy is the
 * default. */
struct ch_sandbox_policy {
    enum ch_sandbox_mode mode;
    enum ch_sandbox_network network;
    bool workspace_read_only;
    const char *const *writable; /* absolute paths beside the workspace */
    const char *const *readable; /* absolute paths beside the system's */
    /* Read-only even where writable, and even if absent: absolute, or below
     * the workspace; "name?" only if it is there. NULL: ch_sandbox_protected. */
    const char *const *protect;
    struct ch_sandbox_limits limits;
    const char *helper; /* chela-sandbox; NULL: where it was installed */
};

extern const char *const ch_sandbox_protected[];

/* What the policy (NULL: the default one) protects: static, or in the arena. */
const char *const *ch_sandbox_protect_list(struct ch_arena *a, const struct ch_sandbox_policy *p);

/* For tools that write without a box around them: may path (below the
 * workspace, tidy, no link in it) not be made or changed, because it is one of
 * the protected ones, or in one, or, if it is to be a file, above one? */
enum ch_making { CH_MAKING_FILE, CH_MAKING_DIRECTORY };
bool ch_sandbox_protects(const char *const *protect, const char *workspace, const char *path,
                         enum ch_making what);

/* A policy that lives in the arena; NULL gives the default one. */
struct ch_sandbox_policy *ch_sandbox_copy(struct ch_arena *a, const struct ch_sandbox_policy *p);

/* What a host asked for (may be NULL), checked, in the arena. */
struct chela_sandbox_opts;

/* "auto", "required", "off". */
int ch_sandbox_mode_read(const char *word, enum ch_sandbox_mode *out, struct chela_error *err);

/* --- what holds on this machine */

struct ch_sandbox_layer {
    const char *name;
    bool ok;
    bool needed;     /* for `required` */
    const char *why; /* how it is done, or why it cannot be */
};

/* --- a command in its box */

struct ch_sandbox_command {
    const char *const *argv;
    const char *cwd;             /* absolute, seen from inside */
    const char *workspace;       /* absolute; "/": none is writable */
    const char *const *readable; /* what this command needs besides; may be NULL */
    bool tty;
};

struct ch_sandboxed {
    const char *const *argv; /* in the arena; the command's own if not boxed */
    bool boxed;              /* with a report on descriptor 3, from cwd "/" */
    bool degraded;           /* a needed layer does not hold */
};

/* Decide how cmd is started. CHELA_EPERM: a layer is missing and required; err
 * names it. Blocks as ch_sandbox_probe. */
int ch_sandbox_wrap(struct ch_arena *a, const struct ch_sandbox_policy *policy,
                    const struct ch_sandbox_command *cmd, struct ch_sandboxed *out,
                    struct chela_error *err);

/* What the box said about itself: the type of an error and its message, or
 * false if there was none. Both are in the arena. */
bool ch_sandbox_failed(struct ch_arena *a, struct ch_sv report, const char **type,
                       const char **message);

#endif
