/* The thread that calls MPI: it alone initialises it, completes the collectives that another thread
 * asks for, one at a time, lets sums go on meanwhile (cluster_sums.c), and exchanges messages. The
 * other thread starts a collective itself if MPI allows that (cluster_collectives.c): `calls` is
 * locked by the one that calls MPI at this moment.
 *
 * A message is a byte that says what it is. Rank 0 and each other rank tell each other that they
 * live, and what they have computed; so rank 0 notices every silent rank, and everybody a silent
 * rank 0. The seconds of silence are counted in steps of the thread: while this process is stopped
 * itself, they do not grow. A rank that fails sends the error to all others. Before it leaves, a
 * rank says goodbye to rank 0, and waits for its answer; rank 0 answers when all have said it. So
 * no message is under way when MPI is finalised, and all begin with that at the same time: if it
 * takes long, MPI is stuck (cluster_leave).
 *
 * A rank also tells the others that its training thread hangs (cluster_watch.c). That thread cannot
 * end its process, so the other ranks end it. If they do not, this one does.
 *
 * With cluster_tolerate_losses, rank 0 records a rank that fails or falls silent as lost, and talks
 * to it no more; MPI is then not finalised, since that would wait for this rank.
 *
 * After a failure the thread calls MPI no more: MPI would write into arrays of the collective that
 * was under way, whose owners may be about to free them. */
#include "engine/cluster/internal.h"

#include "base/clock.h"
#include "base/threads/condition.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { BEAT = 'b', FAILURE = 'f', GOODBYE = 'g' };

static const double beat_interval = 1, longest_step = 0.5; /* seconds */
static const double telling_time = 1;                      /* seconds to send a failure */

/* The failure of a rank as it is sent. */
struct failure_message {
    char kind;
    bool hangs; /* it cannot report the failure itself */
    int error_kind;
    char what[256], why[512], advice[256];
};

/* A sign of life: what the rank has done, and for how many seconds it has waited for others. */
struct beat_message {
    char kind;
    struct cluster_work work;
    double waiting;
};

struct state {
    struct cluster *cluster;
    uint64_t last; /* nanoseconds: the last time that messages were received */
    double beat;   /* seconds since the last sign of life */
    size_t rounds; /* tests of the present step of a sum; 0 without sums */
    bool farewell; /* it has said goodbye to somebody, and sends nothing else */
};

/* --- failures --- */

static void set_failure(struct cluster *cluster, const struct error *error, bool remote)
{
    pthread_mutex_lock(&cluster->lock);
    if (!cluster->failed && !cluster->failing)
        cluster->failure = *error;
    cluster->failed = true;
    cluster->remote = remote && !cluster->failing;
    cluster->begun = true;
    cluster->asked.request = CLUSTER_NOTHING;
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->lock);
}

static const char *rank_name(const struct cluster *cluster, size_t rank, char *text, size_t size)
{
    const char *host = cluster->hosts ? cluster->hosts[rank] : "";
    snprintf(text, size, host[0] ? "rank %zu on %s" : "rank %zu", rank, host);
    return text;
}

/* Records a rank as lost. Returns false if the job cannot go on without it. */
static bool lose(struct cluster *cluster, size_t rank)
{
    pthread_mutex_lock(&cluster->lock);
    const bool tolerant = cluster->tolerant && rank > 0;
    if (tolerant && cluster->place.rank == 0 && !cluster->peers[rank].lost) {
        cluster->peers[rank].lost = true;
        cluster->lost++;
        pthread_cond_broadcast(&cluster->changed);
    }
    pthread_mutex_unlock(&cluster->lock);
    return tolerant;
}

static void fail_silent(struct cluster *cluster, size_t rank)
{
    struct error error;
    char name[CLUSTER_HOST + 32];
    error_set(&error, ERROR_SYSTEM, rank_name(cluster, rank, name, sizeof name),
              "look at this host; tinca resume goes on from the last checkpoint",
              "it has not answered for %d seconds: it was stopped, or the network is down",
              CLUSTER_SILENCE);
    set_failure(cluster, &error, false);
}

static void take_failure(struct cluster *cluster, size_t rank, const struct failure_message *told)
{
    struct error error;
    char name[CLUSTER_HOST + 32];
    error_set(&error, (enum error_kind)told->error_kind,
              rank_name(cluster, rank, name, sizeof name), NULL, "%.255s%s%.511s", told->what,
              told->what[0] ? ": " : "", told->why);
    snprintf(error.advice, sizeof error.advice, "%.255s", told->advice);
    /* rank 0 reports failures; rank 1 reports that rank 0 hangs */
    set_failure(cluster, &error, !(told->hangs && rank == 0 && cluster->place.rank == 1));
}

