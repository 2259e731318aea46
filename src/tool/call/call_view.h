/* call_view.h -- what a tool's function sees of its call: include/chela/tool.h. */
#ifndef CH_TOOL_CALL_VIEW_H
#define CH_TOOL_CALL_VIEW_H
#include "tool/call/call.h"

/* Which of these names is an argument of the call; names ends with NULL. The
 * first if none is, so that an error asks for that one. */
const char *ch_arg_name(const chela_call *call, const char *const *names);

/* What the result may take of the model's context: for a tool that would
 * rather choose itself what to leave out. */
struct ch_shape_room ch_call_room(const chela_call *call);

#endif
