/* approval_binding.h -- binds an approval to the exact call that was approved.
 *
 * Between the approval and the start of a call, a script may be edited, a link redirected,
 * or another program placed earlier in PATH. Therefore an approval applies to a digest of
 * the tool, its arguments, the resolved program file, that file's identity and modification
 * time, and the working directory. The digest is computed again right before the start and
 * must be equal. */
#ifndef CH_TOOL_APPROVAL_BINDING_H
#define CH_TOOL_APPROVAL_BINDING_H
#include "base/sha256.h"
#include "tool/call/plan.h"
#include "guard/file_kind.h"
#include "tool/registry/registry.h"
#include "tool/process/shell_words.h"

struct ch_bound { /* texts live in the call's arena */
    unsigned char digest[CH_SHA256_SIZE];
    struct ch_plan plan;   /* zeroed: the call runs no program */
    struct ch_words words; /* words of plan.command */
    const char *program;   /* file found for the program's name; NULL: none */
    const char *real;      /* program with all links resolved; NULL: none */
    const char *cwd;       /* working directory of the program, all links resolved */
    /* The reason why only a person's decision about this call can allow it, for example "it uses
     * ..."; a static text; NULL: none */
    const char *obstacle;
    const char *shown; /* the tool's own text about the call; NULL: none */
    /* the most delicate file that the call writes, and a text about all of them (NULL: none) */
    enum ch_file_kind kind;
    const char *writes;
    /* the URL of a destination that a person has to agree to (outgoing.h); NULL: none */
    const char *sends;
    const char *met_source, *met_data; /* what met (flow.h); NULL: nothing did */
    /* What "always" remembers, in place of the digest, if the next number is not 0. */
    unsigned char places[2][CH_SHA256_SIZE];
    unsigned nplaces;
};

/* The call's arguments must have been read. */
void ch_bind(chela_call *call, struct ch_bound *out);

/* Append the text that a person needs to decide: tool, command or arguments, program,
 * directory. The text is safe to print anywhere (display.h); long parts are truncated at
 * their end and marked as truncated. */
void ch_bound_show(chela_call *call, const struct ch_bound *b, struct ch_buf *out);

#endif
