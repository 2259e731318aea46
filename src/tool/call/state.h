/* state.h -- state that tools keep between the calls of one session.
 *
 * Each kind of state is a separate value, created on first use and freed with the session.
 * Loop thread only: a tool that keeps state must be CHELA_TOOL_ON_LOOP. A zeroed struct is
 * empty. */
#ifndef CH_TOOL_STATE_H
#define CH_TOOL_STATE_H

struct ch_state_kind {
    void *(*make)(void);
    void (*free)(void *value);
};

struct ch_session_state {
    struct ch_state_slot *slots; /* owned list */
};

/* The session's value of this kind, created if missing. kind is a static object; its
 * address is the key. */
void *ch_session_state_get(struct ch_session_state *s, const struct ch_state_kind *kind);
/* The same without creating it. NULL: missing. */
void *ch_session_state_find(const struct ch_session_state *s, const struct ch_state_kind *kind);
void ch_session_state_release(struct ch_session_state *s);

#endif
