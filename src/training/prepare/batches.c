/* Prepares the training targets: the weights of the classes, and the targets of each batch.
 *
 * A list of numbers and a file of numbers are read alike; a setting that consists of digits, commas
 * and signs is a list. `balanced` counts the labels, without reading images. The weights are those
 * of scikit-learn's class_weight="balanced", by the classes that have images. */
#include "base/files/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/training/soft_targets.h"
#include "models/saved/device_batch.h"
#include "training/prepare/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- class weights --- */

enum { MAX_FILE_BYTES = 1 << 20 };

static bool balance(float *weights, const struct dataset *dataset, struct error *error)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    size_t *counts = memory_new(facts->classes, sizeof *counts, "the class weights", error);
    size_t occupied = 0;
    if (!counts)
        return false;
    for (size_t i = 0; i < facts->images; i++)
        occupied += counts[dataset_label(dataset, i)]++ == 0;
    for (size_t c = 0; c < facts->classes; c++)
        weights[c] =
            counts[c] ? (float)((double)facts->images / ((double)occupied * (double)counts[c])) : 0;
    free(counts);
    return true;
}

static bool refuse_count(const char *setting, size_t count, size_t classes, struct error *error)
{
    return error_set(error, ERROR_USAGE, OPTION(class_weights), "give a number for each class",
                     "the data set has %zu classes, and %.80s has %zu weights", classes, setting,
                     count);
}

/* Reads numbers, changing `text`. */
static bool read_numbers(float *weights, const char *setting, char *text, size_t classes,
                         struct error *error)
{
    static const char separators[] = ", \t\r\n";
    size_t count = 0;
    double weight, sum = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, separators, &rest); word;
         word = strtok_r(NULL, separators, &rest), count++) {
        if (!text_to_double(word, &weight) || !(weight >= 0) || !isfinite((float)weight))
            return error_set(error, ERROR_USAGE, OPTION(class_weights),
                             "give balanced, numbers as in 1,2,0.5, or a file of numbers",
                             "%.40s is no weight: a number of 0 or more was expected", word);
        if (count < classes)
            weights[count] = (float)weight;
        sum += weight;
    }
    if (count != classes)
        return refuse_count(setting, count, classes, error);
    return sum > 0 ||
           error_set(error, ERROR_USAGE, OPTION(class_weights), "make one of them larger",
                     "all weights are 0, so nothing would be trained");
}

/* Returns whether the setting is a list of numbers, not the path of a file. */
static bool is_list(const char *setting)
{
    return strspn(setting, "0123456789.,eE+-") == strlen(setting);
}

/* Sets *weights to a new array of `classes` weights (at least those of the data set), which the
 * caller frees. `setting` is "balanced": images / (classes with images x images of the class), and
 * 0 for a class without images; or a list of numbers, one for each class of the data set, separated
 * by commas; or the path of a file of such numbers, separated by commas or white space. Returns
 * false with an error. */
static bool make_weights(float **weights, const char *setting, const struct dataset *dataset,
                         size_t classes, struct error *error)
{
    size_t size;
    float *made = memory_new(classes, sizeof *made, "the class weights", error);
    char *text = NULL;
    bool read = made;
    if (read && strcmp(setting, "balanced") == 0)
        read = balance(made, dataset, error);
    else if (read) {
        text = is_list(setting) ? memory_copy_text(setting, error)
                                : file_read(setting, MAX_FILE_BYTES, &size, error);
        read = text && read_numbers(made, setting, text, dataset_facts(dataset)->classes, error);
    }
    free(text);
    if (read)
        *weights = made;
    else
        free(made);
    return read;
}

/* --- soft targets --- */

bool prepare_soft_targets(struct preparation *prepared, struct error *error)
{
    const struct network *network = prepared->network;
    const struct training_settings *training = &prepared->settings.training;
    const bool balanced = training->sampling == SAMPLING_BALANCED;
    if (!training->soft_targets && !balanced)
        return true;
    if (balanced && !network_class_loss(network)) /* any loss over classes supports it */
        return prepare_check_cross_entropy(network, "--sampling balanced", error);
    if (training->soft_targets &&
        !prepare_check_cross_entropy(
            network, training->class_weights[0] ? OPTION(class_weights) : OPTION(augment), error))
        return false;
    if (training->class_weights[0] &&
        !make_weights(&prepared->class_weights, training->class_weights, prepared->data,
                      network->classes, error))
        return false;
    if (!training->soft_targets)
        return true;
    prepared->soft_targets =
        memory_new(training->batch, sizeof *prepared->soft_targets, "the soft targets", error);
    if (!prepared->class_weights || !prepared->cluster)
        return prepared->soft_targets;
    prepared->part_weights =
        memory_new(training->batch, sizeof *prepared->part_weights, "the soft targets", error);
    prepared->batch_weights =
        memory_new(training->batch, sizeof *prepared->batch_weights, "the soft targets", error);
    return prepared->soft_targets && prepared->part_weights && prepared->batch_weights;
}

/* --- batches --- */

struct execution_batch prepare_batch(const struct preparation *prepared,
                                     const struct data_batch *batch)
{
    if (prepared->part_weights)
        soft_targets_fill_part(prepared->soft_targets, batch->labels, batch->partner_labels,
                               batch->shares, prepared->class_weights, batch->count,
                               prepared->part_weights);
    else if (prepared->soft_targets)
        soft_targets_fill(prepared->soft_targets, batch->labels, batch->partner_labels,
                          batch->shares, prepared->class_weights, batch->count);
    struct execution_batch bound =
        device_batch_of(prepared->device, batch, &prepared->preprocessing.normalisation);
    bound.soft_targets = prepared->soft_targets;
    bound.class_weights = prepared->class_weights;
    return bound;
}

void prepare_share(const struct preparation *prepared, const struct execution_batch *batch)
{
    if (prepared->part_weights &&
        cluster_gather(prepared->cluster, prepared->part_weights,
                       batch->count * sizeof *prepared->part_weights, prepared->batch_weights))
        soft_targets_scale(prepared->soft_targets, batch->count, prepared->batch_weights,
                           batch->count * cluster_ranks(prepared->cluster));
}