/* Sends this rank's failure to all others, for at most `telling_time`. */
static void tell_failure(struct cluster *cluster)
{
    struct failure_message message = {.kind = FAILURE, .hangs = cluster->watch.hangs};
    const size_t ranks = cluster->place.ranks;
    const uint64_t began = clock_nanoseconds();
    size_t told = 0;
    pthread_mutex_lock(&cluster->lock);
    const struct error error = cluster->failure;
    pthread_mutex_unlock(&cluster->lock);
    message.error_kind = (int)error.kind;
    memcpy(message.what, error.what, sizeof message.what);
    memcpy(message.why, error.why, sizeof message.why);
    memcpy(message.advice, error.advice, sizeof message.advice);
    while (told < ranks && clock_seconds(began, clock_nanoseconds()) < telling_time)
        if (told == cluster->place.rank || cluster->peers[told].lost ||
            cluster->module->send(told, &message, sizeof message))
            told++;
    /* MPI needs calls to make progress; then the others can leave */
    for (size_t tries = 0; tries < 200; tries++) {
        char unused[CLUSTER_MESSAGE];
        size_t rank;
        cluster->module->receive(&rank, unused, sizeof unused);
        clock_sleep(0.001);
    }
}

/* --- messages --- */

/* Returns whether this rank and another tell each other that they live. */
static bool talks_to(const struct cluster *cluster, size_t rank)
{
    return rank != cluster->place.rank && !cluster->peers[rank].lost &&
           (rank == 0 || cluster->place.rank == 0);
}

static void send_beats(struct cluster *cluster)
{
    struct beat_message beat = {.kind = BEAT, .waiting = cluster->watch.waiting};
    cluster_work(cluster, cluster->place.rank, &beat.work);
    for (size_t r = 0; r < cluster->place.ranks; r++)
        if (talks_to(cluster, r))
            cluster->module->send(r, &beat, sizeof beat);
}

static void take_work(struct cluster *cluster, size_t rank, const struct cluster_work *work)
{
    pthread_mutex_lock(&cluster->lock);
    cluster->peers[rank].work = *work;
    pthread_mutex_unlock(&cluster->lock);
}

static void receive_messages(struct cluster *cluster)
{
    union {
        char kind;
        struct failure_message failure;
        struct beat_message beat;
        char bytes[CLUSTER_MESSAGE];
    } message;
    struct error error;
    size_t rank, bytes;
    while (!cluster->failed &&
           (bytes = cluster->module->receive(&rank, &message, sizeof message)) > 0) {
        cluster->peers[rank].silent = 0;
        cluster->peers[rank].left |= message.kind == GOODBYE;
        if (message.kind == FAILURE && bytes == sizeof message.failure) {
            if (!lose(cluster, rank))
                take_failure(cluster, rank, &message.failure);
        } else if (message.kind == BEAT && bytes == sizeof message.beat) {
            take_work(cluster, rank, &message.beat.work);
            cluster->peers[rank].waiting = message.beat.waiting;
        } else if (message.kind == CLUSTER_IS_PAYLOAD &&
                   !cluster_messages_receive(cluster, rank, message.bytes, bytes, &error)) {
            set_failure(cluster, &error, false);
        }
    }
}

/* Fails if this rank hangs, or all wait for each other. */
static void watch(struct cluster *cluster, double seconds)
{
    struct error error;
    switch (cluster_watch_step(cluster, seconds, &error)) {
    case CLUSTER_HANGS:
        pthread_mutex_lock(&cluster->lock);
        if (!cluster->failed && !cluster->failing) {
            cluster->failure = error;
            cluster->failing = cluster->watch.hangs = true;
        }
        pthread_mutex_unlock(&cluster->lock);
        break;
    case CLUSTER_STANDS_STILL:
        set_failure(cluster, &error, false);
        break;
    default:
        break;
    }
}

/* Receives messages, sends signs of life, and notices silence and hangs. The caller holds `calls`.
 */
static void attend(struct state *state)
{
    struct cluster *cluster = state->cluster;
    const uint64_t now = clock_nanoseconds();
    const double passed = clock_seconds(state->last, now);
    const double step = passed < longest_step ? passed : longest_step;
    state->last = now;
    state->beat += step;
    receive_messages(cluster);
    if (cluster->failed)
        return;
    cluster_messages_send(cluster);
    if (state->beat >= beat_interval && !state->farewell) {
        send_beats(cluster);
        state->beat = 0;
    }
    for (size_t r = 0; r < cluster->place.ranks; r++)
        if (talks_to(cluster, r) && !cluster->peers[r].left &&
            (cluster->peers[r].silent += step) > CLUSTER_SILENCE && !lose(cluster, r)) {
            fail_silent(cluster, r);
            return;
        }
    watch(cluster, step);
}

