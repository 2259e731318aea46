/* sim.h -- several gateways, their store and the world around them in one process.
 *
 * The gateways are the shipped objects: admission, lanes, journal, leases, outbox, the
 * writer's and the workers' threads. The simulator replaces what lies below them: clocks,
 * threads (machine.c), the store's calls (store.c), and the network: clients, a chat
 * service, a model (world.c). One seed decides everything: delays, the order in which
 * threads run, and faults (main.c). verdict.c compares the outcome with the guarantees of
 * docs/promises.md. See README.md. */
#ifndef SIM_SIM_H
#define SIM_SIM_H
#include "agent/handle/agent.h"
#include "base/clock.h"
#include "channel/channel.h"
#include "chela/gateway.h"
#include "net/transport.h"

#define SIM_NODES 3
#define SIM_SESSIONS 4
#define SIM_EVENTS 96
#define SIM_MS 1000 /* simulated time is in microseconds */
#define SIM_S (1000 * SIM_MS)
#define SIM_NEVER INT64_MAX

enum sim_backend { SIM_MEMORY, SIM_SQLITE, SIM_POSTGRES, SIM_REDIS, SIM_BACKENDS };
extern const char *const sim_backend_names[SIM_BACKENDS];

/* Faults of the store that a correct store does not have. Each must be found. */
enum sim_defect {
    SIM_SOUND,
    SIM_EARLY_ACK,   /* a commit is reported before it happens */
    SIM_KEPT_EVENT,  /* the record that takes an event up does not settle the event */
    SIM_NO_FENCE,    /* a process that lost the lease can still write */
    SIM_LATE_MAIL,   /* the record of such a process is refused, its outbox row is stored */
    SIM_UNORDERED,   /* the events of a session are returned in any order */
    SIM_DEFECTS
};
extern const char *const sim_defect_names[SIM_DEFECTS];

struct sim_fiber;

/* A machine with one gateway, which may crash and start again. */
struct sim_node {
    unsigned index;
    char name[12];
    unsigned life;  /* number of starts */
    bool up;        /* the process exists */
    bool shared_machine; /* its processes can be looked at from the other nodes */
    int64_t stopped;     /* SIGSTOP until then; 0: running */
    int64_t ends;        /* SIGTERM came; the process ends then; 0: none came */
    int64_t cut;         /* the store cannot be reached until then */
    int64_t mute;        /* the chat service cannot be reached until then */
    int64_t slow;        /* the store is slow until then */
    int64_t broken;      /* the disk refuses writes until then */
    int64_t skew;        /* of the wall clock, us */
    int64_t uptime;      /* of the machine at the beginning, us */
    struct sim_fiber *main;
    struct sim_call *calls, **calls_end; /* what arrived from the network */
    chela_runtime *rt;
    chela_gateway *gw;
    chela_store *store;
    struct ch_clock clock;
    struct ch_transport transport;
    struct chela_channel_host host;
    unsigned fenced, told; /* refused appends; log lines that say so */
};

enum sim_way { SIM_HOOK, SIM_API, SIM_CHAT, SIM_WAYS };

/* What a client asks, and what became of it. */
struct sim_event {
    unsigned number, session;
    enum sim_way way;
    char id[40];
    int64_t due;   /* when it is sent, or sent again */
    int64_t asked; /* first sent; -1: not yet */
    int64_t acked; /* the first 2xx; -1: none */
    bool refused;  /* answered with an error */
    bool probe;    /* sent after all faults */
    unsigned tries, starts; /* starts: of its tool */
};

struct sim {
    uint64_t seed, dice, noise; /* states of the generators */
    enum sim_backend backend;
    enum sim_defect defect;
    bool trace;
    int64_t now, active, limit; /* active: end of the faults */
    uint64_t steps;
    struct sim_node nodes[SIM_NODES];
    unsigned nnodes, nsessions, nevents;
    char sessions[SIM_SESSIONS][24];
    bool serial;       /* a client waits for an answer before it asks again */
    unsigned ack_dies, commit_dies; /* of 1000: the node is killed at this moment */
    unsigned call_stops;            /* of 1000: the node is stopped in a model call */
    struct sim_event events[SIM_EVENTS];
    unsigned crashes, stops, cuts, jumps, slows, takeovers, sends, replies;
    char verdict[512]; /* the first violation; "": none */
};
extern struct sim sim;

/* --- machine.c: time, chance, threads */
uint64_t sim_random(uint64_t below);
bool sim_chance(unsigned of_1000);
int64_t sim_between(int64_t low, int64_t high);
void sim_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A guarantee is broken: remembers the first. */
void sim_violation(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

struct sim_fiber *sim_spawn(struct sim_node *node, void *(*fn)(void *), void *arg);
struct sim_node *sim_here(void); /* the node of the running thread; NULL: none */
void sim_sleep(int64_t us);
/* The thread waits until sim_wake is called for the same thing, or until a time. */
bool sim_wait_for(const void *thing, int64_t until);
void sim_wake(const void *thing);
/* fn is called at a time, outside of all nodes. */
void sim_at(int64_t when, void (*fn)(void *arg), void *arg);
/* Runs until now is `until` or done() is true. */
void sim_run(int64_t until, bool (*done)(void));
/* The process ends now; does not return if the caller is one of its threads. */
void sim_kill(struct sim_node *node);
bool sim_runs(const struct sim_node *node); /* up and not stopped */
/* fn runs on the loop of the node, soon. */
void sim_call(struct sim_node *node, void (*fn)(struct sim_node *node, void *arg), void *arg);

/* --- store.c */
void sim_store_begin(void);
extern struct chela_store_db *sim_store_db; /* the stored state: a database of memory.c */

/* --- world.c: clients, chat service, model, tool */
void sim_world_plan(void);
void sim_world_start(struct sim_node *node); /* the node runs now */
void sim_world_probe(void);                  /* plans one more message for each session */
extern char sim_left[160];     /* what still waits */
bool sim_world_rests(void); /* all was asked and answered; nothing waits in the store */
struct sim_sent {            /* what the chat got */
    char key[80], text[160];
};
extern struct sim_sent sim_sent[4 * SIM_EVENTS];
extern size_t sim_nsent;
extern const struct ch_transport_ops sim_model;
extern const struct chela_channel_ops sim_channel;
int sim_tool(chela_call *call, void *user);

/* --- node.c */
void sim_node_start(struct sim_node *node);
void sim_node_end(struct sim_node *node); /* as after SIGTERM */

/* --- verdict.c */
void sim_judge(void);

#endif
