/* system.h -- builds the system prompt from sections.
 *
 * A section is included only if it applies: nothing about tools for an agent without tools,
 * nothing about a channel without one. The user's own instructions are a section after
 * chela's general instructions, or replace them; facts of the session (skills, project
 * files, channel, rules) follow.
 *
 * The text contains nothing that changes between requests, so that services can cache it;
 * changing data is added at the end of a request (agent/context/context.c). */
#ifndef CH_PROMPT_SYSTEM_H
#define CH_PROMPT_SYSTEM_H
#include "base/limits.h"
#include "prompt/project.h"
#include "prompt/skills.h"

struct ch_system_opts { /* NULL and false: absent */
    const char *given;     /* the user's own instructions */
    bool replaces;         /* `given` replaces chela's general instructions */
    const char *added;     /* additional instructions, before the rules only */
    const char *workspace; /* absolute */
    const char *runtime;   /* short description of the tools' platform; NULL: none */
    const struct ch_skills *skills;
    const struct ch_project *project;
    const char *channel;
    const char *docs;        /* location of documentation about the agent's tools */
    const char *reasoning;   /* off low medium high */
    const char *const *rules; /* NULL-terminated; the first few are used */
    const char *const *soft_rules; /* NULL-terminated: wishes, which give way to rules */
    bool tools;    /* the agent has tools */
    bool changes;  /* some tools write files or run programs */
    bool message;  /* has the tool `message` */
    bool memory;   /* has the tool `memory_search` */
    size_t budget; /* tokens; 0: no limit */
};

/* A part of the system prompt: where its text comes from. */
struct ch_section {
    const char *name;   /* "working", "AGENTS.md"; static, or borrowed from the options */
    const char *origin; /* "chela", "configuration: rules"; static */
    size_t at, size;    /* place in the text, in bytes */
    size_t of;          /* tokens before the text was shortened; 0: not shortened */
};

struct ch_sections {
    struct ch_section list[CH_LIMIT_SECTIONS];
    size_t n;
};

/* The whole text, never NULL; the caller frees it (ch_free). cut: list of shortened layers,
 * for messages; sections: becomes the parts of the text in order. Both may be NULL. */
char *ch_system_full(const struct ch_system_opts *o, struct ch_buf *cut,
                     struct ch_sections *sections);

/* Appends the text that also applies to roles that work for an agent (planner, router,
 * judge): instructions (NULL: none), rules, safety and the trusted project file AGENTS.md.
 * The text is never cut. */
void ch_system_constraints(const struct ch_system_opts *o, struct ch_buf *out);

/* For local models and small contexts: chela adds at most CH_LIMIT_MINIMAL_PROMPT
 * characters. sections: as above. */
char *ch_system_minimal(const struct ch_system_opts *o, struct ch_sections *sections);

#endif
