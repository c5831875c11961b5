/* A list of numbers and a file of numbers are read alike; a setting that consists of digits, commas
 * and signs is a list. `balanced` counts the labels, without reading images. The weights are those
 * of scikit-learn's class_weight="balanced", by the classes that have images. */
#include "session/prepare/class_weights.h"

#include "base/files/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    return error_set(error, ERROR_USAGE, "--class-weights", "give a number for each class",
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
            return error_set(error, ERROR_USAGE, "--class-weights",
                             "give balanced, numbers as in 1,2,0.5, or a file of numbers",
                             "%.40s is no weight: a number of 0 or more was expected", word);
        if (count < classes)
            weights[count] = (float)weight;
        sum += weight;
    }
    if (count != classes)
        return refuse_count(setting, count, classes, error);
    return sum > 0 || error_set(error, ERROR_USAGE, "--class-weights", "make one of them larger",
                                "all weights are 0, so nothing would be trained");
}

/* Returns whether the setting is a list of numbers, not the path of a file. */
static bool is_list(const char *setting)
{
    return strspn(setting, "0123456789.,eE+-") == strlen(setting);
}

bool class_weights_make(float **weights, const char *setting, const struct dataset *dataset,
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
