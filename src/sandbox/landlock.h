/* landlock.h -- restrict file access with Landlock, independent of the mounts.
 *
 * Inside namespaces Landlock is a second barrier; where namespaces are
 * forbidden it is the only one. Features that the running kernel lacks are left
 * out; the ABI number tells which. */
#ifndef CH_SANDBOX_LANDLOCK_H
#define CH_SANDBOX_LANDLOCK_H
#include <stdbool.h>
#include <stdint.h>

enum ch_landlock_right {
    CH_MAY_READ,  /* and execute */
    CH_MAY_WRITE, /* read, create, change, remove */
    CH_MAY_DEVICE /* read, write, ioctl; not create or remove */
};

struct ch_landlock {
    int abi;
    int fd;           /* descriptor of the ruleset */
    uint64_t handled; /* file accesses that need a rule */
};

int ch_landlock_abi(void); /* 0: not supported or disabled */
/* True if rules keep abstract sockets and signals inside of the box. */
bool ch_landlock_scopes(void);

/* no_tcp: also deny TCP, if the kernel supports this (ABI 4). Returns 0 or
 * -errno. */
int ch_landlock_begin(struct ch_landlock *l, bool no_tcp);

/* Allow access to a path and everything below it. A missing path is not an
 * error. */
int ch_landlock_allow(struct ch_landlock *l, const char *path, enum ch_landlock_right right);

/* Apply the rules to this process and its descendants, and close the ruleset.
 * no_new_privs must be set. */
int ch_landlock_enforce(struct ch_landlock *l);

#endif
