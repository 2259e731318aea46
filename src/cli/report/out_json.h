/* out_json.h -- see out_json.c. */
#ifndef CH_CLI_OUT_JSON_H
#define CH_CLI_OUT_JSON_H
#include "cli/report/out.h"

/* Print a one-line JSON text, or an event as one, on stdout. */
void ch_json_line(struct ch_console *c, const char *json);

void ch_json_event(struct ch_console *c, const struct chela_event *ev);
/* The same for a run whose session is stored under this key; NULL: it is not stored. */
void ch_json_end(struct ch_console *c, const struct chela_event *end, const char *session);

/* Print a JSON text with line breaks and indentation, otherwise unchanged. */
void ch_json_pretty(FILE *out, const char *json, size_t n);

#endif
