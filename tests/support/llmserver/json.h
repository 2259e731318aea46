/* json.h -- a small strict JSON reader and a growing text, for the test server.
 *
 * This is intentionally not the product's own reader, so that a fault there is not repeated
 * here. Rejects what a vendor would reject: bad UTF-8, lone surrogates, trailing text,
 * nesting beyond a few hundred levels. */
#ifndef LLMSERVER_JSON_H
#define LLMSERVER_JSON_H
#include <stdbool.h>
#include <stddef.h>

enum json_type {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

struct json {
    enum json_type type;
    char *key;  /* name of a member; owned */
    char *text; /* a string decoded, a number as written; owned */
    size_t len; /* length of a string; number of elements of an array or object */
    struct json *first, *next;
};

/* The value, owned by the caller, or NULL with *why set to a static text. */
struct json *json_parse(const char *text, size_t len, const char **why);
void json_free(struct json *v);

/* NULL when v is NULL, no object, or has no such member. */
const struct json *json_get(const struct json *v, const char *key);
/* Text of a string member, else `otherwise`. */
const char *json_str(const struct json *v, const char *key, const char *otherwise);
long json_int(const struct json *v, const char *key, long otherwise);
bool json_is(const struct json *v, enum json_type type);
bool json_true(const struct json *v, const char *key);

struct text {
    char *p;
    size_t n, cap;
};
void text_add(struct text *t, const void *p, size_t n);
void text_addf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends s as the inside of a JSON string; bytes above 0x1f are not changed. */
void text_escape(struct text *t, const char *s, size_t n);
void text_quote(struct text *t, const char *s);
void text_free(struct text *t);

#endif
