/* sandbox_policy.h -- the sandbox policy of external programs.
 *
 * A separate program, chela-sandbox (src/sandbox), creates the sandbox and then executes
 * the command. This module holds the policy, the list of sandbox layers that work on this
 * machine, and the command line of chela-sandbox.
 *
 * Three modes: `required` does not run a command if a needed layer is missing; `auto` uses
 * the layers that work and reports them, but runs nothing if chela-sandbox itself is missing;
 * `off` runs the command without a sandbox. */
#ifndef CH_TOOL_SANDBOX_POLICY_H
#define CH_TOOL_SANDBOX_POLICY_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "chela/error.h"

struct ch_egress;

enum ch_sandbox_mode { CH_SANDBOX_AUTO, CH_SANDBOX_REQUIRED, CH_SANDBOX_OFF };
/* Apart from HOST, a command reaches only a proxy of the runtime (box_network.h), which refuses
 * every destination with NONE. */
enum ch_sandbox_network { CH_SANDBOX_NET_HOSTS, CH_SANDBOX_NET_NONE, CH_SANDBOX_NET_HOST };

struct ch_sandbox_limits { /* 0: the default of limits.h; UINT64_MAX: no limit */
    uint64_t cpu_s;        /* seconds per process */
    uint64_t memory;       /* bytes of data: of a process, and of all processes together; the
                              default for all together is three quarters of the machine's */
    uint64_t file_size;    /* bytes per file */
    uint64_t files;        /* open files per process */
    uint64_t processes;    /* processes and threads of the command */
    uint64_t tmp;          /* size of the private /tmp in bytes */
    uint64_t disk;         /* bytes of the disk that the command fills */
    uint64_t disk_files;   /* files that the command makes */
};

/* All lists are NULL-terminated, and may be NULL. A zeroed policy is the
 * default. */
struct ch_sandbox_policy {
    enum ch_sandbox_mode mode;
    enum ch_sandbox_network network;
    const char *hosts; /* with HOSTS: comma-separated patterns (egress.h); NULL: none */
    const struct ch_egress *egress; /* borrowed: the lists of the agent; NULL: none */
    bool workspace_read_only;
    bool home; /* the home of commands stays (box_home.h) */
    const char *const *writable; /* absolute paths in addition to the workspace */
    const char *const *readable; /* absolute paths in addition to the system's */
    /* Read-only even where writable: absolute, or below the workspace. What a program makes at
     * such a path is set aside. File tools may make "name?". NULL: ch_sandbox_protected. */
    const char *const *protect;
    /* Absolute: read-only for programs; a file tool writes one only if a person agrees. */
    const char *const *ask;
    /* Absolute: programs and file tools neither read nor write these. */
    const char *const *hide;
    /* absolute directories that file tools and commands may read, such as the user's skills */
    const char *const *shared;
    struct ch_sandbox_limits limits;
    const char *helper; /* path of chela-sandbox; NULL: the installed one */
};

extern const char *const ch_sandbox_protected[];

/* The paths that file tools never write under this policy (NULL: the default): static, or
 * in the arena. Other paths of ch_sandbox_protected have a kind (file_kind.h) that decides. */
const char *const *ch_sandbox_protect_list(struct ch_arena *a, const struct ch_sandbox_policy *p);

/* A copy of a list of texts in the arena; NULL for NULL. */
const char *const *ch_sandbox_copy_list(struct ch_arena *a, const char *const *list);

/* For tools that write outside of the sandbox: true if path must not be created or changed.
 * path is below the workspace, normalized, without links. Forbidden are a protected path,
 * anything inside of one, and, for a new file, any parent of one. */
enum ch_making { CH_MAKING_FILE, CH_MAKING_DIRECTORY };
bool ch_sandbox_protects(const char *const *protect, const char *workspace, const char *path,
                         enum ch_making what);

/* Copy a policy into the arena; NULL gives the default policy. */
struct ch_sandbox_policy *ch_sandbox_copy(struct ch_arena *a, const struct ch_sandbox_policy *p);

/* Add a path to the list p->ask or p->hide: absolute; the file need not exist. The arena must
 * live as long as the policy. Calls that have started do not see the change. */
void ch_sandbox_add_ask(struct ch_arena *a, struct ch_sandbox_policy *p, const char *path);
void ch_sandbox_add_hide(struct ch_arena *a, struct ch_sandbox_policy *p, const char *path);
/* The same for a path of ch_sandbox_resolve. */
void ch_sandbox_add_hidden(struct ch_arena *a, struct ch_sandbox_policy *p, const char *real);

/* The absolute path without links, "." and "..". Its last parts need not exist. The result
 * is in the arena, or static. */
const char *ch_sandbox_resolve(struct ch_arena *a, const char *path);
/* The same for p->shared. */
void ch_sandbox_add_shared(struct ch_arena *a, struct ch_sandbox_policy *p, const char *path);

/* Check the host's options (may be NULL) and convert them to a policy in the arena. */
struct chela_sandbox_opts;

/* "auto", "required", "off". */

/* --- layers that work on this machine */

struct ch_sandbox_layer {
    const char *name;
    bool ok;
    bool needed;     /* required in mode `required` */
    const char *why; /* how the layer works, or why it does not */
};

/* --- a command in its sandbox */

struct ch_sandbox_command {
    const char *const *argv;
    const char *cwd;             /* absolute path inside the sandbox */
    const char *workspace;       /* absolute; "/": no workspace is writable */
    pid_t layer; /* holds the layer over the workspace: nothing else is writable; 0: none */
    const char *const *readable; /* additional paths for this command; may be NULL */
    const char *const *repositories; /* as in repositories.h; may be NULL */
    const char *const *protect;      /* absolute: read-only for this command; may be NULL */
    const char *const *hide;         /* files hidden from this command; may be NULL */
    const char *git_name, *git_email; /* of the user, for commits; NULL: unknown */
    bool tty;
    bool proxy;             /* the sandbox sends a listening socket over its report */
    bool free_instructions; /* instructions (file_kind.h) may be written */
};

struct ch_sandboxed {
    const char *const *argv; /* in the arena; the command's own argv if not boxed */
    bool boxed;              /* the child reports on descriptor 3 and starts in cwd "/" */
    bool degraded;           /* a needed layer is missing */
    /* as in repositories.h; in the arena, or NULL */
    const char *const *kept, *const *absent, *const *absent_hidden;
};

/* Decide how cmd is started. CHELA_EPERM: a needed layer is missing in mode `required`; err
 * names the layer. Blocks like ch_sandbox_probe. */
int ch_sandbox_wrap(struct ch_arena *a, const struct ch_sandbox_policy *policy,
                    const struct ch_sandbox_command *cmd, struct ch_sandboxed *out,
                    struct chela_error *err);

/* NULL, or the first layer that the full sandbox without a network lacks on this machine,
 * with the reason, in the arena. policy may be NULL; only its helper counts. The first time a
 * warning is logged. Blocks like ch_sandbox_probe. */
const char *ch_sandbox_lacks(struct ch_arena *a, const struct ch_sandbox_policy *policy);

/* Parse the report of the sandbox: sets the type and the message of an error, both in the
 * arena; false if the report has no error. */
bool ch_sandbox_failed(struct ch_arena *a, struct ch_sv report, const char **type,
                       const char **message);

#endif
