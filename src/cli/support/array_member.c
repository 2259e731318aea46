/* array_member.c -- see array_member.h. */
#include "cli/support/array_member.h"

#include <stdio.h>
#include <string.h>

#include "chela/json.h"

char *ch_array_member(const char *json, size_t i, const char *name) {
    char pointer[64];
    snprintf(pointer, sizeof(pointer), "/%zu/%s", i, name);
    return chela_json_get(json, strlen(json), pointer, NULL);
}
