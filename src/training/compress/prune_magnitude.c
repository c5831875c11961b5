/* The output is written first and then measured as a user would find it: both files are compressed
 * as a stream, and both models infer in turn with the weights of their files. */
#include "training/compress/prune.h"

#include "base/files/file.h"
#include "engine/compress/magnitude.h"
#include "engine/network/network_compression.h"
#include "engine/network/network_write.h"
#include "models/measure/inference_time.h"
#include "models/saved/model_file.h"
#include "models/saved/model_output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { PART = 1 << 14 };

/* --- compressed size --- */

/* Counts the bytes of a stream, and those after compression. */
static bool count_compressed(FILE *file, uint64_t *bytes, uint64_t *compressed)
{
    unsigned char in[PART], out[PART];
    z_stream stream = {0};
    int status = Z_OK;
    if (deflateInit(&stream, 6) != Z_OK)
        return false;
    *bytes = *compressed = 0;
    while (status == Z_OK) {
        stream.avail_in = (uInt)fread(in, 1, sizeof in, file);
        stream.next_in = in;
        *bytes += stream.avail_in;
        const int flush = stream.avail_in < sizeof in ? Z_FINISH : Z_NO_FLUSH;
        do {
            stream.next_out = out;
            stream.avail_out = sizeof out;
            status = deflate(&stream, flush);
            *compressed += sizeof out - stream.avail_out;
        } while (stream.avail_out == 0);
    }
    deflateEnd(&stream);
    return status == Z_STREAM_END && !ferror(file);
}

static bool measure_file(const char *path, uint64_t *bytes, uint64_t *compressed,
                         struct error *error)
{
    FILE *file = file_open_stream(path, error);
    if (!file)
        return false;
    const bool counted = count_compressed(file, bytes, compressed);
    fclose(file);
    return counted ||
           error_set(error, ERROR_SYSTEM, path, NULL, "the file could not be read and compressed");
}

/* --- the model --- */

/* Saves the pruned weights with a network whose chain names the step. */
static bool save(const struct magnitude_request *request, const struct model *origin,
                 struct weights *weights, struct magnitude_result *result, struct error *error)
{
    char step[64];
    struct network *named = NULL;
    struct json *root = network_to_json(origin->network);
    snprintf(step, sizeof step, "prune:m%.6g", request->share);
    if (!root)
        error_set_memory(error, origin->network->name, 0);
    else if (compression_append(root, step, error))
        named = network_from_json(root, error);
    json_free(root);
    if (!named)
        return false;
    network_full_name(named, result->network, sizeof result->network);
    const bool saved =
        magnitude_prune(weights, request->share, &result->weights, &result->zeros, error) &&
        model_save_derived(origin, named, weights, WEIGHTS_FLOAT32, request->output, error);
    network_free(named);
    return saved;
}

static bool evaluate(const struct magnitude_request *request, const struct technique_watch *watch,
                     struct model *models[2], struct magnitude_result *result, struct error *error)
{
    const struct evaluation_request settings = {.progress = technique_watch_poll,
                                                .context = (void *)watch};
    result->evaluated = request->validate[0];
    bool good = true;
    for (size_t i = 0; result->evaluated && good && i < 2; i++) {
        struct dataset *dataset = model_open_set(models[i], request->validate, error);
        good = dataset &&
               model_evaluate_set(models[i], dataset, &settings, &result->accuracy[i], error);
        dataset_free(dataset);
    }
    return good;
}

static bool measure_both(const struct magnitude_request *request,
                         const struct technique_watch *watch, struct model *before,
                         struct magnitude_result *result, struct error *error)
{
    struct model after;
    if (!model_load(&after, request->output, request->device, request->threads, error))
        return false;
    struct model *models[2] = {before, &after};
    const bool measured =
        measure_file(request->model, &result->bytes[0], &result->compressed[0], error) &&
        measure_file(request->output, &result->bytes[1], &result->compressed[1], error) &&
        inference_times(before, &after, result->ms, error) &&
        evaluate(request, watch, models, result, error);
    model_free(&after);
    return measured;
}

bool magnitude_run(const struct magnitude_request *request, const struct technique_watch *watch,
                   struct magnitude_result *result, struct error *error)
{
    struct model origin, pruned;
    const struct model_use use = {.models = 1};
    *result = (struct magnitude_result){0};
    if (!(request->share > 0) || !(request->share < 1))
        return error_set(error, ERROR_USAGE, "--unstructured", "give what becomes zero, as 0.9",
                         "it is a share above 0 and below 1");
    if (!model_output_check(request->model, request->output, error) ||
        !model_load_for(&origin, request->model, request->device, request->threads, &use, error))
        return false;
    bool done = model_load(&pruned, request->model, request->device, request->threads, error);
    if (done) {
        done = weights_fetch(&pruned.weights, error) &&
               save(request, &origin, &pruned.weights, result, error);
        model_free(&pruned);
    }
    done = done && measure_both(request, watch, &origin, result, error);
    model_free(&origin);
    return done;
}
