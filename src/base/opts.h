/* opts.h -- reading an option struct that a program passed to the library.
 *
 * A public option struct begins with `size`, set by its macro, so that a struct
 * can grow at its end: a program that was built for an older header passes a
 * shorter struct, and the missing members read as zero. A size below the one
 * that was published first means that the program did not use the macro; the
 * struct is refused, because its options would be lost. A struct that is longer
 * than the library's own is accepted while the additional bytes are zero.
 *
 * Every public struct with a `size` has a row in the table below. */
#ifndef CH_BASE_OPTS_H
#define CH_BASE_OPTS_H
#include <stddef.h>

#include "base/error.h"

/* The last member of each struct in version 0.1. Rows never change: members
 * that are added later are optional. */
#define CH_FIRST_chela_acp_opts CH_END_OF(chela_acp_opts, drop)
#define CH_FIRST_chela_agent_gateway_opts CH_END_OF(chela_agent_gateway_opts, gateway_tool)
#define CH_FIRST_chela_agent_opts CH_END_OF(chela_agent_opts, gateway)
#define CH_FIRST_chela_approval_opts CH_END_OF(chela_approval_opts, policies)
#define CH_FIRST_chela_budget CH_END_OF(chela_budget, tokens)
#define CH_FIRST_chela_channel CH_END_OF(chela_channel, parts)
#define CH_FIRST_chela_channel_opts CH_END_OF(chela_channel_opts, streaming)
#define CH_FIRST_chela_command_opts CH_END_OF(chela_command_opts, cwd)
#define CH_FIRST_chela_compaction_opts CH_END_OF(chela_compaction_opts, model)
#define CH_FIRST_chela_delegate_opts CH_END_OF(chela_delegate_opts, description)
#define CH_FIRST_chela_channel_env CH_END_OF(chela_channel_env, encrypt_key)
#define CH_FIRST_chela_config_opts CH_END_OF(chela_config_opts, strict)
#define CH_FIRST_chela_erase_opts CH_END_OF(chela_erase_opts, quick)
#define CH_FIRST_chela_eval_opts CH_END_OF(chela_eval_opts, user)
#define CH_FIRST_chela_gateway_hook CH_END_OF(chela_gateway_hook, session)
#define CH_FIRST_chela_gateway_mcp CH_END_OF(chela_gateway_mcp, scope)
#define CH_FIRST_chela_gateway_opts CH_END_OF(chela_gateway_opts, config_file)
#define CH_FIRST_chela_heartbeat_opts CH_END_OF(chela_heartbeat_opts, rules)
#define CH_FIRST_chela_hooks CH_END_OF(chela_hooks, approve)
#define CH_FIRST_chela_group CH_END_OF(chela_group, nsaid)
#define CH_FIRST_chela_inbound CH_END_OF(chela_inbound, answers_us)
#define CH_FIRST_chela_inbox_event CH_END_OF(chela_inbox_event, n)
#define CH_FIRST_chela_limits CH_END_OF(chela_limits, sum_up)
#define CH_FIRST_chela_loop_guard CH_END_OF(chela_loop_guard, unknown_tools)
#define CH_FIRST_chela_mcp_opts CH_END_OF(chela_mcp_opts, user)
#define CH_FIRST_chela_mcp_prompt_opts CH_END_OF(chela_mcp_prompt_opts, release)
#define CH_FIRST_chela_mcp_resource_opts CH_END_OF(chela_mcp_resource_opts, release)
#define CH_FIRST_chela_mcp_server_opts CH_END_OF(chela_mcp_server_opts, secret)
#define CH_FIRST_chela_mcp_tool_opts CH_END_OF(chela_mcp_tool_opts, release)
#define CH_FIRST_chela_outbound CH_END_OF(chela_outbound, approval)
#define CH_FIRST_chela_planning_opts CH_END_OF(chela_planning_opts, reflector)
#define CH_FIRST_chela_policy CH_END_OF(chela_policy, approve)
#define CH_FIRST_chela_price CH_END_OF(chela_price, cache_write)
#define CH_FIRST_chela_prompt_opts CH_END_OF(chela_prompt_opts, output_share)
#define CH_FIRST_chela_prompt_query CH_END_OF(chela_prompt_query, session)
#define CH_FIRST_chela_prompt_test_opts CH_END_OF(chela_prompt_test_opts, user)
#define CH_FIRST_chela_provider_opts CH_END_OF(chela_provider_opts, quirks)
#define CH_FIRST_chela_queue_opts CH_END_OF(chela_queue_opts, debounce_ms)
#define CH_FIRST_chela_request_opts CH_END_OF(chela_request_opts, max_retries)
#define CH_FIRST_chela_review_opts CH_END_OF(chela_review_opts, nhunks)
#define CH_FIRST_chela_run_opts CH_END_OF(chela_run_opts, urge)
#define CH_FIRST_chela_runtime_opts CH_END_OF(chela_runtime_opts, replay)
#define CH_FIRST_chela_sandbox_limits CH_END_OF(chela_sandbox_limits, tmp)
#define CH_FIRST_chela_sandbox_opts CH_END_OF(chela_sandbox_opts, helper)
#define CH_FIRST_chela_schedule CH_END_OF(chela_schedule, wake_file)
#define CH_FIRST_chela_schema_opts CH_END_OF(chela_schema_opts, assert_format)
#define CH_FIRST_chela_store_filter CH_END_OF(chela_store_filter, limit)
#define CH_FIRST_chela_store_opts CH_END_OF(chela_store_opts, read_only)
#define CH_FIRST_chela_team_opts CH_END_OF(chela_team_opts, max_children)
#define CH_FIRST_chela_telemetry_opts CH_END_OF(chela_telemetry_opts, content)
#define CH_FIRST_chela_tool_opts CH_END_OF(chela_tool_opts, resources)
#define CH_FIRST_chela_toolset_opts CH_END_OF(chela_toolset_opts, settings)
#define CH_FIRST_chela_why_opts CH_END_OF(chela_why_opts, user)
#define CH_FIRST_chela_willing_opts CH_END_OF(chela_willing_opts, share_high)
#define CH_FIRST_chela_willing_rules CH_END_OF(chela_willing_rules, seed)

