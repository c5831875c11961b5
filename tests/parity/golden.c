#include "golden.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "engine/ops/op.h"
#include "random_fill.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *source_tree(void)
{
    const char *source = getenv("srcdir");
    return source ? source : ".";
}

bool golden_read(struct json_document *goldens, const char *name, struct error *error)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/parity/goldens/%s.json", source_tree(), name);
    return json_read_file(goldens, path, 4 << 20, error);
}

struct network *golden_build_network(const struct network_request *request, struct error *error)
{
    const char *folder = strchr(request->network, '/') ? "networks" : "tests/parity/networks";
    char path[512];
    struct network_request completed = *request;
    snprintf(path, sizeof path, "%s/%s/%s.json", source_tree(), folder, request->network);
    if (file_exists(path))
        completed.network = path;
    return network_build(&completed, error);
}

bool golden_is_of(const struct json *golden, const struct network *network)
{
    char name[128];
    const struct json *member = golden ? json_member(golden, "network") : NULL;
    const char *said = member ? json_string(member) : NULL;
    return said && strcmp(said, network_full_name(network, name, sizeof name)) == 0;
}

void golden_draw_direction(uint64_t from, uint32_t stream, float *direction, size_t count)
{
    random_fill_uniform(from, RANDOM_TEST, stream, -1, 1, direction, count);
}

double golden_number(const struct json *array, size_t i)
{
    double number = NAN;
    const struct json *value = json_first(array);
    while (value && i-- > 0)
        value = json_next(value);
    if (value)
        json_number(value, &number);
    return number;
}

double golden_tensor_difference(const float *values, size_t count, uint64_t from, uint32_t stream,
                                const struct json *golden, double least)
{
    double length = golden_number(golden, 0), projection = golden_number(golden, 1);
    double squares = 0, sum = 0;
    float *direction = memory_new(count, sizeof *direction, "a direction", NULL);
    if (!direction || isnan(length) || isnan(projection)) {
        free(direction);
        return INFINITY;
    }
    golden_draw_direction(from, stream, direction, count);
    for (size_t i = 0; i < count; i++) {
        squares += (double)values[i] * values[i];
        sum += (double)values[i] * direction[i];
    }
    free(direction);
    double worst = fmax(fabs(sqrt(squares) - length), fabs(sum - projection));
    return isfinite(squares) ? worst / fmax(length, least) : INFINITY;
}

static double longest_gradient(const struct json *gradients)
{
    double longest = 0;
    for (const struct json *golden = json_first_member(gradients); golden;
         golden = json_next(golden))
        longest = fmax(longest, golden_number(golden, 0));
    return longest;
}

double golden_gradients_difference(const struct graph *graph, const float *gradients, uint64_t from,
                                   const struct json *golden, const char **name)
{
    const double least = longest_gradient(golden) * 1e-3;
    double worst = 0;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        if (!parameter->learnable)
            continue;
        double difference = golden_tensor_difference(
            gradients + parameter->offset, parameter->count, from,
            GOLDEN_PARAMETER_STREAM + (uint32_t)p, json_member(golden, parameter->name), least);
        if (difference > worst) {
            worst = difference;
            *name = parameter->name;
        }
    }
    return worst;
}

double golden_move(const struct json *losses, const struct json *untrained)
{
    double from = NAN;
    const size_t count = json_length(losses);
    const double to = count > 0 ? golden_number(losses, count - 1) : NAN;
    if (untrained)
        json_number(untrained, &from);
    double move = fabs(to - from) / fabs(to);
    return isfinite(move) ? move : 0;
}

void golden_spread_norms(struct weights *weights, const struct graph *graph, float amount)
{
    enum { BIAS = 1 };
    for (size_t n = 0; n < graph->node_count; n++) {
        if (graph->nodes[n].op != &op_batch_norm)
            continue;
        const struct parameter *bias = &graph->parameters[graph->nodes[n].parameters[BIAS]];
        for (size_t i = 0; i < bias->count; i++)
            weights->values[bias->offset + i] = i % 2 ? -amount : amount;
    }
}

bool golden_save_directions(struct weights *weights, const struct graph *graph, uint64_t from,
                            const char *path, struct error *error)
{
    for (size_t p = 0; p < graph->parameter_count; p++)
        golden_draw_direction(from, GOLDEN_PARAMETER_STREAM + (uint32_t)p,
                              weights->values + graph->parameters[p].offset,
                              graph->parameters[p].count);
    return weights_save(weights, WEIGHTS_FLOAT32, path, (const char *const[]){NULL}, error);
}
