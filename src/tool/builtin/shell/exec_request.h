/* exec_request.h -- parses and checks the arguments of `exec`. */
#ifndef CH_TOOL_EXEC_REQUEST_H
#define CH_TOOL_EXEC_REQUEST_H
#include "chela/tool.h"

/* Texts are in the call's arena. */
struct ch_exec_request {
    const char *text;        /* the command as shell text */
    const char *const *argv; /* arguments to execute; NULL-terminated */
    const char *const *env;  /* variables to set, "NAME=value"; NULL-terminated */
    const char *cwd;         /* as the model gave it; NULL: the workspace */
    int64_t timeout_ms;      /* 0: none */
    bool background, tty;
};

/* 0, or CHELA_EINVAL after setting the error result. */
int ch_exec_read(chela_call *call, struct ch_exec_request *out);

/* True if this text, given to a shell or typed into a chat, would approve a call. */
bool ch_exec_approves(const char *text);

/* One line of sanitized, truncated text for a list; in the call's arena. */
const char *ch_exec_line(chela_call *call, const char *text);

#endif
