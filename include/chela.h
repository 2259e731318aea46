/* chela.h -- an LLM agent inside your program.
 *
 *     chela_runtime *rt; chela_agent *agent; struct chela_error err = {0};
 *     chela_runtime_new(NULL, &rt, &err);
 *     struct chela_agent_opts opts = CHELA_AGENT_OPTS(.model = "anthropic/claude-sonnet-4-6");
 *     chela_agent_new(rt, &opts, &agent, &err);
 *     chela_agent_tool(agent, "add", "Add two integers.", SCHEMA, add, NULL);
 *     char *answer = chela_ask(agent, "what is 2 + 40?", &err);
 *
 * The parts: error.h, event.h, tool.h, session.h (runtime, agent, session,
 * run), channel.h, mailbox.h, heartbeat.h, hooks.h, config.h, gateway.h, sandbox.h,
 * models.h, prompt.h, schema.h, select.h, survey.h, trust.h, wire.h, json.h,
 * version.h.
 * Compiles as C11 and C++20. */
#ifndef CHELA_H
#define CHELA_H

#include "chela/channel.h"
#include "chela/config.h"
#include "chela/error.h"
#include "chela/event.h"
#include "chela/gateway.h"
#include "chela/heartbeat.h"
#include "chela/hooks.h"
#include "chela/json.h"
#include "chela/mailbox.h"
#include "chela/models.h"
#include "chela/pairing.h"
#include "chela/prompt.h"
#include "chela/sandbox.h"
#include "chela/schedule.h"
#include "chela/schema.h"
#include "chela/select.h"
#include "chela/session.h"
#include "chela/survey.h"
#include "chela/store.h"
#include "chela/tool.h"
#include "chela/trust.h"
#include "chela/version.h"
#include "chela/wire.h"

#endif