/* --- collectives --- */

bool cluster_collective_start(struct cluster *cluster, const struct cluster_collective *what,
                              char *reason)
{
    const struct cluster_module *module = cluster->module;
    switch (what->request) {
    case CLUSTER_GATHER:
        return module->gather(what->from, what->count, what->to, reason);
    case CLUSTER_BROADCAST:
        return module->broadcast(what->to, what->count, reason);
    default:
        return module->barrier(reason);
    }
}

void cluster_collective_fail(struct cluster *cluster, const char *reason)
{
    struct error error;
    error_set(&error, ERROR_SYSTEM, "MPI",
              "look at the network; tinca resume goes on from the last checkpoint",
              "a rank or the network has failed (%s)", reason);
    set_failure(cluster, &error, false);
}

static bool is_failing(struct cluster *cluster)
{
    pthread_mutex_lock(&cluster->lock);
    const bool failing = cluster->failing;
    pthread_mutex_unlock(&cluster->lock);
    return failing;
}

/* Waits between two tests: only for a moment at first, since most collectives are short, and then
 * longer and longer. */
static void rest(size_t tests)
{
    const struct timespec little = {0, tests < 2000 ? 20000 : 1000000};
    if (tests < 200)
        sched_yield();
    else
        nanosleep(&little, NULL);
}

/* Makes a window. If MPI refuses it, nothing fails: the ranks work without it (cluster_windows.c).
 */
static void make_window(const struct cluster *cluster)
{
    const struct cluster_collective *what = &cluster->asked;
    char *reason = what->to;
    const size_t number = what->number;
    void **segments = cluster->sharing.windows[number].segments;
    if (cluster->module->share(number, what->count, segments, reason))
        reason[0] = '\0';
}

/* Runs the collective that was asked for until it is complete, or something fails. */
static void collective(struct state *state)
{
    struct cluster *cluster = state->cluster;
    char reason[CLUSTER_REASON] = "";
    bool complete = cluster->asked.request == CLUSTER_SHARE, good = true;
    if (complete)
        make_window(cluster);
    else
        good = cluster->asked.started || cluster_collective_start(cluster, &cluster->asked, reason);
    for (size_t tests = 0; good && !complete && !cluster->failed; tests++) {
        good = cluster->module->test(&complete, reason);
        if (!good || complete)
            break;
        good = cluster_sums_advance(cluster, reason);
        rest(tests);
        if (tests % 64 == 63 || tests > 2000)
            attend(state);
        if (is_failing(cluster))
            return;
    }
    if (!good)
        cluster_collective_fail(cluster, reason);
    pthread_mutex_lock(&cluster->lock);
    cluster->asked.request = CLUSTER_NOTHING;
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->lock);
}

/* Lets the sums go on, if there are any. */
static void advance_sums(struct state *state)
{
    struct cluster *cluster = state->cluster;
    const size_t steps = cluster->sums.steps;
    char reason[CLUSTER_REASON] = "";
    if (!cluster_sums_advance(cluster, reason))
        cluster_collective_fail(cluster, reason);
    pthread_mutex_lock(&cluster->lock);
    const bool waits = cluster->sums.first && cluster->sums.steps == steps;
    pthread_mutex_unlock(&cluster->lock);
    state->rounds = waits ? state->rounds + 1 : 0;
}

/* --- the thread --- */

static bool begin(struct cluster *cluster)
{
    char reason[CLUSTER_REASON] = "";
    const bool good = cluster->module->begin(&cluster->place, reason);
    struct error error;
    if (!good) {
        error_set(&error, ERROR_SYSTEM, "MPI", "try a program of the MPI library's own first",
                  "it cannot be initialised (%s)", reason);
        set_failure(cluster, &error, false);
    }
    return good;
}

/* Returns for how many nanoseconds to wait for a request. Sums are tested without a pause while
 * another thread waits for them, and now and then while the other threads compute. The caller holds
 * the lock. */
static long patience(const struct state *state)
{
    const struct cluster_sums *sums = &state->cluster->sums;
    if (!sums->first)
        return state->cluster->outgoing.first ? 1000000 : 20000000;
    if (state->rounds == 0 || (sums->awaited && state->rounds < 200))
        return 0;
    return state->rounds < 2000 ? 50000 : 500000;
}

