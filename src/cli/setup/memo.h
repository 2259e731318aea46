/* memo.h -- the settings of a command line that a session goes on with.
 *
 * chat and run keep --model, --workspace and --approve with their session
 * (chela_agent_memo). A command that continues the session uses them where its own command line
 * says nothing, and tells so. Calls are never approved more freely than by default: of --approve,
 * only "deny" is used again. A model that was called at --base-url is not used again, because the
 * address is not kept. */
#ifndef CH_CLI_MEMO_H
#define CH_CLI_MEMO_H
#include "chela.h"
#include "cli/term/console.h"

struct ch_memo { /* zeroed: nothing is known */
    char *model, *workspace, *approve; /* owned; NULL: not given */
    char *directory;                   /* owned: where the command ran; NULL: not known */
    bool base_url;                     /* the model has an address of its own */
};

/* The memo of a stored session; nothing if there is none. */
void ch_memo_load(struct ch_memo *m, chela_store *store, const char *key);
/* Replace *model, *workspace and *approve where they are NULL, and tell the person. */
void ch_memo_use(struct ch_memo *m, const char *key, struct ch_console *console,
                 const char **model, const char **workspace, const char **approve);
/* Keep the settings with the sessions of the agent. model, workspace and approve may be NULL. */
void ch_memo_keep(chela_agent *agent, const char *model, const char *workspace,
                  const char *approve, bool base_url);
void ch_memo_release(struct ch_memo *m);

/* The key of the conversation that was used last in this directory, or else of one whose directory
 * is not known; the caller frees it. skip: beginning of titles that do not count; NULL: none.
 * CHELA_EINVAL: there is no such session. */
int ch_memo_latest(chela_store *store, const char *skip, char **key, struct chela_error *err);

#endif
