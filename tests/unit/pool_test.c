#include "base/pool.h"
#include "tap.h"

#include <stdatomic.h>
#include <string.h>

struct work {
    atomic_uint runs[5000];
    atomic_bool wrong_thread;
    size_t threads;
};

static void count_task(void *context, size_t task, size_t thread)
{
    struct work *work = context;
    atomic_fetch_add(&work->runs[task], 1);
    if (thread >= work->threads)
        atomic_store(&work->wrong_thread, true);
}

static void test_every_task_once(size_t threads)
{
    static struct work work;
    struct pool *pool = pool_create(threads, NULL);
    if (!tap_ok(pool != NULL, "a pool of %zu threads", threads))
        return;
    bool once = true;
    for (size_t job = 0; job < 300; job++) {
        size_t tasks = job * 7 % 5000;
        memset(&work, 0, sizeof work);
        work.threads = threads;
        pool_run(pool, tasks, count_task, &work);
        for (size_t i = 0; i < 5000; i++)
            once = once && work.runs[i] == (i < tasks);
    }
    tap_ok(once, "every task of 300 jobs ran exactly once on %zu threads", threads);
    tap_ok(!work.wrong_thread, "thread numbers stay below %zu", threads);
    tap_ok(pool_threads(pool) == threads, "it tells its size");
    pool_free(pool);
}

int main(void)
{
    for (size_t threads = 1; threads <= 5; threads++)
        test_every_task_once(threads);
    pool_free(NULL);
    tap_ok(true, "freeing no pool is allowed");
    return tap_done();
}
