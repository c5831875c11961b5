/* Measures how two or more ranks of one host can add float32 gradients in a fixed order, and gather
 * the statistics of a batch norm:
 *
 *     mpicc -O2 -o rank_sums rank_sums.c -lpthread && mpirun -n 2 ./rank_sums [TURNS]
 *
 *   own        POSIX shared memory, with a barrier that spins for 50 us and then sleeps (futex)
 *   window     MPI_Win_allocate_shared, with MPI_Ibarrier
 *   messages   MPI_Ialltoallv, addition in the order of the ranks, MPI_Iallgatherv
 *   allreduce  MPI_Iallreduce, whose order MPI chooses
 *
 * The threads that compute do not call MPI: another thread does, and tests without a pause until
 * the collective is complete, as in src/engine/cluster. `direct` calls MPI's blocking functions in
 * the computing thread. All ways take turns; printed are the median and the least microseconds of
 * rank 0, and whether all ways have the same bits. */
#include <fcntl.h>
#include <linux/futex.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { GATHERED = 192, MOST_TURNS = 2001, MOST_RANKS = 64 };

static int rank, ranks;
static int counts[MOST_RANKS], places[MOST_RANKS], part_counts[MOST_RANKS], part_places[MOST_RANKS];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* --- a thread that calls MPI --- */

enum call { NOTHING, BARRIER, SCATTER, COLLECT, REDUCE, GATHER, END };

struct request {
    enum call call;
    float *values, *parts;
    size_t count;
};

static struct request asked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static MPI_Request start(const struct request *what)
{
    MPI_Request started;
    switch (what->call) {
    case SCATTER:
        MPI_Ialltoallv(what->values, counts, places, MPI_FLOAT, what->parts, part_counts,
                       part_places, MPI_FLOAT, MPI_COMM_WORLD, &started);
        break;
    case COLLECT:
        MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, what->values, counts, places, MPI_FLOAT,
                        MPI_COMM_WORLD, &started);
        break;
    case REDUCE:
        MPI_Iallreduce(MPI_IN_PLACE, what->values, (int)what->count, MPI_FLOAT, MPI_SUM,
                       MPI_COMM_WORLD, &started);
        break;
    case GATHER:
        MPI_Iallgather(what->values, (int)what->count, MPI_FLOAT, what->parts, (int)what->count,
                       MPI_FLOAT, MPI_COMM_WORLD, &started);
        break;
    default:
        MPI_Ibarrier(MPI_COMM_WORLD, &started);
    }
    return started;
}

