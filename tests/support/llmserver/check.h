/* check.h -- shared declarations of the checks of all protocols. */
#ifndef LLMSERVER_CHECK_H
#define LLMSERVER_CHECK_H
#include "server.h"

#define MAX_IDS 512

/* Ids of the calls that wait for a result, and of all calls so far. */
struct calls {
    const char *open[MAX_IDS], *seen[MAX_IDS];
    size_t nopen, nseen;
};

struct checker {
    struct problems *out;
    struct calls calls;
    int cache_marks;
};

/* Records a mistake that is answered with HTTP 400. */
void fatal(struct checker *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Records a mistake that is not answered with an error. */
void note(struct checker *c, const char *line);
/* Is word one of the space-separated words in list? */
bool one_of(const char *word, const char *list);
/* v is an object with no other members than the known ones, each once. */
void members(struct checker *c, const struct json *v, const char *where, const char *known);
bool name_ok(const char *name, size_t most);
bool blank(const char *s);

void call_made(struct checker *c, const char *where, const char *id);
void call_answered(struct checker *c, const char *where, const char *id);
void none_open(struct checker *c, const char *where);

void check_responses(struct checker *c, const struct request *rq); /* check_responses.c */
void check_interactions(struct checker *c, const struct request *rq); /* check_interactions.c */
void check_gemini(struct checker *c, const struct request *rq); /* check_gemini.c */

#endif
