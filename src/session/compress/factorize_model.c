/* The steps are those of factorize.h: decompose, choose ranks by the target, build the network,
 * write its weights. The result is an ordinary saved model, whose network names the step in its
 * chain of techniques. */
#include "session/compress/factorize_model.h"

#include "engine/network/network_compression.h"
#include "engine/weights/safetensors.h"
#include "session/compress/factorize_latency.h"
#include "session/model/model_file.h"
#include "session/model/model_output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *const factorize_target_names[FACTORIZE_TARGETS + 1] = {"energy", "parameters",
                                                                   "latency", NULL};

/* --- the request --- */

static bool check_value(const struct factorize_request *request, struct error *error)
{
    const double value = request->value;
    switch (request->target) {
    case FACTORIZE_ENERGY:
        return (value > 0 && value <= 1) ||
               error_set(error, ERROR_USAGE, "--energy", "give a share, as 0.9",
                         "%g is not between 0 and 1", value);
    case FACTORIZE_PARAMETERS:
        return (value > 0 && value < 1) ||
               error_set(error, ERROR_USAGE, "--parameters", "give a share, as 0.5",
                         "%g is not between 0 and 1", value);
    default:
        return value > 0 || error_set(error, ERROR_USAGE, "--latency", "give milliseconds, as 2.5",
                                      "%g is not a time", value);
    }
}

/* Writes the step of the chain of techniques. */
static char *print_step(const struct factorize_request *request, char *text, size_t size)
{
    static const char *const before[] = {"", "p", ""}, *const after[] = {"", "", "ms"};
    snprintf(text, size, "factorize:%s%g%s", before[request->target], request->value,
             after[request->target]);
    return text;
}

/* A quantized network's weights are multiples of a scale, which products of other matrices are not.
 */
static bool check_origin(const struct network *network, struct error *error)
{
    return !graph_is_quantized(&network->graph) ||
           error_set(error, ERROR_UNSUPPORTED, network->name,
                     "factorize the model before it is quantized",
                     "this model is quantized, and its factors would not be");
}

/* --- the file --- */

static uint64_t file_bytes(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

/* Finds the format for the new file: the one that is asked for, or that of the model's largest
 * array. */
static bool find_format(const struct factorize_request *request, enum weights_format *format,
                        struct error *error)
{
    struct safetensors file;
    uint64_t most = 0;
    *format = request->format;
    if (request->format_given)
        return true;
    if (!safetensors_open(&file, request->model, error))
        return false;
    for (size_t i = 0; i < file.count; i++) {
        const struct safetensors_entry *entry = &file.entries[i];
        if (safetensors_count(entry) <= most)
            continue;
        most = safetensors_count(entry);
        *format = entry->type == SAFETENSORS_BF16  ? WEIGHTS_BF16
                  : entry->type == SAFETENSORS_F16 ? WEIGHTS_FLOAT16
                                                   : WEIGHTS_FLOAT32;
    }
    safetensors_close(&file);
    return true;
}

/* --- the work --- */

static bool choose_ranks(const struct factorize_request *request, struct factorized_model *made,
                         struct error *error)
{
    struct factorization *f = &made->factorization;
    const bool chosen = request->target == FACTORIZE_ENERGY
                            ? factorization_choose_energy(f, request->value, error)
                        : request->target == FACTORIZE_PARAMETERS
                            ? factorization_choose_parameters(f, request->value, error)
                            : factorize_choose_latency(request, made, error);
    return chosen && (factorization_replaced(f) > 0 ||
                      error_set(error, ERROR_USAGE, made->origin.network->name,
                                "ask for less, or let other layers be factorized",
                                "at this target no layer's factors are smaller than the layer"));
}

/* Builds the new network and its weights. */
static bool make_network(const struct factorize_request *request, struct factorized_model *made,
                         struct error *error)
{
    char step[48];
    struct json *tree = factorization_tree(&made->factorization, error);
    if (tree && compression_append(tree, print_step(request, step, sizeof step), error))
        made->network = network_from_json(tree, error);
    json_free(tree);
    return made->network && weights_create(&made->weights, &made->network->graph, error) &&
           factorization_weights(&made->factorization, &made->weights, error);
}

static bool save(const struct factorize_request *request, struct factorized_model *made,
                 struct error *error)
{
    if (!model_save_derived(&made->origin, made->network, &made->weights, made->format,
                            request->output, error))
        return false;
    made->bytes_after = file_bytes(request->output);
    made->flops_before = graph_flops(&made->origin.network->graph);
    made->flops_after = graph_flops(&made->network->graph);
    made->parameters_before = graph_parameter_count(&made->origin.network->graph);
    made->parameters_after = graph_parameter_count(&made->network->graph);
    return true;
}

/* Returns the bytes of the decomposed layers. */
static uint64_t bytes_of_factors(const struct network *network, const void *settings)
{
    return factorization_bytes(network, settings);
}

bool factorize_model(const struct factorize_request *request, struct factorized_model *made,
                     struct error *error)
{
    *made = (struct factorized_model){.ms_before = (double)NAN, .ms_after = (double)NAN};
    const struct model_use use = {
        .copies = 1, .more = bytes_of_factors, .context = &request->settings};
    if (!check_value(request, error) ||
        !model_output_check(request->model, request->output, error) ||
        !model_load_for(&made->origin, request->model, request->device, request->threads, &use,
                        error))
        return false;
    made->bytes_before = file_bytes(request->model);
    if (check_origin(made->origin.network, error) && find_format(request, &made->format, error) &&
        factorization_begin(&made->factorization, made->origin.network, &made->origin.weights,
                            &request->settings, request->progress, request->context, error) &&
        choose_ranks(request, made, error) && make_network(request, made, error) &&
        save(request, made, error))
        return true;
    factorized_model_free(made);
    return false;
}

void factorized_model_free(struct factorized_model *made)
{
    factorization_free(&made->factorization);
    weights_free(&made->weights);
    network_free(made->network);
    model_free(&made->origin);
    *made = (struct factorized_model){0};
}
