/* journal.c -- names of records; see journal.h. */
#include "agent/journal/journal.h"

static const char *const names[] = {
    NULL,
#define RECORD_NAME(name, text) text,
    CH_RECORDS(RECORD_NAME)
#undef RECORD_NAME
};

const char *ch_record_name(uint32_t type) {
    return type > CH_REC_NONE && type < CH_REC_TYPES ? names[type] : "?";
}

uint32_t ch_record_type(struct ch_sv name) {
    for (uint32_t t = CH_REC_NONE + 1; t < CH_REC_TYPES; t++)
        if (ch_sv_is(name, names[t]))
            return t;
    return CH_REC_NONE;
}
