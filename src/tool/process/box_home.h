/* box_home.h -- the home directory of commands, if it stays: one for each workspace.
 *
 * The homes are below chela's state directory, which tools do not see. Nothing but commands in the
 * sandbox uses a home: a file there never counts outside. */
#ifndef CH_TOOL_BOX_HOME_H
#define CH_TOOL_BOX_HOME_H
#include "base/arena.h"
#include "chela/error.h"

/* Makes the home of a workspace if there is none; *out is in the arena. Blocks. */
int ch_box_home(struct ch_arena *a, const char *workspace, const char **out,
                struct chela_error *err);

#endif
