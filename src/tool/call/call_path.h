/* call_path.h -- the paths of a call: where it may write, and the errors it answers with. */
#ifndef CH_TOOL_CALL_PATH_H
#define CH_TOOL_CALL_PATH_H
#include "tool/process/path.h"

/* Where a call is to write a file. Protected paths (sandbox_policy.h) are refused, by
 * whatever links they are reached, and no directory is made there. */
int ch_call_path_place(const chela_call *call, const char *given, enum ch_making what, bool create,
                  struct ch_place *out);

/* Turn a negative errno into the call's error result, naming the path as the
 * model gave it; verb says what was tried: "read". Returns 0. */
int ch_call_path_refuse(chela_call *call, const char *verb, const char *given, int error);

/* The same for a file that should be there: -ENOENT names similar files. */
int ch_call_path_missing(chela_call *call, const char *verb, const char *given, int error);

#endif
