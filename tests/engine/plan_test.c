/* The arena: blocks with overlapping live ranges never overlap in memory, and the plan's decisions
 * are legal. The trajectories in tests/parity show that sharing memory does not change numbers. */
#include "base/memory.h"
#include "base/random.h"
#include "engine/network/network.h"
#include "engine/ops/op.h"
#include "engine/plan/internal.h"
#include "engine/plan/plan.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

static bool overlap(const struct arena_block *a, const struct arena_block *b)
{
    bool in_time = a->first <= b->last && b->first <= a->last;
    bool in_space = a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
    return in_time && in_space;
}

/* Returns the largest sum of blocks that live at the same time; no arena can be smaller. */
static size_t lower_bound(const struct arena_block *blocks, size_t count, size_t times)
{
    size_t most = 0;
    for (size_t t = 0; t < times; t++) {
        size_t sum = 0;
        for (size_t i = 0; i < count; i++)
            if (blocks[i].first <= t && t <= blocks[i].last)
                sum += blocks[i].bytes;
        most = sum > most ? sum : most;
    }
    return most;
}

static void test_random_packing(void)
{
    enum { COUNT = 120, TIMES = 60 };
    bool disjoint = true, inside = true, aligned = true, tight = true;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct arena_block blocks[COUNT];
        struct random_stream draws = random_stream_at(seed, RANDOM_TEST, 0, 0);
        for (size_t i = 0; i < COUNT; i++) {
            size_t first = random_next_below(&draws, TIMES);
            size_t length = random_next_below(&draws, i % 5 ? 6 : TIMES);
            size_t last = first + length < TIMES ? first + length : TIMES - 1;
            blocks[i] = (struct arena_block){
                .bytes = random_next_below(&draws, 100000), .first = first, .last = last};
        }
        size_t total = 0;
        if (!arena_pack(blocks, COUNT, &total, NULL))
            disjoint = false;
        for (size_t i = 0; i < COUNT; i++) {
            inside = inside && blocks[i].offset + blocks[i].bytes <= total;
            aligned = aligned && blocks[i].offset % MEMORY_ALIGNMENT == 0;
            for (size_t k = 0; k < i; k++)
                disjoint = disjoint && !overlap(&blocks[i], &blocks[k]);
        }
        tight = tight && total <= lower_bound(blocks, COUNT, TIMES) * 1.25;
    }
    tap_ok(disjoint, "blocks that are live at the same time never overlap (50 random sets)");
    tap_ok(inside && aligned, "all blocks are inside the arena, aligned");
    tap_ok(tight, "the arena is at most a quarter above the lower bound");
}

/* Returns the best gap by a plain search over all blocks, lowest first. */
static size_t plain_gap(const struct arena_block *block, struct arena_block *const *sorted,
                        size_t count)
{
    size_t end = 0, best = SIZE_MAX, best_size = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct arena_block *other = sorted[i];
        if (other->first > block->last || block->first > other->last)
            continue;
        const size_t gap = other->offset > end ? other->offset - end : 0;
        if (gap >= block->bytes && gap < best_size) {
            best = end;
            best_size = gap;
        }
        end = other->offset + other->bytes > end ? other->offset + other->bytes : end;
    }
    return best != SIZE_MAX ? best : end;
}

/* Places blocks in their order, each in the gap that is found, and returns how many have another
 * offset than the plain search finds. */
