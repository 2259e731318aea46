/* parse.h -- the parser state shared by values.c (values) and parse.c
 * (structure). */
#ifndef CH_CONFIG_PARSE_H
#define CH_CONFIG_PARSE_H
#include "base/buf.h"
#include "config/conf.h"
#include "config/option.h"
#include "json/yaml.h"

struct ch_cfg_parser {
    chela_config *cfg;
    struct ch_yaml yaml;
    struct chela_config_opts opts;
    unsigned warnings, complaints;
    struct ch_buf path; /* current position: "agents.list[0].model" */
    struct chela_error first; /* the first complaint */
};

/* Report "FILE:LINE:COLUMN: PATH: text"; returns CHELA_ECONFIG. Parsing goes on with
 * the next option, and fails at the end. */
int ch_cfg_bad(struct ch_cfg_parser *p, const struct ch_json *v, const char *fmt, ...)
    CHELA_PRINTF(3, 4);
void ch_cfg_warn(struct ch_cfg_parser *p, const struct ch_json *v, const char *fmt, ...)
    CHELA_PRINTF(3, 4);
/* Remember the place of a value for chela_config_place. */
void ch_cfg_place(struct ch_cfg_parser *p, const struct ch_json *v, const char *value);
int ch_cfg_wrong_type(struct ch_cfg_parser *p, const struct ch_json *v, const char *expected);

/* Convert v, which is not null, as option o requires, and store it in *out. Not
 * for groups. */
int ch_cfg_value(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                 void *out);

/* Value readers outside of values.c. */
int ch_cfg_read_folder(struct ch_cfg_parser *p, const struct ch_json *v,
                       const struct ch_option *o, void *out);
/* Instructions: a text, or the name of a prompt with values. */
int ch_cfg_read_system(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                       void *out);
int ch_cfg_read_pins(struct ch_cfg_parser *p, const struct ch_json *v, const struct ch_option *o,
                     void *out);
int ch_cfg_read_rollout(struct ch_cfg_parser *p, const struct ch_json *v,
                        const struct ch_option *o, void *out);

#endif
