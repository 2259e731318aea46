/* approval_binding.h -- holding a call to what was judged.
 *
 * Between the moment a person or a rule agrees to a call and the moment it
 * starts, a script may be edited, a link moved, another program put before the
 * one that was meant. So agreement is given to a digest: of the tool, its
 * arguments, the file that the program's name leads to, that file's identity
 * and time of change, and the directory. Right before the start the digest is
 * made again and must be the same. */
#ifndef CH_TOOL_APPROVAL_BINDING_H
#define CH_TOOL_APPROVAL_BINDING_H
#include "base/sha256.h"
#include "tool/call/plan.h"
#include "tool/registry/registry.h"
#include "tool/process/shell_words.h"

struct ch_bound { /* texts live in the call's arena */
    unsigned char digest[CH_SHA256_SIZE];
    struct ch_plan plan;   /* zeroed: no program is run */
    struct ch_words words; /* of plan.command */
    const char *program;   /* the file found for the program's name; NULL: none */
    const char *real;      /* the file it is, all links followed; NULL: none */
    const char *cwd;       /* of the program, all links followed */
    /* NULL, or why nothing but a person's look at this very call can vouch for
     * it, as in "it uses ..."; static */
    const char *obstacle;
    const char *shown; /* what the tool says about the call; NULL: nothing */
};

/* The call's arguments must have been read. */
void ch_bind(chela_call *call, struct ch_bound *out);

/* Append what a person needs to know before they agree: tool, command or
 * arguments, program, directory. Safe to print anywhere (display.h); what is
 * too long is cut at its end, and says so. */
void ch_bound_show(chela_call *call, const struct ch_bound *b, struct ch_buf *out);

#endif