static size_t count_other_gaps(struct placed_blocks *placed, struct arena_block *blocks,
                               size_t count)
{
    size_t wrong = 0;
    struct arena_block **sorted = memory_new(count, sizeof *sorted, "the test", NULL);
    for (size_t i = 0; sorted && i < count; i++) {
        blocks[i].offset = placed_blocks_find_gap(placed, &blocks[i]);
        wrong += blocks[i].offset != plain_gap(&blocks[i], sorted, i);
        placed_blocks_add(placed, &blocks[i]);
        size_t at = i;
        for (; at > 0 && sorted[at - 1]->offset > blocks[i].offset; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = &blocks[i];
    }
    free(sorted);
    return sorted ? wrong : count;
}

/* Few and many sizes, short and long live ranges; not largest first, so that there are many gaps.
 */
static void test_random_gaps(void)
{
    enum { COUNT = 300, TIMES = 200 };
    static const size_t sizes[] = {1, 3, 40, 5000};
    size_t wrong = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct arena_block blocks[COUNT];
        struct placed_blocks placed;
        struct random_stream draws = random_stream_at(seed, RANDOM_TEST, 0, 0);
        for (size_t i = 0; i < COUNT; i++) {
            const size_t first = random_next_below(&draws, TIMES);
            const size_t length = random_next_below(&draws, i % 3 ? 4 : TIMES);
            const size_t bytes = 1 + random_next_below(&draws, (uint32_t)sizes[seed % 4]);
            blocks[i] =
                (struct arena_block){.bytes = bytes * 64, .first = first, .last = first + length};
        }
        if (!placed_blocks_create(&placed, COUNT, NULL))
            break;
        wrong += count_other_gaps(&placed, blocks, COUNT);
        placed_blocks_free(&placed);
    }
    tap_ok(wrong == 0, "the search finds the gap of the plain search (%zu others)", wrong);
}

/* Makes the blocks of a chain of `layers` in training, largest first: all values are kept, or those
 * of every 50th layer while the others are recomputed before their backward pass. The layers form
 * `stages`, in each of which values are smaller than in the one before. */
static size_t make_chain(struct arena_block *blocks, size_t layers, bool again, size_t stages)
{
    size_t count = 0;
    for (size_t i = 0; i < layers; i++) {
        const size_t bytes = (stages - i * stages / layers) * 3136, back = 3 * layers - 2 * i;
        const bool kept = !again || i % 50 == 0;
        blocks[count++] = (struct arena_block){bytes, i, kept ? back : i + 1, 0};
        blocks[count++] = (struct arena_block){bytes, back - 2, back, 0};
        if (!kept)
            blocks[count++] =
                (struct arena_block){bytes, 3 * layers - 2 * (i - i % 50 + 50), back, 0};
    }
    return count;
}

/* Counts the visits of a search, not its time: with 4,000 layers a plain search makes thousands of
 * comparisons for each block. */
static void test_search_work(void)
{
    enum { LAYERS = 4000 };
    for (size_t k = 0; k < 4; k++) {
        const bool again = k % 2;
        const size_t stages = k < 2 ? 1 : 4;
        struct arena_block *blocks = memory_new(3 * LAYERS, sizeof *blocks, "the test", NULL);
        struct placed_blocks placed = {0};
        size_t count = 0, wrong = 1;
        if (blocks && placed_blocks_create(&placed, 3 * LAYERS, NULL)) {
            count = make_chain(blocks, LAYERS, again, stages);
            wrong = count_other_gaps(&placed, blocks, count);
        }
        tap_ok(wrong == 0, "%zu blocks in %zu stages, values %s: each is in the best gap", count,
               stages, again ? "recomputed" : "kept");
        tap_ok(placed.visits <= 120 * count, "and a search visits %zu nodes, not thousands",
               placed.visits / (count ? count : 1));
        placed_blocks_free(&placed);
        free(blocks);
    }
}

static struct plan *plan_for(struct network **network, const char *name, enum plan_mode mode,
                             size_t batch)
{
    struct network_request request = {.network = name};
    struct plan_settings settings = {.mode = mode,
                                     .batch = batch,
                                     .threads = 1,
                                     .solver = {.kind = SOLVER_SGD, .momentum = 0.9f}};
    struct error error = {0};
    struct plan *plan = NULL;
    *network = network_build(&request, &error);
    if (*network)
        plan = plan_build(&(*network)->graph, device_drivers[0], &settings, &error);
    tap_ok(plan != NULL, "%s: a plan for %zu images %s", name, batch, error.why);
    return plan;
}

static void test_forecast(void)
{
    struct network *network;
    struct plan *plan = plan_for(&network, "alexnet", PLAN_TRAINING, 4);
    if (!plan)
        return;
    uint64_t weights = network->graph.total_floats * sizeof(float);
    const struct memory_forecast *f = &plan->forecast;
    tap_ok(f->weights == weights && f->gradients == weights && f->solver == weights,
           "weights, gradients and momentum have the same size");
    tap_ok(f->total == f->weights + f->gradients + f->solver + f->activations + f->workspace,
           "the total is the sum of the kinds");
    size_t largest = plan_largest_batch(
        &network->graph, device_drivers[0],
        &(struct plan_settings){.mode = PLAN_TRAINING, .threads = 1, .solver = {.momentum = 0.9f}},
        512, f->total);
    tap_ok(largest == 4, "the largest batch that fits its forecast is the batch itself (%zu)",
           largest);
    plan_free(plan);
    network_free(network);
}

