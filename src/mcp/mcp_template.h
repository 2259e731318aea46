/* mcp_template.h -- URI templates with the variables {name}, one segment, and {+name}, any rest.
 *
 * Pure functions. The time of a match grows with the product of the lengths, whatever the URI. */
#ifndef CH_MCP_TEMPLATE_H
#define CH_MCP_TEMPLATE_H
#include <stdbool.h>

#include "base/sv.h"

#define CH_MCP_VARIABLES 8 /* variables of one template */

struct ch_mcp_variables { /* borrowed from the template and the URI */
    struct ch_sv names[CH_MCP_VARIABLES], values[CH_MCP_VARIABLES];
    size_t n;
};

/* False: a brace is open, a name is not one of a-z A-Z 0-9 _ - . or two variables touch. */
bool ch_mcp_template_is_valid(struct ch_sv t);

/* Match a valid template. A variable has at least one byte, and as few as possible. */
bool ch_mcp_template_match(struct ch_sv t, struct ch_sv uri, struct ch_mcp_variables *out);

#endif