static void *serve(void *unused)
{
    pthread_mutex_lock(&lock);
    while (asked.call != END) {
        if (asked.call == NOTHING) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        pthread_mutex_unlock(&lock);
        MPI_Request started = start(&asked);
        for (int done = 0; !done; sched_yield())
            MPI_Test(&started, &done, MPI_STATUS_IGNORE);
        pthread_mutex_lock(&lock);
        asked.call = NOTHING;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

static void ask(struct request what)
{
    pthread_mutex_lock(&lock);
    asked = what;
    pthread_cond_broadcast(&changed);
    while (asked.call != NOTHING && asked.call != END)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

/* --- memory that the ranks share --- */

struct head {
    _Alignas(64) atomic_uint arrivals, sleepers;
    double gathered[2][GATHERED];
};

static struct head *heads; /* by rank */
static unsigned arrivals;

static void *map_shared(size_t bytes)
{
    static int number;
    char name[64];
    snprintf(name, sizeof name, "/rank-sums-%d-%d", (int)getuid(), number++);
    int file = rank == 0 ? shm_open(name, O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    if (rank == 0 && ftruncate(file, (off_t)bytes) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank > 0)
        file = shm_open(name, O_RDWR, 0);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        shm_unlink(name);
    close(file);
    return memory;
}

static void own_barrier(void)
{
    atomic_store(&heads[rank].arrivals, ++arrivals);
    if (atomic_load(&heads[rank].sleepers))
        syscall(SYS_futex, &heads[rank].arrivals, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
    for (int r = 0; r < ranks; r++) {
        const double began = now();
        while ((int)(atomic_load_explicit(&heads[r].arrivals, memory_order_acquire) - arrivals) <
               0) {
            const struct timespec limit = {0, 20000000};
            if (now() - began < 50e-6)
                continue;
            atomic_fetch_add(&heads[r].sleepers, 1);
            const unsigned seen = atomic_load(&heads[r].arrivals);
            if ((int)(seen - arrivals) < 0)
                syscall(SYS_futex, &heads[r].arrivals, FUTEX_WAIT, seen, &limit, NULL, 0);
            atomic_fetch_sub(&heads[r].sleepers, 1);
        }
    }
}

/* Adds this rank's part of the values of all, and writes it to all. */
static void add_shared(float *const *values)
{
    for (int first = places[rank], end = first + counts[rank]; first < end; first += 2048) {
        const int count = end - first < 2048 ? end - first : 2048;
        for (int r = 1; r < ranks; r++)
            for (int i = first; i < first + count; i++)
                values[0][i] += values[r][i];
        for (int r = 1; r < ranks; r++)
            memcpy(values[r] + first, values[0] + first, (size_t)count * sizeof(float));
    }
}

/* --- the ways --- */

static float *own[MOST_RANKS], *window[MOST_RANKS], *private, *parts; /* own, window: by rank */
static MPI_Win win;

static void divide(size_t count)
{
    for (int r = 0; r < ranks; r++) {
        places[r] = (int)(count * (size_t)r / (size_t)ranks);
        counts[r] = (int)(count * (size_t)(r + 1) / (size_t)ranks) - places[r];
    }
    for (int r = 0; r < ranks; r++) {
        part_counts[r] = counts[rank];
        part_places[r] = r * counts[rank];
    }
}

static void sum_own(size_t count)
{
    (void)count;
    own_barrier();
    add_shared(own);
    own_barrier();
}

static void sum_window(size_t count)
{
    (void)count;
    ask((struct request){.call = BARRIER});
    add_shared(window);
    ask((struct request){.call = BARRIER});
}

static void sum_window_directly(size_t count)
{
    (void)count;
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    add_shared(window);
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
}

static void add_parts(void)
{
    for (int r = 1; r < ranks; r++)
        for (int i = 0; i < counts[rank]; i++)
            parts[i] += parts[part_places[r] + i];
    memcpy(private + places[rank], parts, (size_t)counts[rank] * sizeof *parts);
}

static void sum_messages(size_t count)
{
    ask((struct request){SCATTER, private, parts, count});
    add_parts();
    ask((struct request){COLLECT, private, NULL, count});
}

static void sum_messages_directly(size_t count)
{
    (void)count;
    MPI_Alltoallv(private, counts, places, MPI_FLOAT, parts, part_counts, part_places, MPI_FLOAT,
                  MPI_COMM_WORLD);
    add_parts();
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, private, counts, places, MPI_FLOAT,
                   MPI_COMM_WORLD);
}

static void sum_allreduce(size_t count)
{
    ask((struct request){REDUCE, private, NULL, count});
}

static void sum_allreduce_directly(size_t count)
{
    MPI_Allreduce(MPI_IN_PLACE, private, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void gather_own(size_t count)
{
    static double all[MOST_RANKS * GATHERED];
    const unsigned slot = (arrivals + 1) % 2;
    memset(heads[rank].gathered[slot], rank, count * sizeof(float));
    own_barrier();
    for (int r = 0; r < ranks; r++)
        memcpy(all + r * GATHERED, heads[r].gathered[slot], count * sizeof(float));
}

static void gather_messages(size_t count)
{
    ask((struct request){GATHER, private, parts, count});
}

static void gather_directly(size_t count)
{
    MPI_Allgather(private, (int)count, MPI_FLOAT, parts, (int)count, MPI_FLOAT, MPI_COMM_WORLD);
}

struct way {
    const char *name;
    void (*run)(size_t count);
    float **result; /* of this rank; NULL: is not compared */
    bool direct;
};

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static float value_of(size_t i)
{
    return 1.0f / (float)(1 + (i * 31 + (size_t)rank * 17) % 1009);
}

static void fill(float *values, size_t count)
{
    for (size_t i = 0; values && i < count; i++)
        values[i] = value_of(i);
}

/* Lets the ways take turns, and prints a row. */
static void measure(const char *title, const struct way *ways, size_t way_count, bool direct,
                    size_t count, size_t turns)
{
    static double times[16][MOST_TURNS];
    bool same = true;
    divide(count);
    for (size_t turn = 0; turn < turns; turn++)
        for (size_t w = 0; w < way_count; w++) {
            if (ways[w].direct != direct)
                continue;
            if (turn == 0 && ways[w].result)
                fill(*ways[w].result, count);
            own_barrier(); /* leaves MPI to its thread */
            const double began = now();
            ways[w].run(count);
            times[w][turn] = 1e6 * (now() - began);
            if (turn > 0 || !ways[w].result)
                continue;
            static float *first;
            first = w == 0 || !first ? realloc(first, count * sizeof *first) : first;
            if (w == 0 || !first)
                memcpy(first, *ways[w].result, count * sizeof *first);
            else
                same &= memcmp(first, *ways[w].result, count * sizeof *first) == 0;
        }
    for (size_t w = 0; rank == 0 && w < way_count; w++)
        if (ways[w].direct == direct) {
            qsort(times[w], turns, sizeof **times, compare);
            printf("%-10s %-18s %11.1f %11.1f%s\n", title, ways[w].name, times[w][turns / 2],
                   times[w][0], same ? "" : "  other bits");
        }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *title;
        size_t bytes, divisor;
    } sizes[] = {{"40 KB", 40000, 1},
                 {"1 MB", 1000000, 2},
                 {"25 MB", 25000000, 20},
                 {"100 MB", 100000000, 60}};
    static float *mine_own, *mine_window;
    const struct way sums[] = {{"own", sum_own, &mine_own, false},
                               {"window", sum_window, &mine_window, false},
                               {"messages", sum_messages, &private, false},
                               {"allreduce", sum_allreduce, &private, false},
                               {"window direct", sum_window_directly, NULL, true},
                               {"messages direct", sum_messages_directly, NULL, true},
                               {"allreduce direct", sum_allreduce_directly, NULL, true}};
    const struct way gathers[] = {{"own", gather_own, NULL, false},
                                  {"messages", gather_messages, NULL, false},
                                  {"messages direct", gather_directly, NULL, true}};
    const size_t wished = argc > 1 ? (size_t)atoi(argv[1]) : 1000;
    const size_t turns = wished < MOST_TURNS ? wished : MOST_TURNS, most = sizes[3].bytes;
    int provided;
    pthread_t thread;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    heads = map_shared((size_t)ranks * sizeof *heads);
    float *all = map_shared((size_t)ranks * most);
    void *unused;
    MPI_Win_allocate_shared((MPI_Aint)most, sizeof(float), MPI_INFO_NULL, MPI_COMM_WORLD, &unused,
                            &win);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int r = 0; r < ranks; r++) {
        MPI_Aint bytes;
        int unit;
        own[r] = all + (size_t)r * most / sizeof(float);
        MPI_Win_shared_query(win, r, &bytes, &unit, &window[r]);
    }
    mine_own = own[rank];
    mine_window = window[rank];
    private = calloc(most, 1);
    parts = calloc(most + 4096, 1);
    fill(mine_own, most / sizeof(float));
    fill(mine_window, most / sizeof(float));
    if (rank == 0)
        printf("%-10s %-18s %11s %11s\n", "size", "way", "median us", "least us");
    for (int direct = 0; direct < 2; direct++) {
        own_barrier();
        if (!direct)
            pthread_create(&thread, NULL, serve, NULL);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            measure(sizes[s].title, sums, sizeof sums / sizeof *sums, direct,
                    sizes[s].bytes / sizeof(float), turns / sizes[s].divisor + 1);
        measure("gather", gathers, sizeof gathers / sizeof *gathers, direct, 2 * GATHERED, turns);
        if (!direct) {
            ask((struct request){.call = END});
            pthread_join(thread, NULL);
        }
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
