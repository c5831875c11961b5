/* The price of size (factorize.h) is bisected on a logarithmic scale, where the size of a layer is
 * its share of the measured time. At each step the network with these ranks is timed layer by layer
 * (bench.h): smaller parts are not always faster, since two kernels are started instead of one and
 * each may use the processor less well. Layers whose parts take longer than the layer did stay as
 * they are, and the network is timed once more without them.
 *
 * The weights are drawn: a time does not depend on their values. */
#include "session/compress/factorize_latency.h"

#include "base/memory.h"
#include "engine/network/network_write.h"
#include "session/measure/bench.h"

#include <math.h>
#include <stdlib.h>

/* Prices are 2^-PRICE_RANGE to 2^PRICE_RANGE. */
enum { ITERATIONS = 50, BISECTIONS = 7, PRICE_RANGE = 14, MEASUREMENTS = 4 * BISECTIONS + 3 };

struct search {
    const struct factorize_request *request;
    struct factorized_model *made;
    double *layer_seconds; /* of each layer of the factorization before, by its number */
    size_t measured;
    struct error *error;
};

/* --- measuring --- */

/* Measures the network of this tree; bench_free frees the result. */
static bool measure(struct search *search, const struct json *tree, bool profile,
                    struct bench *bench)
{
    const struct factorize_request *request = search->request;
    if (request->progress &&
        !request->progress(request->context, NULL, search->measured++, MEASUREMENTS, search->error))
        return false;
    char *text = json_print(tree, false, search->error);
    const struct bench_settings settings = {
        .network = {.network = search->made->origin.network->name, .text = text},
        .device = request->device,
        .threads = request->threads,
        .mode = PLAN_INFERENCE,
        .batch = 1,
        .iterations = ITERATIONS,
        .seed = 1,
        .profile = profile};
    const bool measured = text && bench_run(&settings, bench, search->error);
    free(text);
    return measured;
}

/* Returns the seconds of a layer's forward pass by its name; 0 if it is no layer of the network. */
static double layer_seconds(const struct bench *bench, const char *name)
{
    size_t node;
    return graph_find(bench->main.graph, name, &node)
               ? profile_node(bench->main.profile, node).forward_seconds
               : 0;
}

static double parts_seconds(const struct bench *bench, const struct node *node)
{
    double sum = 0;
    char name[FACTOR_LAYER_NAME_SIZE];
    for (size_t i = 0; i < FACTOR_PARTS; i++)
        sum += layer_seconds(bench, factor_layers_name(node, i, name));
    return sum;
}

/* Times the network as it was, and each of its layers. */
static bool measure_origin(struct search *search)
{
    struct bench bench;
    struct factorization *f = &search->made->factorization;
    struct json *tree = network_to_json(f->network);
    if (!tree)
        return error_set_memory(search->error, "the network", 0);
    const bool measured = measure(search, tree, true, &bench);
    json_free(tree);
    if (!measured)
        return false;
    for (size_t i = 0; i < f->count; i++) {
        search->layer_seconds[i] =
            layer_seconds(&bench, f->network->graph.nodes[f->layers[i].node].name);
        f->layers[i].size = search->layer_seconds[i] / (bench.profiled_seconds * ITERATIONS);
    }
    search->made->ms_before = bench.ms_per_image.median;
    bench_free(&bench);
    return true;
}

/* Times the network with the ranks chosen last. With `exclude`, excludes the layers whose parts are
 * slower, and sets *excluded to their number. */
static bool measure_ranks(struct search *search, bool exclude, double *ms, size_t *excluded)
{
    struct bench bench;
    struct factorization *f = &search->made->factorization;
    struct json *tree = factorization_tree(f, search->error);
    const bool measured = tree && measure(search, tree, exclude, &bench);
    json_free(tree);
    if (!measured)
        return false;
    *ms = bench.ms_per_image.median;
    *excluded = 0;
    for (size_t i = 0; exclude && i < f->count; i++) {
        struct factorized_layer *layer = &f->layers[i];
        layer->excluded = layer->state == FACTOR_REPLACED &&
                          parts_seconds(&bench, &f->network->graph.nodes[layer->node]) >=
                              search->layer_seconds[i];
        *excluded += layer->excluded;
    }
    bench_free(&bench);
    return true;
}