/* Waits for a request, but not for long. Returns whether there is one. */
static bool await_request(const struct state *state)
{
    struct cluster *cluster = state->cluster;
    struct timespec due;
    condition_now(&due);
    pthread_mutex_lock(&cluster->lock);
    const long wait = patience(state);
    due.tv_nsec += wait;
    due.tv_sec += due.tv_nsec / 1000000000;
    due.tv_nsec %= 1000000000;
    if (wait && cluster->asked.request == CLUSTER_NOTHING && !cluster->leaving && !cluster->failing)
        pthread_cond_timedwait(&cluster->changed, &cluster->lock, &due);
    const bool there = cluster->asked.request != CLUSTER_NOTHING && !cluster->failing;
    pthread_mutex_unlock(&cluster->lock);
    if (!wait)
        sched_yield();
    return there;
}

static bool is_leaving(struct cluster *cluster)
{
    pthread_mutex_lock(&cluster->lock);
    const bool leaving = cluster->leaving;
    pthread_mutex_unlock(&cluster->lock);
    return leaving;
}

static bool all_left(const struct cluster *cluster)
{
    for (size_t r = 0; r < cluster->place.ranks; r++)
        if (talks_to(cluster, r) && !cluster->peers[r].left)
            return false;
    return true;
}

static void attend_soon(struct state *state)
{
    attend(state);
    clock_sleep(0.001);
}

/* Says goodbye to all that this rank talks to, as soon as an earlier message has left. */
static void say_goodbye(struct state *state)
{
    struct cluster *cluster = state->cluster;
    const struct beat_message goodbye = {.kind = GOODBYE};
    state->farewell = true;
    for (size_t r = 0; r < cluster->place.ranks; r++)
        while (!cluster->failed && talks_to(cluster, r) &&
               !cluster->module->send(r, &goodbye, sizeof goodbye))
            attend_soon(state);
}

/* Lets cluster_leave know that no rank has anything left to do. */
static void set_ending(struct cluster *cluster)
{
    pthread_mutex_lock(&cluster->lock);
    cluster->ending = true;
    pthread_mutex_unlock(&cluster->lock);
}

/* Sends the last messages, says goodbye, waits for those of others, and finalises MPI. */
static void leave(struct state *state)
{
    struct cluster *cluster = state->cluster;
    while (!cluster->failed && cluster_messages_wait(cluster))
        attend_soon(state);
    if (cluster->place.rank > 0)
        say_goodbye(state);
    while (!cluster->failed && !all_left(cluster))
        attend_soon(state);
    set_ending(cluster);
    if (cluster->place.rank == 0)
        say_goodbye(state);
    if (!cluster->failed && cluster->lost == 0)
        cluster->module->end();
}

/* Ends all processes if this one still hangs after the others have had time to do that. */
static void end_hung(struct cluster *cluster)
{
    const double limit = CLUSTER_SILENCE + CLUSTER_SILENCE / 2, pause = 0.1;
    for (double seconds = 0; seconds < limit; seconds += pause) {
        if (is_leaving(cluster))
            return;
        clock_sleep(pause);
    }
    cluster->module->end_all(1);
}

/* Does one round of the work that is due: the requested collective, steps of sums, messages.
 * Returns whether the thread goes on. The caller holds `calls`. */
static bool run_once(struct state *state, bool asked)
{
    struct cluster *cluster = state->cluster;
    if (asked)
        collective(state);
    advance_sums(state);
    if (is_failing(cluster)) {
        tell_failure(cluster);
        set_failure(cluster, &cluster->failure, false);
    } else if (is_leaving(cluster)) {
        if (cluster->peers)
            leave(state);
        else {
            set_ending(cluster);
            cluster->module->end();
        }
        return false;
    } else if (state->rounds % 64 == 0)
        attend(state);
    return !cluster->failed;
}

static void run(struct cluster *cluster)
{
    struct state state = {.cluster = cluster};
    if (!begin(cluster))
        return;
    pthread_mutex_lock(&cluster->lock);
    while (!cluster->peers && !cluster->leaving) { /* cluster_join makes them */
        cluster->begun = true;
        pthread_cond_broadcast(&cluster->changed);
        pthread_cond_wait(&cluster->changed, &cluster->lock);
    }
    pthread_mutex_unlock(&cluster->lock);
    state.last = clock_nanoseconds();
    for (bool goes_on = true; goes_on;) {
        const bool asked = await_request(&state);
        pthread_mutex_lock(&cluster->calls);
        goes_on = run_once(&state, asked);
        pthread_mutex_unlock(&cluster->calls);
    }
    if (cluster->watch.hangs)
        end_hung(cluster);
}

void *cluster_thread_run(void *context)
{
    struct cluster *cluster = context;
    run(cluster);
    pthread_mutex_lock(&cluster->lock);
    cluster->gone = true;
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->lock);
    return NULL;
}
