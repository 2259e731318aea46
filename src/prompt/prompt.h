/* prompt.h -- a prompt as a file: a head that describes it, and text with placeholders.
 *
 *     ---
 *     description: sends a request to the tool that can serve it
 *     changelog: first version
 *     variables:
 *       tools: what may be chosen
 *       request: what the user asked for
 *     untrusted: [request]
 *     schema: { type: object, required: [tool], properties: { tool: { type: string } } }
 *     ---
 *     You route requests. Tools: {tools}
 *     Answer with JSON: {{"tool": "..."}}
 *     === user ===
 *     {request}
 *
 * {name} is a placeholder, {{ and }} are braces. Any other brace is an error, reported with
 * its position when the file is read. There is no logic, no nesting and no way to read a
 * file. Values are inserted once and are not scanned, so a value that looks like a
 * placeholder is inserted unchanged.
 *
 * The text before the line "=== user ===" is the system prompt, the text after it the user's
 * message; without that line all text is the user's message. The head is optional. If the
 * file has a head, the head and the text are checked against each other: each variable has a
 * placeholder, each placeholder has a variable, and the text names every member that the
 * schema requires. */
#ifndef CH_PROMPT_PROMPT_H
#define CH_PROMPT_PROMPT_H
#include "base/arena.h"
#include "base/buf.h"
#include "chela/error.h"
#include "json/json.h"

struct ch_prompt_piece {
    struct ch_sv text; /* literal text, or the name of a placeholder */
    bool hole;
};

struct ch_prompt_variable {
    const char *name;
    const char *about; /* "" without a head */
    bool untrusted;    /* its values are always untrusted */
};

struct ch_prompt_head { /* zeroed: the file has none */
    bool there;
    const char *description; /* "" if not given; the same holds below */
    const char *title;       /* heading if included in another prompt */
    const char *changelog;
    const struct ch_json *schema;     /* schema of the answer; NULL: any text */
    const char *schema_text;          /* the schema as compact JSON; NULL: none */
    const char *const *headings;      /* required headings of a Markdown answer; NULL-terminated */
    const char *const *modules;       /* "NAME@VERSION", appended to the system prompt */
    struct ch_prompt_variable *variables;
    size_t nvariables;
};

struct ch_prompt { /* all texts are in the arena it was read into */
    const char *name, *version;
    const char *where;       /* file name or "router@1.1", for messages */
    const char *fingerprint; /* "router@1.1#0a1b2c3d4e5f": name, version, text */
    struct ch_prompt_head head;
    struct ch_prompt_variable *variables; /* every placeholder once */
    size_t nvariables;
    struct ch_prompt_piece *pieces;
    size_t n;
    size_t user; /* the first piece of the user's message */
    struct ch_sv body; /* the text below the head, unchanged */
};

/* where: NULL for "NAME@VERSION". CHELA_EPARSE: a misplaced brace, or a head that is not
 * YAML; CHELA_EINVAL: head and text do not agree. err is "WHERE:LINE:COLUMN: why". */
int ch_prompt_read(struct ch_arena *a, const char *name, const char *version, const char *where,
                   struct ch_sv text, struct ch_prompt *out, struct chela_error *err);

/* "NAME@VERSION#" and twelve hex digits of the digest of both texts. */
const char *ch_prompt_fingerprint(struct ch_arena *a, const char *name, const char *version,
                                  struct ch_sv text, struct ch_sv more);

bool ch_prompt_has(const struct ch_prompt *t, struct ch_sv hole);

/* Append the text of a module to the system prompt, under its title, and include it in the
 * fingerprint. The module must not have a user message. */
void ch_prompt_append(struct ch_arena *a, struct ch_prompt *t, const struct ch_prompt *module);

struct ch_prompt_value {
    const char *name;
    struct ch_sv text;          /* used if json is NULL */
    const struct ch_json *json; /* written as JSON, indented by two spaces per level */
    /* Text whose author may not give instructions: enclosed by two lines that the text
     * cannot forge. */
    bool untrusted;
    bool optional; /* no error if the prompt has no placeholder for it */
};

struct ch_prompt_text { /* zeroed: empty */
    struct ch_buf system, user;
};
void ch_prompt_text_release(struct ch_prompt_text *t);
#define CH_PROMPT_TEXT_AUTO __attribute__((cleanup(ch_prompt_text_release))) struct ch_prompt_text

/* CHELA_EINVAL: placeholders without a value, or values without a placeholder (a misspelt
 * name, or a removed placeholder); err names them. out is then unchanged. */
int ch_prompt_render(const struct ch_prompt *t, const struct ch_prompt_value *values, size_t n,
                     struct ch_prompt_text *out, struct chela_error *err);

/* Append one value as a placeholder is replaced. */
void ch_prompt_add_value(struct ch_buf *out, const struct ch_prompt_value *v);

#endif
