/* Normalisations: presets, and mean and deviation measured on a data set.
 *
 * A set in memory is measured whole. Of pictures that have to be decoded or drawn, at most
 * MEASURED_IMAGES are read; if there are more, these are a random sample, because the first images
 * of a sorted set are those of a few classes. */
#include "data/dataset/dataset_source.h"

#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MEASURED_IMAGES = 10000 };

/* Name, mean and deviation, in units of 0..255. The figures of cifar10, cifar100 and imagenet are
 * the customary mean and standard deviation of the training sets. */
static const struct normalisation presets[] = {
    {.name = "unit", .deviation = {255, 255, 255}},
    {.name = "unit256", .deviation = {256, 256, 256}},
    {.name = "signed", .mean = {127.5f, 127.5f, 127.5f}, .deviation = {127.5f, 127.5f, 127.5f}},
    {.name = "caffe", .mean = {123, 117, 104}, .deviation = {1, 1, 1}},
    {.name = "cifar10",
     .mean = {125.307f, 122.950f, 113.865f},
     .deviation = {62.993f, 62.089f, 66.705f}},
    {.name = "cifar100",
     .mean = {129.304f, 124.070f, 112.434f},
     .deviation = {68.170f, 65.392f, 70.418f}},
    {.name = "imagenet",
     .mean = {123.675f, 116.28f, 103.53f},
     .deviation = {58.395f, 57.12f, 57.375f}},
};

/* Sums of the samples and of their squares. Sums of 8-bit samples are integers, so their order does
 * not matter; deep samples are added in the order of the images. */
struct sums {
    uint64_t sum[3], square[3], count;
    double deep_sum[3], deep_square[3];
};

static void add_image(struct sums *sums, const struct image *image)
{
    size_t channels = image->channels, count = image->width * image->height;
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < channels; c++) {
            if (image->deep) {
                const double deep = (double)image->deep[i * channels + c];
                sums->deep_sum[c] += deep;
                sums->deep_square[c] += deep * deep;
                continue;
            }
            uint64_t sample = image->pixels[i * channels + c];
            sums->sum[c] += sample;
            sums->square[c] += sample * sample;
        }
    sums->count += count;
}

static void set_measured(struct normalisation *normalisation, const struct sums *sums,
                         size_t channels)
{
    for (size_t c = 0; c < 3; c++) {
        size_t from = c < channels ? c : 0;
        double sum = (double)sums->sum[from] + sums->deep_sum[from];
        double square = (double)sums->square[from] + sums->deep_square[from];
        double mean = sum / (double)sums->count;
        double variance = square / (double)sums->count - mean * mean;
        normalisation->mean[c] = (float)mean;
        /* if all samples are equal, do not scale them */
        normalisation->deviation[c] = variance > 1e-6 ? (float)sqrt(variance) : 1.0f;
    }
}

static bool add_one(struct sums *sums, const struct dataset *dataset, size_t index,
                    struct error *error)
{
    struct image image;
    if (!dataset_image_for(dataset, index, false, &image, NULL, error))
        return false;
    add_image(sums, &image);
    image_free(&image);
    return true;
}

/* Returns how many images to read. */
static size_t images_to_read(const struct dataset *dataset)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    const bool all = dataset_source(dataset)->quick && facts->preprocessing.recorded;
    return all || facts->images < MEASURED_IMAGES ? facts->images : MEASURED_IMAGES;
}

/* Reads images in their order, each remaining one with the probability that fills the sample
 * (Knuth's algorithm S): every set of `count` images is equally likely. If the set's preprocessing
 * is not recorded, it reads the first ones, as earlier versions did. Returns how many could be
 * read; *last gets the error of the last one that could not be read. */
static size_t add_sample(struct sums *sums, const struct dataset *dataset, size_t count,
                         struct error *last)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    struct random_stream draws = random_stream_at(facts->draw, RANDOM_MEASURE, 0, 0);
    size_t read = 0, wanted = count;
    for (size_t i = 0; wanted > 0; i++) {
        const size_t left = facts->images - i;
        if (facts->preprocessing.recorded && wanted < left &&
            random_next_below(&draws, (uint32_t)left) >= wanted)
            continue;
        wanted--;
        read += add_one(sums, dataset, i, last);
    }
    return read;
}

static bool measure(struct normalisation *normalisation, const struct dataset *dataset,
                    struct error *error)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    struct sums sums = {0};
    struct error last = {0};
    const size_t count = images_to_read(dataset), read = add_sample(&sums, dataset, count, &last);
    if (read == 0) {
        if (error)
            *error = last;
        return false;
    }
    snprintf(normalisation->name, sizeof normalisation->name, "measured");
    set_measured(normalisation, &sums, facts->channels);
    if (!facts->preprocessing.recorded)
        return true;
    normalisation->measured = read;
    normalisation->measured_of = facts->images;
    normalisation->drawn = count < facts->images;
    normalisation->seed = normalisation->drawn ? facts->draw : 0;
    return true;
}

/* Chooses the division by 256 under its earlier name "unit". Returns whether `name` means it. */
static bool choose_earlier_unit(struct normalisation *normalisation, const char *name)
{
    if (strcmp(name, "unit") != 0 && strcmp(name, "unit256") != 0)
        return false;
    *normalisation = (struct normalisation){.name = "unit", .deviation = {256, 256, 256}};
    return true;
}

struct preprocessing preprocessing_of(const struct dataset *dataset,
                                      const struct normalisation *normalisation)
{
    struct preprocessing p = dataset_facts(dataset)->preprocessing;
    p.normalisation = *normalisation;
    return p;
}

bool normalisation_choose(struct normalisation *normalisation, const char *name,
                          const struct dataset *dataset, struct error *error)
{
    *normalisation = (struct normalisation){0};
    if (strcmp(name, "measured") == 0 && dataset)
        return measure(normalisation, dataset, error);
    return normalisation_preset(normalisation, name,
                                !dataset || dataset_facts(dataset)->preprocessing.recorded, error);
}

bool normalisation_preset(struct normalisation *normalisation, const char *name, bool recorded,
                          struct error *error)
{
    if (!recorded && choose_earlier_unit(normalisation, name))
        return true;
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (strcmp(name, presets[i].name) == 0) {
            *normalisation = presets[i];
            return true;
        }
    return error_set(error, ERROR_USAGE, name,
                     "choose unit, unit256, signed, caffe, cifar10, cifar100, imagenet or measured",
                     "there is no such normalisation");
}
