/* call_path.h -- path arguments of a call: write locations and error results. */
#ifndef CH_TOOL_CALL_PATH_H
#define CH_TOOL_CALL_PATH_H
#include "tool/process/path.h"

/* Resolve the place where a call writes a file. Protected paths (sandbox_policy.h) are
 * rejected, also through links, and no directory is created there. */
int ch_call_path_place(const chela_call *call, const char *given, enum ch_making what, bool create,
                       struct ch_place *out);

/* Set the call's error result from a negative errno, with the path as the model gave it;
 * verb names the operation: "read". Returns 0. */
int ch_call_path_refuse(chela_call *call, const char *verb, const char *given, int error);

/* The same for a file that should exist: for -ENOENT the error suggests similar file names. */
int ch_call_path_missing(chela_call *call, const char *verb, const char *given, int error);

#endif
