/* leak.h -- whether a text that leaves this machine holds a secret: one of the process
 * (secrets.h), or a value of an .env file of the workspace. */
#ifndef CH_GUARD_LEAK_H
#define CH_GUARD_LEAK_H
#include "base/buf.h"

/* Append the name of a secret that text holds, such as "ANTHROPIC_API_KEY" or "DB_PASSWORD
 * (.env)". False: none. workspace: an absolute path; NULL: none. The .env files are read again if
 * they were read more than max_age_ms ago. Blocks for the time of reading them. Any thread. */
bool ch_leak_find(const char *workspace, int64_t max_age_ms, struct ch_sv text,
                  struct ch_buf *name);

/* Frees what was read: a runtime is closed, and a process that goes on keeps no secrets. Any
 * thread. */
void ch_leak_forget(void);

/* Append a text that is shown to a person of a chat service, with place-holders for the secrets
 * that stand in it as they are. False: it holds a secret in another form, whose name is appended to
 * `name`; nothing was appended to out. The .env files are read now. Blocks. */
bool ch_leak_mask(const char *workspace, struct ch_sv text, struct ch_buf *out,
                  struct ch_buf *name);

/* A sentence for the model about the secret of this name. */
void ch_leak_explain(struct ch_buf *out, const char *name);

#endif
