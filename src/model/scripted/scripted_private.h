/* scripted_private.h -- shared declarations of the scripted model.
 *
 *     scripted_rules.c   parses a rule file to a struct ch_script
 *     scripted_talk.c    parses a request to a struct ch_talk, the input of rules
 *     scripted_match.c   selects the rule and expands {{templates}}
 *     scripted_reply.c   builds the bytes of a response from a rule
 *     scripted.c         the transport: sends the bytes in time
 *     scripted_demo.c    the embedded rule file */
#ifndef CH_MODEL_SCRIPTED_PRIVATE_H
#define CH_MODEL_SCRIPTED_PRIVATE_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "chela/error.h"
#include "net/transport.h"
#include "json/yaml.h"
#include "schema/schema_pattern.h"

/* --- rules --------------------------------------------------------------- */

enum ch_after {
    CH_AFTER_ANYTHING, /* no condition */
    CH_AFTER_NONE,     /* no tool has returned since the last user text */
    CH_AFTER_ANY,
    CH_AFTER_TOOLS /* each of `after_tools` is in the latest batch */
};

struct ch_script_names {
    const struct ch_sv *v;
    size_t n;
};

struct ch_scripted_when {                      /* all conditions that are set must hold */
    struct ch_pattern *user, *result, *system; /* NULL: anything */
    enum ch_after after;
    struct ch_script_names after_tools;
    struct ch_script_names tools; /* tools that the request must offer */
    int64_t turn, message;        /* 0: any */
    int is_error;                 /* -1: either */
};

struct ch_scripted_template {
    struct ch_sv text;
    struct ch_json_where where;
    bool json; /* the text is JSON: escape replacements */
};

struct ch_script_call {
    struct ch_sv tool, id; /* id empty: generated */
    struct ch_scripted_template args;
};

enum ch_fail_kind { CH_FAIL_NOT, CH_FAIL_STATUS, CH_FAIL_IN_STREAM, CH_FAIL_NETWORK };

struct ch_script_fail {
    int64_t status;
    struct ch_sv type, network;
    struct ch_scripted_template message;
    double retry_after; /* seconds; negative: not sent */
};

struct ch_rule {
    size_t number; /* number of the rule in the file, from 1 */
    struct ch_json_where where;
    struct ch_scripted_when when;
    struct ch_scripted_template say, think;
    const struct ch_script_call *calls;
    size_t ncalls;
    enum ch_fail_kind failing;
    struct ch_script_fail fail;
    struct ch_sv stop;              /* empty: derived from the content */
    int64_t cut_after, stall_after; /* after this number of pieces of content; -1: never */
    int64_t delay_ms, pace_ms;
    int64_t input, output, cache_read, cache_write; /* usage; -1: estimated */
    int64_t times;                                  /* maximum number of uses; 0: unlimited */
    int64_t used;
};

struct ch_script {
    struct ch_arena arena;
    const char *name; /* of the file */
    struct ch_rule *rules;
    size_t nrules;
    struct ch_patterns patterns;
};

extern const char ch_scripted_demo[], ch_scripted_demo_end[];

/* --- the conversation ---------------------------------------------------- */

struct ch_talk_result {
    const struct ch_talk_result *older;
    struct ch_sv tool, text;
    bool is_error;
};

struct ch_talk_call {
    struct ch_talk_call *older;
    struct ch_sv id, tool;
    bool answered;
};

struct ch_talk {               /* texts live in the arena passed to ch_talk_read */
    struct ch_sv user, system;
    struct ch_sv model;
    bool stream;
    int64_t message; /* user texts so far */
    int64_t turn;    /* model calls since the last user text, including this one */
    const struct ch_talk_result *newest;
    size_t batch;               /* number of newest results that answer the last reply */
    struct ch_talk_call *calls; /* newest first */
    size_t ncalls;
    const struct ch_json *tools; /* the request's, may be NULL */
    size_t bytes;                /* size of the request */
};

/* --- matching ------------------------------------------------------------ */

#define CH_SCRIPT_GROUPS CH_PATTERN_GROUPS /* groups of all patterns of a rule together */

struct ch_match {
    struct ch_rule *rule;
    const struct ch_talk_result *result; /* value of {{result}}; may be NULL */
    struct ch_sv groups[CH_SCRIPT_GROUPS];
    size_t ngroups;
};

/* --- the response -------------------------------------------------------- */

enum ch_script_end { CH_END_WHOLE, CH_END_CUT, CH_END_STALL };

struct ch_script_reply {
    int status; /* 0: no response, see error */
    struct chela_error error;
    bool stream; /* the body is an event stream */
    struct ch_buf body;
    size_t length;          /* bytes of the body to send */
    enum ch_script_end end; /* what happens after the reply */
    int64_t delay_ms, pace_ms;
    double retry_after; /* seconds; negative: no header */
};

#endif
