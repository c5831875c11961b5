/* Reads the first examples of a paired set once, and writes them with the network's output as one
 * PNG. */
#include "session/model/samples.h"

#include "base/memory.h"
#include "data/formats/image_file.h"
#include "data/loader/data_loader.h"
#include "session/model/picture.h"

#include <stdlib.h>
#include <string.h>

/* --- creation --- */

static struct shape output_shape(const struct network *network)
{
    return network->graph.nodes[network->graph.output].output;
}

static bool is_picture(struct shape shape)
{
    return shape.channels == 1 || shape.channels == 3;
}

static bool read_example(struct samples *samples, struct data_loader *loader, struct error *error)
{
    struct data_batch batch;
    const size_t inputs = shape_count(samples->network->input);
    const size_t outputs = shape_count(output_shape(samples->network));
    if (!data_loader_next(loader, &batch, error))
        return false;
    memcpy(samples->inputs + samples->count * inputs, batch.images, inputs * sizeof(float));
    memcpy(samples->targets + samples->count * outputs, batch.targets, outputs * sizeof(float));
    samples->count++;
    return true;
}

static bool read_examples(struct samples *samples, const struct dataset *dataset,
                          struct error *error)
{
    const size_t images = dataset_facts(dataset)->images;
    struct data_loader_settings settings = {
        .batch = 1, .normalisation = samples->normalisation, .threads = 1};
    struct data_loader *loader = data_loader_open(dataset, &settings, error);
    bool read = loader;
    for (size_t i = 0; read && i < SAMPLES && i < images; i++)
        read = read_example(samples, loader, error);
    data_loader_free(loader);
    return read;
}

static bool allocate(struct samples *samples, struct error *error)
{
    const size_t inputs = SAMPLES * shape_count(samples->network->input);
    const size_t outputs = SAMPLES * shape_count(output_shape(samples->network));
    samples->inputs = memory_new_aligned(inputs, sizeof(float), "the samples", error);
    samples->targets = memory_new_aligned(outputs, sizeof(float), "the samples", error);
    return samples->inputs && samples->targets;
}

bool samples_create(struct samples *samples, const struct network *network, struct weights *weights,
                    struct device *device, const struct dataset *dataset,
                    const struct normalisation *normalisation, const struct plan *plan,
                    struct error *error)
{
    *samples = (struct samples){.network = network, .normalisation = *normalisation};
    const struct shape in = network->input, out = output_shape(network);
    if (!dataset_facts(dataset)->paired || !is_picture(in) || !is_picture(out) ||
        in.height != out.height || in.width != out.width)
        return true;
    samples->plan = plan;
    samples->execution = execution_create(plan, device, weights, NULL, 0, error);
    return samples->execution && allocate(samples, error) && read_examples(samples, dataset, error);
}

void samples_free(struct samples *samples)
{
    execution_free(samples->execution);
    free(samples->inputs);
    free(samples->targets);
    *samples = (struct samples){0};
}

/* --- pictures --- */

static void lay_row(struct image *picture, const struct samples *samples, size_t row)
{
    const struct shape in = samples->network->input, out = output_shape(samples->network);
    const float *input = samples->inputs + row * shape_count(in);
    const float *target = samples->targets + row * shape_count(out);
    const struct execution_batch batch = {.images = input, .targets = target, .count = 1};
    const size_t top = row * in.height;
    execution_bind(samples->execution, &batch);
    execution_forward(samples->execution, row);
    const struct normalisation *normalisation = &samples->normalisation;
    picture_paste(picture, 0, top, normalisation, in, input);
    picture_paste(picture, in.width, top, normalisation, out, execution_output(samples->execution));
    picture_paste(picture, 2 * in.width, top, normalisation, out, target);
}

bool samples_write(const struct samples *samples, const char *path, struct error *error)
{
    const struct shape in = samples->network->input;
    struct image picture;
    if (!image_create(&picture, 3 * in.width, samples->count * in.height, 3, error))
        return false;
    for (size_t row = 0; row < samples->count; row++)
        lay_row(&picture, samples, row);
    bool written = image_file_write_png(&picture, path, error);
    image_free(&picture);
    return written;
}
