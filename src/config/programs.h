/* programs.h -- the programs of a project that a configuration file of the project names.
 *
 * A person who trusts the file agrees to the content of these programs too (tool/process/pinned.h):
 * those in the directory of the file or in an agent's workspace that a custom tool or an MCP server
 * runs. They are read once, when the decision is checked or shown; what was checked is what the
 * tools compare before they run. One thread at a time. */
#ifndef CH_CONFIG_PROGRAMS_H
#define CH_CONFIG_PROGRAMS_H
#include "config/conf.h"
#include "tool/process/pinned.h"

/* The program of a tool's check and its arguments, in the arena of cfg; NULL: the check is none. */
const char *const *ch_conf_check_argv(const chela_config *cfg, const struct ch_conf_tool *tool);

/* Called once for a new configuration. */
void ch_conf_programs_init(chela_config *cfg);

/* Receives a program file: the option that names it, its path, relative if it is in the directory
 * of the file, and its digest. */
typedef void ch_conf_program_fn(const char *key, const char *file,
                                const unsigned char digest[CH_SHA256_SIZE], void *user);
void ch_conf_programs(const chela_config *cfg, ch_conf_program_fn *fn, void *user);

/* The user trusts the file with these programs: from now on the next functions return them. */
void ch_conf_programs_agree(const chela_config *cfg);
/* The user trusted other options: until the user agrees, no program runs. */
void ch_conf_programs_refuse(const chela_config *cfg);
/* The user trusted other programs with these options: until the user agrees, each call of a custom
 * tool needs consent, and no MCP server's program runs. */
void ch_conf_programs_doubt(const chela_config *cfg);
bool ch_conf_tools_are_doubted(const chela_config *cfg);
/* The list of tools and servers is that of another file now: any content will do. */
void ch_conf_programs_forget(chela_config *cfg);
bool ch_conf_programs_agreed(const chela_config *cfg);
/* Of item i; NULL: any content will do. In the arena of cfg. */
const struct ch_pins *ch_conf_tool_pins(const chela_config *cfg, size_t i);
const struct ch_pins *ch_conf_check_pins(const chela_config *cfg, size_t i);
const struct ch_pins *ch_conf_hook_pins(const chela_config *cfg, size_t event, size_t i);
const struct ch_pins *ch_conf_server_pins(const chela_config *cfg, size_t i);

#endif
