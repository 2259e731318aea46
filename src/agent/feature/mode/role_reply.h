/* role_reply.h -- reads the reply of a role, however the model wrote it.
 *
 * The form that the runtime uses is the schema of the built-in prompt. Models, and prompts that
 * people wrote, use other names for the same members, give a list of steps without an object around
 * it, leave members out, add some, or give only the way out of a task ("clarify", "refuse"). Such a
 * reply is written in the usual form, and each change is noted. A reply whose meaning is not clear
 * is not changed: the schema then names the problem to the model. */
#ifndef CH_AGENT_ROLE_REPLY_H
#define CH_AGENT_ROLE_REPLY_H
#include "agent/feature/mode/mode_settings.h"
#include "base/buf.h"
#include "base/sv.h"

struct ch_role_tools { /* the tools that a reply may name; zeroed: none */
    /* The text of a tool's schema; NULL: there is no such tool. */
    const char *(*schema)(struct ch_sv tool, void *user);
    void *user;
};

/* Appends the reply in the usual form to json, and one line for each change to notes (may be NULL).
 * False: the text holds no value with a member of this role. */
bool ch_role_reply_read(enum ch_role_kind role, struct ch_sv text,
                        const struct ch_role_tools *tools, struct ch_buf *json,
                        struct ch_buf *notes);

#endif
