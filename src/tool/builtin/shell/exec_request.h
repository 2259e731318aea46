/* exec_request.h -- what a call of `exec` asks for, read and judged. */
#ifndef CH_TOOL_EXEC_REQUEST_H
#define CH_TOOL_EXEC_REQUEST_H
#include "chela/tool.h"

/* Texts are in the call's arena. */
struct ch_exec_request {
    const char *text;        /* the command as a shell would take it */
    const char *const *argv; /* what is run; NULL-terminated */
    const char *const *env;  /* variables to set, "NAME=value"; NULL-terminated */
    const char *cwd;         /* as given; NULL: the workspace */
    int64_t timeout_ms;      /* 0: none */
    bool background, tty;
};

/* 0, or CHELA_EINVAL after setting the error result. */
int ch_exec_read(chela_call *call, struct ch_exec_request *out);

/* Would this text, given to a shell or typed into a chat, approve a call? */
bool ch_exec_approves(const char *text);

/* Text for one line of a list: clean, cut. In the call's arena. */
const char *ch_exec_line(chela_call *call, const char *text);

#endif
