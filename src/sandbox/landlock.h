/* landlock.h -- which files a command may touch, whatever the mounts say.
 *
 * Inside namespaces this is the second lock on the same door; where namespaces
 * are forbidden it is the only one. Newer kernels can do more; what this one
 * cannot is left out, and the ABI says what that is. */
#ifndef CH_SANDBOX_LANDLOCK_H
#define CH_SANDBOX_LANDLOCK_H
#include <stdbool.h>
#include <stdint.h>

enum ch_landlock_right {
    CH_MAY_READ,  /* and execute */
    CH_MAY_WRITE, /* and everything that makes, changes or removes */
    CH_MAY_DEVICE /* read, write, ioctl: not make or remove */
};

struct ch_landlock {
    int abi;
    int fd;           /* of the ruleset */
    uint64_t handled; /* accesses to files that need a rule */
};

#define CH_LANDLOCK_NEWEST 6 /* the last ABI that brought anything used here */

int ch_landlock_abi(void); /* 0: this kernel has none, or does not use it */

/* no_tcp: no TCP either, where the kernel can (ABI 4). 0 or -errno. */
int ch_landlock_begin(struct ch_landlock *l, bool no_tcp);

/* A path and all below it. One that is not there is no error. */
int ch_landlock_allow(struct ch_landlock *l, const char *path, enum ch_landlock_right right);

/* Hold this process and its descendants to the rules, and forget the ruleset.
 * no_new_privs must be set. */
int ch_landlock_enforce(struct ch_landlock *l);

#endif
