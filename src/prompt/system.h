/* system.h -- the system prompt, made of sections.
 *
 * A section is there if it applies: nothing about tools for an agent without
 * any, nothing about a channel without one. With instructions of the user's own
 * these take the place of what chela says about working, and what is a fact of
 * the session (skills, project files, channel, rules) follows them.
 *
 * The text holds nothing that changes from request to request, so that services
 * can cache it; what does rides at the end of a request (agent/context/context.c). */
#ifndef CH_PROMPT_SYSTEM_H
#define CH_PROMPT_SYSTEM_H
#include "prompt/project.h"
#include "prompt/skills.h"

enum ch_style { CH_STYLE_AUTO, CH_STYLE_FULL, CH_STYLE_MINIMAL };

/* word NULL: auto. CHELA_EINVAL: there is no such style. */
int ch_style_read(const char *word, enum ch_style *out, struct chela_error *err);

struct ch_system_opts { /* NULL and false: there is none of it */
    const char *given;     /* the user's own instructions */
    const char *added;     /* more of them, after all else but the rules */
    const char *workspace; /* absolute */
    const char *runtime;   /* what tools run on, in a few words; NULL */
    const struct ch_skills *skills;
    const struct ch_project *project;
    const char *channel;
    const char *docs;        /* where to read about what the agent works with */
    const char *reasoning;   /* off low medium high */
    const char *const *rules; /* NULL-terminated; the first few are told */
    bool tools;    /* any */
    bool changes;  /* some that write files or run programs */
    bool message;  /* `message` */
    bool memory;   /* `memory_search` */
    size_t budget; /* tokens; 0: no bound */
};

/* The whole text, never NULL; the caller frees it (ch_free). cut: what had to be
 * shortened, for people; may be NULL. */
char *ch_system_full(const struct ch_system_opts *o, struct ch_buf *cut);

/* For models that run nearby or have little room: what chela adds is at most
 * CH_LIMIT_MINIMAL_PROMPT characters. */
char *ch_system_minimal(const struct ch_system_opts *o);

#endif
