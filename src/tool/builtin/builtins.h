/* builtins.h -- the functions behind the table in tool/builtin/builtin.c. */
#ifndef CH_TOOL_BUILTIN_BUILTINS_H
#define CH_TOOL_BUILTIN_BUILTINS_H
#include "chela/tool.h"

struct ch_registry;

chela_tool_fn ch_read_run, ch_read_check;
chela_tool_fn ch_write_run, ch_write_check;
chela_tool_fn ch_edit_run, ch_edit_check;
chela_tool_fn ch_apply_patch_run, ch_apply_patch_check;
chela_tool_fn ch_ls_run;
chela_tool_fn ch_find_run, ch_find_check;
chela_tool_fn ch_grep_run, ch_grep_check;
chela_tool_fn ch_calculate_run, ch_calculate_check;
chela_tool_fn ch_todo_run, ch_todo_check;
chela_tool_fn ch_time_run, ch_time_check;
chela_tool_fn ch_ask_user_check;
chela_tool_fn ch_message_run, ch_message_check;

/* Those that reach outside; user is their struct ch_tool_settings. */
chela_tool_fn ch_query_database_run, ch_query_database_check;
chela_tool_fn ch_web_fetch_run, ch_web_fetch_check;
chela_tool_fn ch_web_search_run, ch_web_search_check;
chela_tool_fn ch_send_email_run, ch_send_email_check;
chela_tool_fn ch_memory_search_run, ch_memory_search_check;
chela_tool_fn ch_memory_write_run, ch_memory_write_check;

/* Those that run programs, and are more than a function. */
chela_tool_fn ch_exec_check, ch_process_check;
int ch_exec_add(struct ch_registry *r, const struct chela_tool_opts *opts, struct chela_error *err);
int ch_process_add(struct ch_registry *r, const struct chela_tool_opts *opts,
                   struct chela_error *err);
/* Hooks `resources`: what a call works on. */
typedef void ch_resources_fn(chela_call *call, void *user);
ch_resources_fn ch_file_shared, ch_file_alone, ch_tree_shared, ch_apply_patch_uses;
ch_resources_fn ch_message_uses;

#endif
