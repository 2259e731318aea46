/* git_identity.h -- the user's name and e-mail address, as Git knows them. */
#ifndef CH_TOOL_GIT_IDENTITY_H
#define CH_TOOL_GIT_IDENTITY_H
#include "base/arena.h"

struct ch_git_identity {
    const char *name, *email; /* in the arena; NULL: not set */
};

/* Read user.name and user.email from the user's own configuration of Git: $GIT_CONFIG_GLOBAL, or
 * $XDG_CONFIG_HOME/git/config and ~/.gitconfig, with the files that these include; includeIf counts
 * with gitdir, for a repository in the workspace. A repository's configuration is not read, and
 * nothing is executed. The system's configuration is visible in the sandbox anyway. home may be
 * NULL. Blocks. */
void ch_git_identity(struct ch_arena *arena, const char *home, const char *workspace,
                     struct ch_git_identity *out);

#endif
