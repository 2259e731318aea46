/* chela.h -- an LLM agent inside your program.
 *
 *     chela_runtime *rt; chela_agent *agent; struct chela_error err = {0};
 *     chela_runtime_new(NULL, &rt, &err);
 *     struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "anthropic/claude-sonnet-4-6");
 *     chela_agent_new(rt, &opts, &agent, &err);
 *     chela_agent_tool(agent, "add", "Add two integers.", SCHEMA, add, NULL);
 *     char *answer = chela_ask(agent, "what is 2 + 40?", &err);
 *
 * This header includes every header that a program needs. The headers in chela/sys/
 * describe loadable modules; chela/store.h includes one of them. All headers compile as
 * C11 and as C++17. The macros that fill option structs need C or C++20.
 *
 * Rules for all headers:
 *
 * - Text is UTF-8 and ends with a NUL byte, unless a length is passed with the text.
 * - A pointer argument must not be NULL unless the comment allows NULL. `err` may always be
 *   NULL. A function that gets NULL in place of an object (a runtime, an agent, ...) does
 *   nothing and returns CHELA_EINVAL, NULL or 0.
 * - If a function that creates an object or a text through a parameter (`out`) fails, the
 *   parameter is NULL afterwards.
 * - An option struct begins with `size`, and its macro sets the size: CHELA_AGENT_OPTS,
 *   CHELA_RUN_OPTS. A member that is 0 or NULL has its default. A struct whose size is wrong
 *   is refused with CHELA_EINVAL.
 * - No function fails for lack of memory. If memory runs out, the process ends (see struct
 *   chela_allocator).
 *
 * Four facts are stated about every function. A fact that is not in the comment of a
 * function is in the list "Unless a function says otherwise" above the function. The page
 * docs/api.md, which is generated from the headers, shows the four facts together.
 *
 * - Ownership: who frees the arguments and the result. "Borrowed": the owner does not change.
 *   "Copied": the caller may change or free the argument after the call.
 * - Threads. "loop": only the loop thread may call the function. The loop thread is the
 *   thread that created the runtime or, in a host's loop, the thread that runs the loop.
 *   A call from another thread does nothing and returns CHELA_ESTATE, NULL or 0. *err, or the
 *   log if the function has no err, names the function.
 *   "any": every thread may call the function. "any, one at a time": every thread, but two
 *   threads must not use the same object at once.
 * - Callbacks. "yes": the function may be called from inside a callback. "no": the function
 *   refuses, as the comment states. A callback is a function of the program that the library
 *   calls on the loop thread: on_event, hooks, the functions of a tool, of a channel and of a
 *   mailbox, on_ready and on_wake. A function that the library calls while it works (log,
 *   env, load, the fn of a listing) is not a callback in this sense; its own comment states
 *   its limits.
 * - Errors: the codes that the function returns or, if the result is a pointer, sets in *err;
 *   the result is then NULL. "none": the function cannot fail. */
#ifndef CHELA_H
#define CHELA_H

#include "chela/acp.h"
#include "chela/channel.h"
#include "chela/choice.h"
#include "chela/config.h"
#include "chela/error.h"
#include "chela/eval.h"
#include "chela/event.h"
#include "chela/gateway.h"
#include "chela/heartbeat.h"
#include "chela/hooks.h"
#include "chela/json.h"
#include "chela/mailbox.h"
#include "chela/mcp.h"
#include "chela/mcp_server.h"
#include "chela/models.h"
#include "chela/pairing.h"
#include "chela/prompt.h"
#include "chela/sandbox.h"
#include "chela/schedule.h"
#include "chela/schema.h"
#include "chela/select.h"
#include "chela/session.h"
#include "chela/review.h"
#include "chela/survey.h"
#include "chela/store.h"
#include "chela/tool.h"
#include "chela/trace.h"
#include "chela/trust.h"
#include "chela/undo.h"
#include "chela/version.h"
#include "chela/telemetry.h"
#include "chela/why.h"
#include "chela/wire.h"

#endif
