/* settings.h -- what the operator told the tools that reach outside.
 *
 * Databases, mail server, search service and the bounds of fetching belong to
 * an agent's definition; a model can name a database, never say where it is.
 * The host gives them as a list of "key=value" (chela_toolset_opts.settings);
 * here they become fields. A tool whose settings are missing is not offered.
 *
 * Settings are fixed once made, and reference counted: tools that run on
 * threads may outlive their agent. */
#ifndef CH_TOOL_SETTINGS_H
#define CH_TOOL_SETTINGS_H
#include <stdatomic.h>
#include <stdbool.h>

#include "base/buf.h"
#include "net/transport.h"

struct ch_embedder;
struct ch_recall;

struct ch_database_setting {
    char *name;
    char *kind;   /* the module: "sqlite", "postgres" */
    char *target; /* what it is given; NULL if a variable it needs is not set */
    char *unset;  /* that variable's name, or NULL */
};

struct ch_tool_settings {
    atomic_uint refs;
    struct ch_transport *transport; /* borrowed from the runtime; NULL: no web */
    char *module_path, *ca_file;    /* owned; may be NULL */

    struct ch_database_setting *databases; /* owned */
    size_t ndatabases;

    /* of web_fetch: host patterns with commas between them, see ch_web_host */
    char *allow_hosts; /* NULL: every host; "": none */
    char *deny_hosts;
    bool allow_private; /* also addresses that are not of the public Internet */

    /* of web_search; no provider: not offered */
    char *search_provider, *search_url;
    char *search_key_env, *search_key; /* the name of a variable, its value */

    /* of send_email; no server or sender: not offered */
    char *smtp; /* "smtps://host:465", "smtp://host:587" */
    char *mail_from, *mail_user;
    char *mail_password_env, *mail_password;
    char *mail_allow_to; /* address patterns; NULL: everybody */
    bool mail_no_tls;

    /* of memory_search and memory_write; not set: not offered */
    bool memory;
    char *memory_sessions;    /* which past conversations: own (NULL), all, none */
    int64_t memory_inject;    /* tokens of what is found that a run is told unasked; 0: none */
    const struct ch_recall *recall; /* borrowed from the runtime; NULL: nobody keeps them */
    struct ch_embedder *embedder;   /* borrowed from the agent, for the loop; NULL: none */
};

struct ch_settings_opts {
    const char *const *list; /* "key=value", NULL-terminated; may be NULL */
    const char *(*env)(const char *name, void *user); /* for names of variables */
    void *user;
    struct ch_transport *transport;
    const char *module_path, *ca_file;
    const struct ch_recall *recall;
    struct ch_embedder *embedder;
};

/* CHELA_EINVAL names the key: unknown (with the nearest known one), given
 * twice, or with a value that cannot be. Secrets are registered for redaction;
 * a variable that is not set is the tool's to report. */
int ch_settings_new(const struct ch_settings_opts *opts, struct ch_tool_settings **out,
                    struct chela_error *err);
struct ch_tool_settings *ch_settings_ref(struct ch_tool_settings *s);
void ch_settings_unref(struct ch_tool_settings *s); /* any thread; NULL is a no-op */

const struct ch_database_setting *ch_settings_database(const struct ch_tool_settings *s,
                                                       struct ch_sv name);

#endif
