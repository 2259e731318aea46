/* settings.h -- operator settings of the tools that reach outside.
 *
 * Databases, mail server, search service and the limits of fetching are part of an agent's
 * definition. A model can name a database, but cannot give its address. The host passes the
 * settings as a list of "key=value" (chela_toolset_opts.settings); this file parses them
 * into fields. A tool whose settings are missing is not offered.
 *
 * Settings are immutable and reference counted: tools that run on threads may outlive their
 * agent. */
#ifndef CH_TOOL_SETTINGS_H
#define CH_TOOL_SETTINGS_H
#include <stdatomic.h>
#include <stdbool.h>

#include "base/buf.h"
#include "egress/labels.h"
#include "net/transport.h"

struct ch_egress;
struct ch_embedder;
struct ch_note_index;
struct ch_recall;
struct ch_secret_refs;

struct ch_database_setting {
    char *name;
    char *kind;   /* the module: "sqlite", "postgres" */
    char *target; /* connection text for the module; NULL if a required variable is not set */
    char *unset;  /* name of the unset variable, or NULL */
};

struct ch_tool_settings {
    atomic_uint refs;
    struct ch_transport *transport; /* borrowed from the runtime; NULL: no web */
    char *module_path, *ca_file;    /* owned; may be NULL */

    struct ch_database_setting *databases; /* owned */
    size_t ndatabases;

    /* comma-separated patterns of egress.h; NULL: none */
    char *egress_allow, *egress_deny, *egress_ask;
    struct ch_egress *egress; /* owned: the three lists */

    char *flow_rule, *flow_trust, *flow_private;
    struct ch_flow_rules flow; /* of these three */

    struct ch_secret_refs *secrets; /* owned; NULL: none */

    /* web_fetch: comma-separated host patterns, see struct ch_fetch_rules */
    char *allow_hosts; /* NULL: every host; "": none */
    char *deny_hosts;
    bool allow_private; /* permit addresses outside of the public Internet */

    /* web_search; not offered without a provider */
    char *search_provider, *search_url;
    char *search_key_env, *search_key; /* name of an environment variable, and its value */

    /* send_email; not offered without server and sender */
    char *smtp; /* "smtps://host:465", "smtp://host:587" */
    char *mail_from, *mail_user;
    char *mail_password_env, *mail_password;
    char *mail_allow_to; /* address patterns; NULL: any recipient */
    bool mail_no_tls;

    bool wait; /* wait_until is offered only if set */

    /* memory_search and memory_write; offered only if set */
    bool memory;
    char *memory_sessions;    /* which past conversations are searched: own (NULL), all, none */
    /* token budget for memories added to a run without a search call; 0: none */
    int64_t memory_inject;
    const struct ch_recall *recall; /* borrowed from the runtime; NULL: no past conversations */
    struct ch_embedder *embedder;   /* borrowed from the agent, loop thread only; NULL: none */
    struct ch_note_index *notes;    /* owned; made by the first search, on the loop thread */
    void (*notes_free)(struct ch_note_index *);
};

struct ch_settings_opts {
    const char *const *list; /* "key=value", NULL-terminated; may be NULL */
    const char *(*env)(const char *name, void *user); /* looks up environment variables */
    void *user;
    struct ch_transport *transport;
    const char *module_path, *ca_file;
    const struct ch_recall *recall;
    struct ch_embedder *embedder;
};

/* CHELA_EINVAL: err names the key: unknown (with the nearest known one), given twice, or
 * with an invalid value. Secrets are registered for redaction. A variable that is not set
 * is no error here; the tool reports it. */
int ch_settings_new(const struct ch_settings_opts *opts, struct ch_tool_settings **out,
                    struct chela_error *err);
struct ch_tool_settings *ch_settings_ref(struct ch_tool_settings *s);
void ch_settings_unref(struct ch_tool_settings *s); /* any thread; NULL is a no-op */

const struct ch_database_setting *ch_settings_database(const struct ch_tool_settings *s,
                                                       struct ch_sv name);

#endif
