/* The generated data sets: reproducible, without duplicates, and hard enough. */
#include "data/dataset/dataset.h"

#include "base/random.h"
#include "sanitized.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct dataset *opened(const char *spec)
{
    return dataset_open(spec, "train", NULL, NULL);
}

static uint64_t hash_image(const struct image *image)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < image->width * image->height * image->channels; i++)
        hash = (hash ^ image->pixels[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t hash_of(const struct dataset *set, size_t index)
{
    struct image image = {0};
    uint64_t hash = dataset_image(set, index, &image, NULL, NULL) ? hash_image(&image) : 0;
    image_free(&image);
    return hash;
}

static int compare_hashes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The first `count` images of both splits all differ, and are the same when drawn once more. */
static void test_images(const char *name, size_t train, size_t test, size_t classes, size_t count)
{
    char spec[64];
    snprintf(spec, sizeof spec, "%s,split=test", name);
    struct dataset *one = opened(name), *again = opened(name), *other = opened(spec);
    uint64_t *hashes = calloc(2 * count, sizeof *hashes);
    if (!tap_ok(one && again && other && hashes, "%s opens", name))
        return;
    tap_ok(dataset_facts(one)->images == train && dataset_facts(other)->images == test &&
               dataset_facts(one)->classes == classes,
           "%s has %zu and %zu images of %zu classes", name, train, test, classes);
    size_t changed = 0, repeated = 0;
    for (size_t i = 0; i < count; i++) {
        hashes[i] = hash_of(one, i);
        hashes[count + i] = hash_of(other, i);
        /* in a different order, and from a second opening of the set */
        changed += i % 16 == 0 && hashes[i] != hash_of(again, i);
    }
    qsort(hashes, 2 * count, sizeof *hashes, compare_hashes);
    for (size_t i = 1; i < 2 * count; i++)
        repeated += hashes[i] == hashes[i - 1];
    tap_ok(changed == 0, "%s: an image is always the same", name);
    tap_ok(repeated == 0, "%s: no two are equal, also between the splits", name);
    free(hashes);
    dataset_free(one);
    dataset_free(again);
    dataset_free(other);
}

static void test_labels(void)
{
    struct dataset *shapes = opened("shapes"), *digits = opened("digits,limit=30");
    size_t count[10] = {0};
    for (size_t i = 0; i < 10000; i++)
        count[dataset_label(shapes, i)]++;
    bool balanced = true;
    for (size_t c = 0; c < 10; c++)
        balanced = balanced && count[c] == 1000;
    tap_ok(balanced, "the classes of shapes are balanced");
    tap_ok(dataset_label(digits, 27) == 7 && strcmp(dataset_class_name(digits, 7), "7") == 0,
           "any first images of digits are balanced, too");
    dataset_free(shapes);
    dataset_free(digits);
}

/* Where the map has a highway the photograph is grey; where it has a river, the photograph is dark.
 */
static void test_registration(void)
{
    struct dataset *maps = opened("maps");
    size_t highway = 0, grey = 0, river = 0, dark = 0;
    for (size_t i = 0; i < 24; i++) {
        struct image photograph, map;
        dataset_image(maps, i, &photograph, &map, NULL);
        for (size_t p = 0; p < map.width * map.height; p++) {
            const uint8_t *m = map.pixels + 3 * p, *a = photograph.pixels + 3 * p;
            int spread = abs(a[0] - a[2]);
            if (m[0] > 240 && m[2] < 50) {
                highway++;
                grey += spread < 40 && a[0] > 50;
            }
            if (m[0] < 170 && m[2] > 250) {
                river++;
                dark += a[0] < 100 && a[2] + 10 > a[0];
            }
        }
        image_free(&photograph);
        image_free(&map);
    }
    tap_ok(highway > 10000 && (double)grey > 0.9 * (double)highway,
           "maps: %zu of %zu points of highways are asphalt in the photograph", grey, highway);
    tap_ok(river > 10000 && (double)dark > 0.9 * (double)river,
           "maps: %zu of %zu points of rivers are water", dark, river);
    dataset_free(maps);
}

/* --- the accuracy of a linear model --- */

enum { TRAIN = 3000, TEST = 1000, EPOCHS = 8, CLASSES = 10 };

struct linear {
    size_t inputs;
    float *weights; /* [CLASSES, inputs + 1] */
};

static float *load(const struct dataset *set, size_t count, size_t inputs)
{
    float *samples = malloc(count * inputs * sizeof *samples);
    for (size_t i = 0; samples && i < count; i++) {
        struct image image;
        dataset_image(set, i, &image, NULL, NULL);
        for (size_t k = 0; k < inputs; k++)
            samples[i * inputs + k] = ((float)image.pixels[k] - 128.0f) / 128.0f;
        image_free(&image);
    }
    return samples;
}

static size_t predict(const struct linear *model, const float *input, float *probability)
{
    float largest = -INFINITY, sum = 0;
    size_t best = 0;
    for (size_t c = 0; c < CLASSES; c++) {
        const float *w = model->weights + c * (model->inputs + 1);
        float score = w[model->inputs];
        for (size_t k = 0; k < model->inputs; k++)
            score += w[k] * input[k];
        probability[c] = score;
        if (score > largest) {
            largest = score;
            best = c;
        }
    }
    for (size_t c = 0; c < CLASSES; c++)
        sum += probability[c] = expf(probability[c] - largest);
    for (size_t c = 0; c < CLASSES; c++)
        probability[c] /= sum;
    return best;
}

/* Does one step of SGD on one image. */
static void learn(struct linear *model, const float *input, size_t label, float rate)
{
    float probability[CLASSES];
    predict(model, input, probability);
    for (size_t c = 0; c < CLASSES; c++) {
        float step = rate * (probability[c] - (c == label ? 1.0f : 0.0f));
        float *w = model->weights + c * (model->inputs + 1);
        for (size_t k = 0; k < model->inputs; k++)
            w[k] -= step * input[k];
        w[model->inputs] -= step;
    }
}

/* Returns the accuracy on the test split, in percent. */
static double linear_accuracy(const char *name, size_t inputs)
{
    char spec[64];
    snprintf(spec, sizeof spec, "%s,split=test", name);
    struct dataset *train = opened(name), *test = opened(spec);
    float *train_images = load(train, TRAIN, inputs), *test_images = load(test, TEST, inputs);
    struct linear model = {inputs, calloc(CLASSES * (inputs + 1), sizeof(float))};
    uint32_t order[TRAIN];
    for (uint32_t epoch = 0; epoch < EPOCHS; epoch++) {
        float rate = 2.0f / (float)inputs / (1.0f + (float)epoch);
        random_permutation(1, RANDOM_TEST, epoch, order, TRAIN);
        for (size_t i = 0; i < TRAIN; i++)
            learn(&model, train_images + order[i] * inputs, dataset_label(train, order[i]), rate);
    }
    size_t right = 0;
    float probability[CLASSES];
    for (size_t i = 0; i < TEST; i++)
        right += predict(&model, test_images + i * inputs, probability) == dataset_label(test, i);
    free(train_images);
    free(test_images);
    free(model.weights);
    dataset_free(train);
    dataset_free(test);
    return 100.0 * (double)right / TEST;
}

TEST_CASE(generated_test)
{
    test_images("shapes", 10000, 2000, 10, SANITIZED ? 100 : 500);
    test_images("digits", 10000, 2000, 10, SANITIZED ? 100 : 500);
    test_images("tench", 1024, 256, 1000, 8);
    test_images("maps", 200, 40, 1, 6);
    test_labels();
    test_registration();
    if (SANITIZED) /* which would watch the test's own model */
        return tap_done();
    double shapes = linear_accuracy("shapes", 3072), digits = linear_accuracy("digits", 784);
    tap_ok(shapes < 40.0, "a linear model does not get far with shapes (%.1f %%)", shapes);
    tap_ok(digits > 50.0 && digits < 95.0, "with digits it learns, but not perfectly (%.1f %%)",
           digits);
    return tap_done();
}
