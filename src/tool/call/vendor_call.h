/* vendor_call.h -- the call of a tool that the model's vendor defined and clients run.
 *
 * Models are trained on such tools: a shell, an editor, patches, a memory. A call of one
 * (CH_RUN_RUNTIME) becomes a call of the tool here that does the same work: exec, read, write,
 * edit, ls or apply_patch. It then is a call of that tool everywhere, as with call_by_name.h. The
 * call of a custom tool, which takes free text, is one of the tool of its name, with the text as
 * `input`. */
#ifndef CH_TOOL_VENDOR_CALL_H
#define CH_TOOL_VENDOR_CALL_H
#include "base/arena.h"
#include "model/message/message.h"

/* *out: the call that `block` stands for, made in the arena. False: another part of the program,
 * or nobody, runs it. Arguments that the vendor's tool does not have are passed on, so that the
 * schema refuses them. */
bool ch_vendor_call(const struct ch_block *block, struct ch_arena *arena, struct ch_block *out);

/* True if one of these tools in the vendor's form (a JSON array) stands for the tool `name`, which
 * a request then need not describe: it has its name, or does its work. */
bool ch_vendor_call_replaces(struct ch_sv server_tools, struct ch_sv name);

#endif
