/* Tests how gradients are divided into buckets: that these cover all gradients, and that none is
 * sent before the backward pass has computed it. */
#include "engine/execution/internal.h"

#include "engine/devices/device.h"
#include "engine/network/network.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

/* Returns whether no parameter of the bucket's range is computed after the bucket's entry. */
static bool is_complete(const struct plan *plan, const struct gradient_bucket *bucket)
{
    for (size_t a = bucket->entry + 1; a < plan->order.count; a++) {
        const struct node *node = plan->steps[plan->order.entries[a].step].site.node;
        for (size_t p = 0;
             plan->order.entries[a].pass == PLAN_BACKWARD && p < node->parameter_count; p++) {
            const struct parameter *parameter = &plan->graph->parameters[node->parameters[p]];
            if (parameter->learnable && parameter->offset >= bucket->first &&
                parameter->offset < bucket->first + bucket->count)
                return false;
        }
    }
    return true;
}

/* Returns whether the buckets cover the gradients from the end to the beginning, in an order in
 * which they can be sent. */
static bool are_valid(const struct plan *plan, const struct gradient_bucket *buckets, size_t count)
{
    size_t end = plan->graph->learnable_floats, entry = 0;
    for (size_t b = 0; b < count; b++) {
        if (buckets[b].first + buckets[b].count != end || buckets[b].entry < entry ||
            !is_complete(plan, &buckets[b]))
            return false;
        end = buckets[b].first;
        entry = buckets[b].entry;
    }
    return end == 0;
}

static void test_network(const char *name)
{
    const struct network_request request = {.network = name};
    const struct plan_settings settings = {.mode = PLAN_TRAINING, .batch = 2, .with_loss = true};
    struct error error;
    struct network *network = network_build(&request, &error);
    const struct device_driver *driver = device_find("reference", NULL, &error);
    struct plan *plan = network ? plan_build(&network->graph, driver, &settings, &error) : NULL;
    if (!plan) {
        tap_ok(false, "%s: %s", name, error.why);
        network_free(network);
        return;
    }
    const size_t most = plan->graph->parameter_count;
    struct gradient_bucket *all = calloc(most, sizeof *all), *some = calloc(most, sizeof *some);
    if (!all || !some)
        abort();
    const size_t count = gradient_buckets_divide(plan, all);
    tap_ok(count > 1 && are_valid(plan, all, count), "%s: the smallest buckets", name);
    bool valid = true, large = true;
    size_t before = count, joined = count;
    for (size_t bytes = 1024; bytes < ((size_t)1 << 40); bytes *= 4) {
        memcpy(some, all, count * sizeof *some);
        joined = gradient_buckets_join(some, count, bytes);
        valid &= are_valid(plan, some, joined) && joined <= before;
        for (size_t b = 0; b + 1 < joined; b++)
            large &= some[b].count * sizeof(float) >= bytes;
        before = joined;
    }
    tap_ok(valid && large && joined == 1, "  joined to larger ones, and to one");
    tap_ok(all[count - 1].entry > all[0].entry, "  the last layers' can be sent first");
    free(all);
    free(some);
    plan_free(plan);
    network_free(network);
}

static void test_join(void)
{
    struct gradient_bucket buckets[] = {{300, 100, 1}, {290, 10, 1}, {280, 10, 2}, {0, 280, 3}};
    const size_t count = gradient_buckets_join(buckets, 4, 40);
    tap_ok(count == 3 && buckets[0].first == 290 && buckets[0].count == 110 &&
               buckets[1].first == 280 && buckets[2].count == 280,
           "neighbours that are complete at once are sent together");
}

TEST_CASE(gradient_buckets_test)
{
    static const char *const networks[] = {"lenet", "resnet20", "squeezenet-shift", "alexnet"};
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        test_network(networks[i]);
    test_join();
    return tap_done();
}
