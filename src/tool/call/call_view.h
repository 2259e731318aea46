/* call_view.h -- the public view of a call: include/chela/tool.h. */
#ifndef CH_TOOL_CALL_VIEW_H
#define CH_TOOL_CALL_VIEW_H
#include "tool/call/call.h"

/* The first of these names that is an argument of the call; names ends with NULL. If none
 * is, returns names[0], so that an error message asks for that argument. */
const char *ch_arg_name(const chela_call *call, const char *const *names);

/* Sets the error result of a call with invalid arguments. Returns CHELA_EINVAL. */
int ch_result_invalid(chela_call *call, const char *why);

/* The room that the result may take in the model's context, for tools that choose
 * themselves what to omit. */
struct ch_shape_room ch_call_room(const chela_call *call);

#endif
