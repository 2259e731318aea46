/* chat_call.h -- shows a tool call as one line, and its changes. */
#ifndef CH_CLI_CHAT_CALL_H
#define CH_CLI_CHAT_CALL_H
#include <stdbool.h>
#include <stdio.h>

#include "chela/event.h"

struct ch_call_look {
    unsigned columns;
    bool color;
};

/* Any text as one safe line; the caller frees it. */
char *ch_call_safe(const char *p, size_t n);
/* The same for a text of several lines. */
char *ch_call_text(const char *p, size_t n);
/* "read src/main.c": the name and the subject of a call; the caller frees it. */
char *ch_call_label(struct chela_str name, struct chela_str arguments);

/* Print the line of an ended call; label NULL: use the name. */
void ch_call_print(FILE *out, const struct ch_call_look *look, const char *label,
                   const struct chela_event *result);
/* Print the file changes of a call as a diff of bounded length; nothing for other calls.
 * arguments may be NULL. */
void ch_call_details(FILE *out, const struct ch_call_look *look, const char *arguments,
                     const struct chela_event *result);
/* Print the last lines of a text, and how many precede them. */
void ch_call_tail(FILE *out, const struct ch_call_look *look, const char *text, size_t most);

#endif