static void test_inference_is_small(void)
{
    struct network *network, *other;
    struct plan *training = plan_for(&network, "resnet20", PLAN_TRAINING, 8);
    struct plan *inference = plan_for(&other, "resnet20", PLAN_INFERENCE, 8);
    if (!training || !inference)
        return;
    size_t stage = 16 * 32 * 32 * sizeof(float) * 8;
    size_t activations = inference->forecast.activations;
    tap_ok(activations <= 3 * stage + 4096,
           "inference stores at most three activations of the widest stage (%zu bytes)",
           activations);
    tap_ok(inference->forecast.gradients == 0 && inference->forecast.solver == 0,
           "and neither gradients nor solver state");
    tap_ok(training->forecast.activations > 5 * activations,
           "training stores many more (%zu bytes)", (size_t)training->forecast.activations);
    plan_free(training);
    plan_free(inference);
    network_free(network);
    network_free(other);
}

static const struct plan_step *step_named(const struct plan *plan, const char *name)
{
    for (size_t s = 0; s < plan->step_count; s++)
        if (strcmp(plan->steps[s].site.node->name, name) == 0)
            return &plan->steps[s];
    return NULL;
}

static void test_in_place(void)
{
    struct network *network;
    struct plan *plan = plan_for(&network, "lenet", PLAN_TRAINING, 8);
    if (!plan)
        return;
    const struct plan_step *relu = step_named(plan, "relu1"), *ip1 = step_named(plan, "ip1");
    const struct plan_step *flat = step_named(plan, "flatten"), *pool = step_named(plan, "pool2");
    tap_ok(plan->arena.values[relu->node] == plan->arena.values[ip1->node], "ReLU works in place");
    tap_ok(plan->arena.gradients[relu->node] == plan->arena.gradients[ip1->node],
           "and its gradient, too");
    tap_ok(!flat->kernel && plan->arena.values[flat->node] == plan->arena.values[pool->node],
           "flatten is a view");
    tap_ok(plan->arena.values[pool->node] != plan->arena.values[step_named(plan, "conv2")->node],
           "pooling is not in place");
    tap_ok(plan->arena.gradients[0] == PLAN_NONE, "the input needs no gradient");
    plan_free(plan);
    network_free(network);
}

static bool arrays_clash(const struct plan_array *a, const struct plan_array *b)
{
    return a->first <= b->last && b->first <= a->last && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

/* Tests the map of the arena that a view draws. */
static void test_arrays(void)
{
    struct network *network;
    struct plan *plan = plan_for(&network, "resnet20", PLAN_TRAINING, 8);
    if (!plan)
        return;
    size_t end = 0, clashes = 0, kinds[3] = {0};
    for (size_t i = 0; i < plan->arena.array_count; i++) {
        const struct plan_array *array = &plan->arena.arrays[i];
        kinds[array->kind]++;
        end = array->offset + array->bytes > end ? array->offset + array->bytes : end;
        clashes += array->first > array->last || array->last > 2 * plan->step_count;
        for (size_t k = 0; k < i; k++)
            clashes += arrays_clash(array, &plan->arena.arrays[k]);
    }
    tap_ok(kinds[PLAN_VALUE] > 20 && kinds[PLAN_GRADIENT] > 20 && kinds[PLAN_SAVED] > 0,
           "the plan lists values, gradients and saved data");
    tap_ok(end == plan->arena.workspace, "they fill the arena up to the workspace");
    tap_ok(clashes == 0, "and none overlaps another live one");
    plan_free(plan);
    network_free(network);
}

TEST_CASE(plan_test)
{
    test_random_packing();
    test_random_gaps();
    test_search_work();
    test_forecast();
    test_inference_is_small();
    test_in_place();
    test_arrays();
    return tap_done();
}
