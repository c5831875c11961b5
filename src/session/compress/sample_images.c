/* The images are drawn without replacement: the beginning of a random permutation, which a smaller
 * sample of the same seed has, too. */
#include "session/compress/sample_images.h"

#include "base/language.h"
#include "base/memory.h"
#include "base/random.h"
#include "data/loader/data_loader.h"
#include "session/model/class_match.h"
#include "session/model/ranking.h"

#include <math.h>
#include <stdlib.h>

enum { BATCH = 32 };

/* Sets chosen[0..count) to different numbers below `images`: the beginning of a random permutation
 * (Fisher & Yates). */
static bool choose(size_t *chosen, size_t count, size_t images, uint64_t seed, struct error *error)
{
    size_t *all = memory_new(images, sizeof *all, "the order of images", error);
    if (!all)
        return false;
    for (size_t i = 0; i < images; i++)
        all[i] = i;
    for (size_t i = 0; i < count; i++) {
        const struct random_block block = random_philox(seed, RANDOM_CALIBRATE, 0, i);
        const uint64_t word = (uint64_t)block.word[0] << 32 | block.word[1];
        const size_t other = i + (size_t)(word % (images - i)), kept = all[i];
        chosen[i] = all[i] = all[other];
        all[other] = kept;
    }
    free(all);
    return true;
}

static bool check_set(struct model *model, struct dataset *dataset, struct error *error)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    if (facts->paired || facts->images == 0)
        return error_set(error, ERROR_INPUT, facts->spec, "choose the set that it was trained on",
                         facts->paired ? N_("its examples are pairs of pictures, without classes")
                                       : N_("it holds no images"));
    return class_match_model(model, dataset, error);
}

static bool read_images(struct sample_images *sample, const struct model *model,
                        const struct dataset *dataset, uint64_t seed, struct error *error)
{
    const size_t images = dataset_facts(dataset)->images;
    sample->count = sample->count < images ? sample->count : images;
    sample->values = shape_count(model->network->input);
    size_t *chosen = memory_new(sample->count, sizeof *chosen, "the order of images", error);
    sample->images =
        memory_new_aligned(sample->count * sample->values, sizeof(float), "the images", error);
    sample->labels = memory_new(sample->count, sizeof *sample->labels, "the labels", error);
    bool read = chosen && sample->images && sample->labels &&
                choose(chosen, sample->count, images, seed, error);
    for (size_t i = 0; read && i < sample->count; i++) {
        read = data_loader_read_example(dataset, &model->preprocessing.normalisation, chosen[i],
                                        sample->images + i * sample->values, NULL, error);
        sample->labels[i] = (int32_t)dataset_label(dataset, chosen[i]);
    }
    free(chosen);
    return read;
}

bool sample_images_read(struct sample_images *sample, struct model *model, const char *spec,
                        size_t count, uint64_t seed, struct error *error)
{
    const struct shape input = model->network->input;
    const struct dataset_request wish = {input.channels, input.height, input.width};
    *sample = (struct sample_images){.count = count};
    struct dataset *dataset = dataset_open_as(spec, "train", &wish, &model->preprocessing, error);
    const bool read = dataset && check_set(model, dataset, error) &&
                      read_images(sample, model, dataset, seed, error);
    dataset_free(dataset);
    return read;
}

void sample_images_free(struct sample_images *sample)
{
    free(sample->images);
    free(sample->labels);
    *sample = (struct sample_images){0};
}

/* Adds an image's logits to the result. */
static void tally(const float *logits, size_t classes, int32_t label, struct sample_result *result)
{
    const uint32_t first = ranking_first(logits, classes);
    result->right += first == (uint32_t)label;
    if (first == RANKING_NONE) {
        result->loss = NAN;
    } else {
        const struct class_shares shares = ranking_shares(logits, classes);
        result->loss += log(shares.sum) + (double)shares.largest - (double)logits[label];
    }
    result->images++;
}

bool sample_images_evaluate(const struct sample_images *sample, size_t images,
                            const struct network *network, struct weights *weights,
                            struct device *device, struct sample_result *result,
                            struct error *error)
{
    const struct plan_settings settings = {.mode = PLAN_INFERENCE,
                                           .batch = BATCH,
                                           .threads = device->threads,
                                           .device = device,
                                           .machine = &device->machine};
    struct plan *plan = plan_build(&network->graph, device->driver, &settings, error);
    struct execution *execution =
        plan ? execution_create(plan, device, weights, NULL, 0, error) : NULL;
    *result = (struct sample_result){0};
    for (size_t first = 0; execution && first < images; first += BATCH) {
        const size_t count = images - first < BATCH ? images - first : BATCH;
        const struct execution_batch batch = {.images = sample->images + first * sample->values,
                                              .count = count};
        execution_bind(execution, &batch);
        execution_forward(execution, 0);
        const float *logits = execution_output(execution);
        for (size_t i = 0; i < count; i++)
            tally(logits + i * network->classes, network->classes, sample->labels[first + i],
                  result);
    }
    result->loss /= (double)images;
    const bool evaluated = execution && device_check(device, error);
    execution_free(execution);
    plan_free(plan);
    return evaluated;
}