/* --- the search --- */

/* Chooses the ranks at a price of 2^exponent without slow layers, and measures them. If no layer is
 * left, the time is that of the network as it was: to measure it again would show nothing but
 * noise. */
static bool try_price(struct search *search, double exponent, double *ms)
{
    struct factorization *f = &search->made->factorization;
    size_t excluded;
    for (size_t i = 0; i < f->count; i++)
        f->layers[i].excluded = false;
    if (!factorization_choose_at(f, exp2(exponent), search->error) ||
        !measure_ranks(search, true, ms, &excluded))
        return false;
    if (excluded > 0 && !factorization_choose_at(f, exp2(exponent), search->error))
        return false;
    if (factorization_replaced(f) > 0)
        return excluded == 0 || measure_ranks(search, false, ms, &excluded);
    *ms = search->made->ms_before;
    return true;
}

/* The best choice so far: its price and the layers that it excludes. */
struct choice {
    double exponent, ms;
    bool *excluded;
};

static void keep_choice(const struct factorization *f, struct choice *choice, double exponent,
                        double ms)
{
    choice->exponent = exponent;
    choice->ms = ms;
    for (size_t i = 0; i < f->count; i++)
        choice->excluded[i] = f->layers[i].excluded;
}

/* Looks for lower prices than that of the choice. */
static bool bisect(struct search *search, struct choice *choice)
{
    double low = -PRICE_RANGE, ms;
    for (size_t i = 0; i < BISECTIONS; i++) {
        const double middle = (low + choice->exponent) / 2;
        if (!try_price(search, middle, &ms))
            return false;
        if (ms <= search->request->value)
            keep_choice(&search->made->factorization, choice, middle, ms);
        else
            low = middle;
    }
    return true;
}

/* Begins with the highest price. */
static bool begin(struct search *search, struct choice *choice)
{
    double ms;
    factorization_pin(&search->made->factorization, false);
    if (!try_price(search, PRICE_RANGE, &ms))
        return false;
    if (ms > search->request->value)
        return error_set(search->error, ERROR_USAGE, "--latency",
                         "ask for more time, or let more layers be factorized",
                         "with rank 1 in every layer that this makes faster an image takes %.4g "
                         "ms, more than %.4g",
                         ms, search->request->value);
    keep_choice(&search->made->factorization, choice, PRICE_RANGE, ms);
    return true;
}

/* Chooses the ranks of a choice, measured before. */
static bool take_choice(struct search *search, const struct choice *choice)
{
    struct factorization *f = &search->made->factorization;
    for (size_t i = 0; i < f->count; i++)
        f->layers[i].excluded = choice->excluded[i];
    search->made->ms_after = choice->ms;
    return factorization_choose_at(f, exp2(choice->exponent), search->error);
}

static bool search_ranks(struct search *search, struct choice *choice)
{
    struct factorization *f = &search->made->factorization;
    if (!measure_origin(search))
        return false;
    if (search->made->ms_before <= search->request->value)
        return error_set(search->error, ERROR_USAGE, "--latency", "ask for less time",
                         "an image takes %.4g ms already, not more than %.4g",
                         search->made->ms_before, search->request->value);
    if (!begin(search, choice) || !bisect(search, choice) || !take_choice(search, choice))
        return false;
    factorization_pin(f, true); /* their ranks may grow until the time is used up */
    return bisect(search, choice) && take_choice(search, choice);
}

bool factorize_choose_latency(const struct factorize_request *request,
                              struct factorized_model *made, struct error *error)
{
    const size_t count = made->factorization.count;
    struct search search = {.request = request, .made = made, .error = error};
    struct choice choice = {0};
    search.layer_seconds = memory_new(count, sizeof *search.layer_seconds, "the times", error);
    choice.excluded = memory_new(count, sizeof *choice.excluded, "the times", error);
    const bool found = search.layer_seconds && choice.excluded && search_ranks(&search, &choice);
    free(search.layer_seconds);
    free(choice.excluded);
    return found;
}
