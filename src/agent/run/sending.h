/* sending.h -- how a model call goes out, and where its reply is made.
 *
 * A call goes over HTTP or over the run's WebSocket (model/provider/socket.h). Its reply is the
 * response, or a job of the service (vendor_job.h). The id of a job is in the journal before the
 * job is waited for. A run that ends cancels its job; a job that was only stored to be fetched is
 * deleted at the service once its reply is stored here. */
#ifndef CH_AGENT_SENDING_H
#define CH_AGENT_SENDING_H
#include "agent/handle/run.h"
#include "agent/run/vendor_job.h"
#include "model/codec/decoder.h"

struct ch_errand;
struct ch_socket;

/* A zeroed struct has sent nothing. ask, request and decoder are the caller's. */
struct ch_sending {
    void (*ask)(void *run); /* sends ch_vendor_job_request(job) by `via` */
    const struct ch_http_request *request; /* of the call */
    const struct ch_decoder *decoder;      /* of the reply; NULL: it has not begun */
    struct ch_transport *via;              /* that has the call */
    struct ch_vendor_job *job;             /* owned; NULL: the service replies at once */
    char *known_job, *known_model; /* owned: a job of an earlier process, and of which model; NULL:
                                      none */
    struct ch_errand *deletes; /* owned: deletes the last job at the service; NULL: none */
    uint64_t deletes_seq;      /* once this record is committed */
    struct ch_socket *socket;  /* owned: the run's connection to socket_of; NULL: none */
    const struct ch_target *socket_of;
    const char *socket_key;    /* the key that opened it, of socket_of */
    bool stored;  /* the job is in the journal */
    bool expired; /* a job of this run had expired */
};
void ch_sending_release(struct ch_sending *s);

/* A call to the run's target is prepared: forgets the last one; a known job of another model. */
void ch_sending_begin(struct ch_sending *s);
void ch_sending_aim(chela_run *run, struct ch_sending *s);
/* Key of the service's prompt cache; empty: nobody takes it. recorded: the journal
 * does. The key is derived from the agent and the first message, so it is the same in every turn,
 * on every machine and in a replay. */
struct ch_sv ch_sending_cache_key(const chela_run *run, bool recorded, struct ch_arena *parts);
/* The transport for the call, which becomes s->via. */
struct ch_transport *ch_sending_transport(chela_run *run, struct ch_sending *s);
/* The known job is asked for, instead of the request that would be another one. */
void ch_sending_recall(chela_run *run, struct ch_sending *s);

/* A part of the response was read. */
void ch_sending_heard(chela_run *run, struct ch_sending *s);
/* The response has ended. True: it goes on, and d continues the reply; or the run was closed.
 * stops: the run does not want more of it. */
bool ch_sending_resumes(chela_run *run, struct ch_sending *s, struct ch_decoder *d,
                        const struct chela_error *err, bool stops);
/* The reply has ended, and is wanted. True: the service still makes it. */
bool ch_sending_waits(chela_run *run, struct ch_sending *s, struct ch_decoder *d);

/* The reply is stored as record seq; 0: it is not stored. */
void ch_sending_kept(struct ch_sending *s, uint64_t seq);
void ch_sending_committed(struct ch_sending *s, uint64_t seq); /* records up to seq are committed */
/* The reply of the job is not kept. */
void ch_sending_forget_job(chela_run *run, struct ch_sending *s);
/* Words before the error of a job that the service does not know; may be "". */
const char *ch_sending_lost(const struct ch_sending *s, const struct ch_reply *r);

/* The run stops: the service is told to stop making its reply, if it does. for_good: no other
 * process will ask for the same reply; else nothing is done. */
void ch_sending_cancel_job(chela_run *run, struct ch_sending *s, bool for_good);
/* Closes the connection. */
void ch_sending_hang_up(struct ch_sending *s);

#endif
