/* Threads are bound to one core of those that they may use, and to all of these again. */
#include "base/host/core_set.h"

#include "base/host/host.h"

#include "tap.h"

#include <pthread.h>

static void *count(void *counted)
{
    const struct core_set set = core_set_here();
    *(size_t *)counted = core_set_count(&set);
    return NULL;
}

/* Returns how many cores a new thread may use. */
static size_t count_in_thread(void)
{
    pthread_t thread;
    size_t counted = 0;
    if (pthread_create(&thread, NULL, count, &counted) == 0)
        pthread_join(thread, NULL);
    return counted;
}

TEST_CASE(core_set_test)
{
    const struct core_set all = core_set_here();
    struct core_set one = {0}, both = {0};
    if (core_set_count(&all) == 0) {
        tap_skip("this system cannot bind threads to cores");
        return tap_done();
    }
    tap_ok(core_set_count(&all) == host_cores(), "the cores of this process");
    for (size_t i = 0; core_set_count(&one) == 0; i++)
        one.bits[i / 64] |= all.bits[i / 64] & UINT64_C(1) << i % 64;
    core_set_add(&both, &one);
    core_set_add(&both, &all);
    tap_ok(core_set_count(&both) == core_set_count(&all), "a set contains its parts");
    tap_ok(core_set_bind(&one) && host_cores() == 1, "bound to one core");
    tap_ok(count_in_thread() == 1, "  with the threads that are created then");
    tap_ok(core_set_bind(&all) && host_cores() == core_set_count(&all), "and to all again");
    tap_ok(count_in_thread() == core_set_count(&all), "  with new threads");
    const struct core_set none = {0};
    tap_ok(!core_set_bind(&none) && host_cores() == core_set_count(&all), "never to none");
    return tap_done();
}
