/* The values that the form offers for each field: constant lists, and functions that return the
 * n-th value or NULL. */
#include "session/config/config.h"

#include "data/dataset/dataset.h"
#include "engine/devices/device.h"

#include <string.h>

static const char *nth(const char *const *list, size_t n)
{
    for (size_t i = 0; list[i]; i++)
        if (i == n)
            return list[i];
    return NULL;
}

static const char *nth_network(size_t n)
{
    return n < network_builtin_count ? network_builtins[n].name : NULL;
}

/* Returns the n-th device that can be chosen, or NULL. The first GPU is called `cuda`. */
static const char *nth_device(size_t n)
{
    static const char *const gpus[] = {"cuda:1", "cuda:2", "cuda:3", "cuda:4",
                                       "cuda:5", "cuda:6", "cuda:7", NULL};
    char reason[256];
    for (size_t i = 0; device_drivers[i]; i++) {
        const struct device_driver *driver = device_drivers[i];
        if (!driver->available(reason, sizeof reason))
            continue;
        if (n == 0)
            return driver->name;
        const size_t more = driver->count ? driver->count() - 1 : 0;
        if (n <= more && n < sizeof gpus / sizeof *gpus)
            return gpus[n - 1];
        n -= 1 + more;
    }
    return NULL;
}

/* Generated sets need no files, so they can be chosen without a path. */
static const char *nth_generated(size_t n)
{
    size_t count;
    const struct dataset_kind *kinds = dataset_kinds(&count);
    for (size_t i = 0; i < count; i++)
        if (!kinds[i].argument[0] && n-- == 0)
            return kinds[i].name;
    return NULL;
}

/* The generated sets, and a share of the training data. */
static const char *nth_validation(size_t n)
{
    size_t sets = 0;
    while (nth_generated(sets))
        sets++;
    return n < sets ? nth_generated(n) : n == sets ? "auto,share=0.1" : NULL;
}

/* The test split of the training data, and the generated sets. */
static const char *nth_test(size_t n)
{
    return n == 0 ? "auto" : nth_generated(n - 1);
}

const char *config_suggestion(const char *key, size_t n)
{
    static const char *const batches[] = {"1",  "2",   "4",   "8",   "16", "32",
                                          "64", "128", "256", "512", NULL};
    static const char *const epochs[] = {"1", "2", "5", "10", "20", "50", "100", "200", NULL};
    static const char *const rates[] = {"0.1", "0.01", "0.001", "0.0001", NULL};
    static const char *const augmentations[] = {"no",
                                                "yes",
                                                "crop=4,flip",
                                                "crop=4,flip,cutout=8",
                                                "crop=4,flip,rotate=15,color=0.4",
                                                "crop=4,flip,mixup=0.2",
                                                "crop=4,flip,cutmix=1",
                                                NULL};
    static const char *const weights[] = {"balanced", NULL};
    static const struct {
        const char *key;
        const char *const *list;
    } lists[] = {{"batch", batches},
                 {"epochs", epochs},
                 {"lr", rates},
                 {"augment", augmentations},
                 {"class-weights", weights}};
    static const struct {
        const char *key;
        const char *(*nth)(size_t n);
    } makers[] = {{"network", nth_network},
                  {"device", nth_device},
                  {"data", nth_generated},
                  {"validate", nth_validation},
                  {"test", nth_test}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (strcmp(lists[i].key, key) == 0)
            return nth(lists[i].list, n);
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        if (strcmp(makers[i].key, key) == 0)
            return makers[i].nth(n);
    const struct config_field *field = config_find(key);
    return field && field->choices ? nth(field->choices, n) : NULL;
}
