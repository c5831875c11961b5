/* Which GPU each rank of a cluster gets: that of its number on its host, or the first of those that
 * the launcher shows to it alone; a host with fewer GPUs than ranks is refused by its name. */
#include "engine/devices/rank_device.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

enum { RANKS = 4 };

static struct rank_gpus rank_of(size_t host, size_t local_rank, size_t count, unsigned bus)
{
    struct rank_gpus rank = {.host = host,
                             .local_rank = local_rank,
                             .count = count,
                             .first = {.known = count > 0, .bus = bus}};
    snprintf(rank.name, sizeof rank.name, "host%zu", host);
    return rank;
}

/* Checks the numbers of all ranks. */
static void test_numbers(const char *name, const struct rank_gpus *all, const size_t wanted[RANKS])
{
    bool same = true;
    for (size_t r = 0; r < RANKS; r++) {
        struct error error;
        size_t number = SIZE_MAX;
        same = rank_device_number(all, RANKS, r, &number, &error) && number == wanted[r] && same;
    }
    tap_ok(same, "%s", name);
}

static void test_refusal(const char *name, const struct rank_gpus *all, const char *what,
                         const char *why)
{
    bool refused = true;
    struct error error = {0};
    for (size_t r = 0; r < RANKS; r++) {
        size_t number;
        error = (struct error){0};
        refused = !rank_device_number(all, RANKS, r, &number, &error) &&
                  error.kind == ERROR_UNSUPPORTED && strcmp(error.what, what) == 0 &&
                  strstr(error.why, why) && error.advice[0] && refused;
    }
    tap_ok(refused, "%s: %s: %s: %s", name, error.what, error.why, error.advice);
}

TEST_CASE(rank_device_test)
{
    const struct rank_gpus one_host[] = {rank_of(0, 0, 8, 1), rank_of(0, 1, 8, 1),
                                         rank_of(0, 2, 8, 1), rank_of(0, 3, 8, 1)};
    const struct rank_gpus two_hosts[] = {rank_of(0, 0, 2, 1), rank_of(1, 0, 2, 1),
                                          rank_of(0, 1, 2, 1), rank_of(1, 1, 2, 1)};
    const struct rank_gpus own[] = {rank_of(0, 0, 1, 7), rank_of(0, 1, 1, 5), rank_of(2, 0, 1, 7),
                                    rank_of(2, 1, 1, 9)};
    const struct rank_gpus mixed[] = {rank_of(0, 0, 2, 1), rank_of(0, 1, 2, 1), rank_of(2, 0, 1, 3),
                                      rank_of(2, 1, 1, 4)};
    const struct rank_gpus few[] = {rank_of(0, 0, 2, 1), rank_of(0, 1, 2, 1), rank_of(2, 0, 1, 3),
                                    rank_of(2, 1, 1, 3)};
    const struct rank_gpus none[] = {rank_of(0, 0, 1, 1), rank_of(1, 0, 0, 0), rank_of(2, 0, 1, 1),
                                     rank_of(3, 0, 1, 1)};
    struct error error;
    test_numbers("four ranks of one host", one_host, (size_t[]){0, 1, 2, 3});
    test_numbers("two hosts, in turns", two_hosts, (size_t[]){0, 0, 1, 1});
    test_numbers("each rank sees a GPU of its own", own, (size_t[]){0, 0, 0, 0});
    test_numbers("on one of the hosts", mixed, (size_t[]){0, 1, 0, 0});
    test_refusal("two ranks see the same GPU", few, "host2", "2 ranks");
    test_refusal("a host without GPUs", none, "host1", "they see 0");
    tap_ok(rank_device_check("cuda", &error) && rank_device_check("cpu", &error) &&
               !rank_device_check("cuda:1", &error) && error.kind == ERROR_USAGE &&
               !rank_device_check("cuda:0,1", &error),
           "numbers of GPUs are refused: %s", error.why);
    return tap_done();
}
