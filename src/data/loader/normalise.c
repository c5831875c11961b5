/* Normalisations: presets, and mean and deviation measured on a data set. */
#include "data/dataset/dataset_source.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MEASURED_IMAGES = 10000 };

/* Name, mean and deviation, in units of 0..255. Those of cifar10, cifar100 and imagenet are the
 * customary mean and standard deviation of the training sets. */
static const struct normalisation presets[] = {
    {"unit", {0, 0, 0}, {256, 256, 256}},
    {"signed", {127.5f, 127.5f, 127.5f}, {127.5f, 127.5f, 127.5f}},
    {"caffe", {123, 117, 104}, {1, 1, 1}},
    {"cifar10", {125.307f, 122.950f, 113.865f}, {62.993f, 62.089f, 66.705f}},
    {"cifar100", {129.304f, 124.070f, 112.434f}, {68.170f, 65.392f, 70.418f}},
    {"imagenet", {123.675f, 116.28f, 103.53f}, {58.395f, 57.12f, 57.375f}},
};

/* Sums of the samples and of their squares. Those of 8 bits are integers, so their order does not
 * matter; deep samples are added in the order of the images. */
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

static bool measure(struct normalisation *normalisation, const struct dataset *dataset,
                    struct error *error)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    struct sums sums = {0};
    size_t count = facts->images < MEASURED_IMAGES ? facts->images : MEASURED_IMAGES;
    struct error last = {0};
    for (size_t i = 0; i < count; i++) {
        struct image image;
        if (!dataset_image_for(dataset, i, false, &image, NULL, &last))
            continue; /* the data loader will count unreadable pictures */
        add_image(&sums, &image);
        image_free(&image);
    }
    if (sums.count == 0) {
        if (error)
            *error = last;
        return false;
    }
    snprintf(normalisation->name, sizeof normalisation->name, "measured");
    set_measured(normalisation, &sums, facts->channels);
    return true;
}

bool normalisation_choose(struct normalisation *normalisation, const char *name,
                          const struct dataset *dataset, struct error *error)
{
    *normalisation = (struct normalisation){0};
    if (strcmp(name, "measured") == 0 && dataset)
        return measure(normalisation, dataset, error);
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (strcmp(name, presets[i].name) == 0) {
            *normalisation = presets[i];
            return true;
        }
    return error_set(error, ERROR_USAGE, name,
                     "choose unit, signed, caffe, cifar10, cifar100, imagenet or measured",
                     "there is no such normalisation");
}
