/* memo.h -- the settings of a command line that a session goes on with.
 *
 * chat and run keep --model, --workspace, --tools, --deny and --approve with their session
 * (chela_agent_memo), and whether the model could ask a person: a session's requests shall offer
 * the same tools wherever it goes on. A command that continues the session uses them where its own
 * command line says nothing, and tells so. Calls are never approved more freely than by default: of
 * --approve, only "deny" and "plan" are used again. A model that was called at --base-url is not
 * used again, because the address is not kept. */
#ifndef CH_CLI_MEMO_H
#define CH_CLI_MEMO_H
#include "chela.h"
#include "cli/setup/setup.h"

struct ch_memo { /* zeroed: nothing is known */
    char *model, *workspace, *approve; /* owned; NULL: not given */
    char *directory;                   /* owned: where the command ran; NULL: not known */
    char *tools, *deny;                /* owned; NULL: not given */
    bool base_url;                     /* the model has an address of its own */
    enum { CH_MEMO_UNKNOWN, CH_MEMO_ASKS, CH_MEMO_SILENT } questions; /* as ch_setup.silent */
};

/* The memo of a stored session; nothing if there is none. */
void ch_memo_load(struct ch_memo *m, chela_store *store, const char *key);
/* Replace *model, *approve, and the workspace, tools and deny of flags where they are NULL, and
 * tell the person. The texts are the memo's. */
void ch_memo_use(struct ch_memo *m, const char *key, struct ch_console *console,
                 const char **model, struct ch_setup_flags *flags, const char **approve);
/* Keep the settings with the sessions of the agent. model and approve may be NULL. */
void ch_memo_keep(chela_agent *agent, const char *model, const struct ch_setup *setup,
                  const char *approve, bool base_url);
void ch_memo_release(struct ch_memo *m);

/* The key of the conversation that was used last in this directory; the caller frees it. skip:
 * beginning of titles that do not count; NULL: none.
 * CHELA_EINVAL: there is no such session. */
int ch_memo_latest(chela_store *store, const char *skip, char **key, struct chela_error *err);

#endif
