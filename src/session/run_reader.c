#include "session/run_reader.h"

#include "base/background.h"
#include "base/clock.h"
#include "base/memory.h"
#include "session/follow.h"
#include "session/run_directory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct run_reader {
    struct background *background; /* the caller's alone */
    enum run_depth depth;
    size_t count;
    struct run_read *results;
    atomic_size_t ready;
    atomic_bool dropped;
};

static void free_reader(void *state)
{
    struct run_reader *reader = state;
    for (size_t i = 0; i < reader->count; i++) {
        run_free(reader->results[i].run);
        free(reader->results[i].directory);
    }
    free(reader->results);
    free(reader);
}

/* Reads on to the newest of a run that another process has. */
static struct run *open_live(const char *directory, const atomic_bool *dropped, struct error *error)
{
    struct run *run = follow_open(directory, error);
    while (run && !atomic_load(dropped) && follow_step(run) == FOLLOW_MORE) {
    }
    return run;
}

static void read_one(const struct run_reader *reader, struct run_read *result)
{
    if (reader->depth == RUN_DEPTH_ALIVE) {
        result->alive = run_directory_is_alive(result->directory);
        return;
    }
    result->outlined = run_peek(result->directory, &result->outline, &result->error);
    if (!result->outlined)
        return;
    run_name_read(result->directory, result->name);
    if (reader->depth == RUN_DEPTH_WHOLE)
        result->run = run_status_is_over(result->outline.snapshot.status)
                          ? run_open(result->directory, &result->error)
                          : open_live(result->directory, &reader->dropped, &result->error);
}

static void work(void *state)
{
    struct run_reader *reader = state;
    for (size_t i = 0; i < reader->count && !atomic_load(&reader->dropped); i++) {
        read_one(reader, &reader->results[i]);
        atomic_store(&reader->ready, i + 1);
    }
}

static bool copy_directories(struct run_reader *reader, const char *const *directories,
                             size_t count, struct error *error)
{
    reader->results = memory_new(count, sizeof *reader->results, "runs to be read", error);
    for (size_t i = 0; reader->results && i < count; i++) {
        reader->results[i].directory = memory_copy_text(directories[i], error);
        if (!reader->results[i].directory)
            return false;
        reader->count++;
    }
    return reader->results;
}

struct run_reader *run_reader_start(enum run_depth depth, const char *const *directories,
                                    size_t count, struct error *error)
{
    struct run_reader *reader = memory_new(1, sizeof *reader, "runs to be read", error);
    if (!reader)
        return NULL;
    reader->depth = depth;
    atomic_init(&reader->ready, 0);
    atomic_init(&reader->dropped, false);
    if (copy_directories(reader, directories, count, error) &&
        (reader->background = background_start(work, free_reader, reader, error)))
        return reader;
    free_reader(reader);
    return NULL;
}

size_t run_reader_ready(const struct run_reader *reader)
{
    return atomic_load(&reader->ready);
}

bool run_reader_done(const struct run_reader *reader)
{
    return run_reader_ready(reader) == reader->count;
}

bool run_reader_wait(const struct run_reader *reader, double seconds)
{
    const uint64_t from = clock_nanoseconds();
    const struct timespec pause = {.tv_nsec = 500000};
    while (!run_reader_done(reader) && clock_seconds(from, clock_nanoseconds()) < seconds)
        nanosleep(&pause, NULL);
    return run_reader_done(reader);
}

struct run_read *run_reader_result(struct run_reader *reader, size_t index)
{
    return &reader->results[index];
}

void run_reader_drop(struct run_reader *reader)
{
    if (!reader)
        return;
    struct background *background = reader->background;
    atomic_store(&reader->dropped, true);
    background_drop(background);
}