#define CH_END_OF(type, member) \
    (offsetof(struct type, member) + sizeof(((struct type *)0)->member))

/* Copy *given to *out, a struct of this type; members that *given lacks become
 * zero, and out->size is the library's own. given NULL: all members are zero.
 * CHELA_EINVAL: the size is wrong, and *out is all zero. */
#define CH_OPTS_READ(type, out, given, err) \
    ch_opts_read((struct type *){out}, sizeof(struct type), (const struct type *){given}, \
                 CH_FIRST_##type, #type, err)
/* The same where given must not be NULL. */
#define CH_OPTS_NEED(type, out, given, err) \
    ch_opts_need((struct type *){out}, sizeof(struct type), (const struct type *){given}, \
                 CH_FIRST_##type, #type, err)
/* Copy *given over *out, which holds the values of members that *given lacks;
 * given NULL: *out stays. */
#define CH_OPTS_OVERLAY(type, out, given, err) \
    ch_opts_overlay((struct type *){out}, sizeof(struct type), (const struct type *){given}, \
                    CH_FIRST_##type, #type, err)
/* Copy *from, the library's own, to *to, whose size the program has set; to->size
 * stays. CHELA_EINVAL: that size is wrong, and nothing is written. */
#define CH_OPTS_WRITE(type, to, from, err) \
    ch_opts_write((struct type *){to}, (const struct type *){from}, sizeof(struct type), \
                  CH_FIRST_##type, #type, err)

int ch_opts_read(void *out, size_t size, const void *given, size_t first, const char *name,
                 struct chela_error *err);
int ch_opts_need(void *out, size_t size, const void *given, size_t first, const char *name,
                 struct chela_error *err);
int ch_opts_overlay(void *out, size_t size, const void *given, size_t first, const char *name,
                    struct chela_error *err);
int ch_opts_write(void *to, const void *from, size_t size, size_t first, const char *name,
                  struct chela_error *err);

#endif
