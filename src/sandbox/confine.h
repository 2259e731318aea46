/* confine.h -- the last steps, taken by the process that becomes the command. */
#ifndef CH_SANDBOX_CONFINE_H
#define CH_SANDBOX_CONFINE_H
#include "sandbox/box.h"

/* Set limits, drop rights, lock files and system calls, and become the
 * command. Does not return: what fails is reported. */
_Noreturn void ch_confine_exec(const struct ch_box *box);

/* The command's directory for temporary files, with a home in it. */
void ch_confine_home(const struct ch_box *box);

#endif
