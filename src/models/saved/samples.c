/* Reads the first examples of a paired set once, and writes them with the network's output as one
 * PNG. */
#include "models/saved/samples.h"

#include "base/memory.h"
#include "base/portable/portable.h"
#include "base/text.h"
#include "data/formats/image_file.h"
#include "data/loader/data_loader.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- finding pictures --- */

/* Parses a name such as "sample-0012.png". */
static bool parse_name(const char *name, size_t *epoch)
{
    static const char prefix[] = "sample-", suffix[] = ".png";
    char digits[24];
    size_t length = strlen(name), around = sizeof prefix - 1 + sizeof suffix - 1;
    if (length <= around || length - around >= sizeof digits ||
        strncmp(name, prefix, sizeof prefix - 1) != 0 ||
        strcmp(name + length - (sizeof suffix - 1), suffix) != 0)
        return false;
    snprintf(digits, sizeof digits, "%.*s", (int)(length - around), name + sizeof prefix - 1);
    return text_to_size(digits, epoch);
}

static bool take(struct sample_file *file, const char *directory, const char *name, size_t epoch)
{
    struct stat status;
    int length = snprintf(file->path, sizeof file->path, "%s/%s", directory, name);
    if (length < 0 || (size_t)length >= sizeof file->path || stat(file->path, &status) != 0)
        return false;
    file->epoch = epoch;
    file->stamp = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
    return true;
}

bool sample_file_newest(const char *run_directory, struct sample_file *file)
{
    char newest[256] = "";
    size_t newest_epoch = 0, epoch;
    DIR *directory = opendir(run_directory);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        if (parse_name(entry->d_name, &epoch) && (!newest[0] || epoch > newest_epoch)) {
            snprintf(newest, sizeof newest, "%s", entry->d_name);
            newest_epoch = epoch;
        }
    if (directory)
        closedir(directory);
    return newest[0] && take(file, run_directory, newest, newest_epoch);
}

size_t sample_examples(const struct run_facts *facts)
{
    size_t images = facts->validation_images ? facts->validation_images : facts->images;
    if (facts->classes > 0)
        return 0;
    return images < SAMPLES ? images : SAMPLES;
}

/* --- values to pictures --- */

/* Returns a value as it was before normalisation. */
static uint8_t sample_of(const struct normalisation *normalisation, size_t channel, float value)
{
    float sample = value * normalisation->deviation[channel] + normalisation->mean[channel];
    if (!(sample > 0))
        return 0; /* also for NaN */
    return sample < 255 ? (uint8_t)lrintf(sample) : 255;
}

void picture_paste(struct image *picture, size_t left, size_t top,
                   const struct normalisation *normalisation, struct shape shape,
                   const float *values)
{
    for (size_t y = 0; y < shape.height; y++)
        for (size_t x = 0; x < shape.width; x++)
            for (size_t c = 0; c < 3; c++) {
                size_t channel = shape.channels == 1 ? 0 : c;
                picture->pixels[((top + y) * picture->width + left + x) * 3 + c] = sample_of(
                    normalisation, channel, values[(channel * shape.height + y) * shape.width + x]);
            }
}

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

/* --- memory --- */

enum { PNG_WRITER = 268 << 10 }; /* bytes of zlib's window and tables in libpng */

uint64_t samples_bytes(const struct network *network, const struct plan *plan)
{
    const size_t values = shape_count(network->input) + shape_count(output_shape(network));
    return plan_bytes_beside_weights(plan) + SAMPLES * values * sizeof(float);
}

uint64_t samples_picture_bytes(const struct network *network)
{
    return PNG_WRITER + 3 * network->input.width * SAMPLES * network->input.height * 3;
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
