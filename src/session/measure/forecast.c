/* Builds the network and a plan for it, and lets memory_check.c compute the memory. The data set is
 * not opened: its kind gives the number of classes and the size of the images. */
#include "session/measure/forecast.h"

#include "base/host/host.h"
#include "base/language.h"
#include "base/text.h"
#include "data/dataset/dataset.h"
#include "data/images/spec_value.h"
#include "data/loader/augmentation.h"
#include "engine/quantize/simulate.h"
#include "session/config/config_data.h"
#include "session/config/settings.h"
#include "session/machine/autotune_file.h"
#include "session/measure/memory_check.h"
#include "session/model/class_match.h"
#include "session/model/evaluator.h"
#include "session/values/series.h"

#include <stdio.h>
#include <string.h>

/* --- the data --- */

/* Returns N of the option classes=N of a SPEC, or 0. */
static size_t classes_option(const char *spec)
{
    static const char name[] = ",classes=";
    char number[24];
    size_t classes = 0;
    const char *option = spec + spec_head_length(spec);
    while (*option && strncmp(option, name, strlen(name)) != 0) {
        const size_t value = 1 + strcspn(option + 1, "=,");
        option += value;
        option += *option == '=' ? 1 + spec_value_length(option + 1) : 0;
    }
    if (!*option)
        return 0;
    option += strlen(name);
    snprintf(number, sizeof number, "%.*s", (int)strcspn(option, ","), option);
    return text_to_size(number, &classes) ? classes : 0;
}

static bool check_kind(const struct run_config *config, const struct network *network,
                       struct error *error)
{
    const struct dataset_kind *kind = dataset_kind_of(config->data);
    struct shape in = network->input;
    if (!kind)
        return error_set(error, ERROR_USAGE, config->data, "tinca datasets lists them",
                         "there is no data set of this kind");
    if ((kind->channels && kind->channels != in.channels) ||
        (kind->height && kind->height != in.height) || (kind->width && kind->width != in.width))
        return error_set(error, ERROR_INPUT, config->data, "choose another network or data set",
                         ngettext("its images are %zux%zu with %zu channel, but %s wants "
                                  "%zux%zu with %zu",
                                  "its images are %zux%zu with %zu channels, but %s wants "
                                  "%zux%zu with %zu",
                                  kind->channels),
                         kind->height ? kind->height : in.height,
                         kind->width ? kind->width : in.width, kind->channels, network->name,
                         in.height, in.width, in.channels);
    return true;
}

/* Returns the number of classes if the SPEC or its kind gives it; else 0. */
static size_t known_classes(const char *spec)
{
    const struct dataset_kind *kind = dataset_kind_of(spec);
    size_t option = classes_option(spec);
    return option ? option : kind ? kind->classes : 0;
}

/* --- the device --- */

static size_t usable_threads(size_t asked)
{
    struct host host;
    if (asked)
        return asked;
    host_describe(&host);
    return host.cores;
}

/* Returns whether batches will be of 8-bit samples, as far as the kind of the data set tells. */
static bool has_sample_batches(const struct run_config *config, const struct network *network,
                               const struct device_driver *driver)
{
    struct augmentation augmentation = {0};
    augmentation_parse(&augmentation, config->augment, NULL); /* config_set checked it */
    return !driver->computes_on_host && augmentation_keeps_samples(&augmentation) &&
           !dataset_kind_may_be_deep(dataset_kind_of(config->data), network->input.channels);
}

/* Opens a device with memory of its own, so that the plan can ask its libraries for the workspace
 * that the run will allocate. Returns NULL for other devices, and if it cannot be opened now: the
 * forecast then lacks that workspace, and the run will say why it cannot start. */
static struct device *open_for_libraries(const struct run_config *config)
{
    struct error unused;
    const struct device_driver *driver = device_find(config->device, NULL, &unused);
    struct device *device =
        driver && !driver->computes_on_host ? device_open(config->device, 1, &unused) : NULL;
    if (device && driver->use_autotune)
        autotune_file_use(device, false, false, NULL); /* a run may be using the GPU now */
    if (!device || device_set_precision(device, (enum device_precision)config->precision, &unused))
        return device;
    device_close(device);
    return NULL;
}

/* --- the forecast --- */

static bool forecast_network(const struct run_config *config, const struct network *network,
                             const struct method *method, const struct device *device,
                             struct forecast *forecast, struct error *error)
{
    const struct device_driver *driver = device_find(config->device, NULL, error);
    if (!driver)
        return false;
    struct plan_settings settings =
        settings_plan(config, usable_threads(config->threads), PLAN_TRAINING);
    settings.sample_batches = has_sample_batches(config, network, driver);
    settings.device = device;
    if (!method_forecast(method, driver, &settings, &forecast->memory, error))
        return false;
    forecast->parameters = graph_parameter_count(&network->graph);
    forecast->flops = graph_flops(&network->graph);
    forecast->classes = network->classes;
    char name[sizeof network->name + sizeof forecast->suffixes];
    network_full_name(network, name, sizeof name);
    snprintf(forecast->network, sizeof forecast->network, "%s", network->name);
    snprintf(forecast->suffixes, sizeof forecast->suffixes, "%s", name + strlen(network->name));
    forecast->input = network->input;
    char held[CONFIG_SPEC], test[CONFIG_SPEC];
    config_validation_spec(config, held);
    config_test_spec(config, test);
    const char *evaluated = held[0] ? held : test;
    const struct dataset_kind *validation = evaluated[0] ? dataset_kind_of(evaluated) : NULL;
    const struct memory_check_request question = {
        .network = network,
        .method = method,
        .driver = driver,
        .device = config->device,
        .settings = &settings,
        .beforehand = true,
        .stored = dataset_kind_of(config->data)->stored,
        .validation_stored = validation && validation->stored,
        .samples = network->classes == 0,
        .average = config->ema > 0,
        .tested = test[0],
        .data_bytes = dataset_bytes(config->data, "train") +
                      (held[0] ? dataset_bytes(held, "test") : 0) +
                      (test[0] ? dataset_bytes(test, "test") : 0),
        .curve_bytes = config->has_iterations ? series_bytes(config->iterations) : 0,
        .validation = evaluated[0] ? evaluator_batch(network, SIZE_MAX) : 0};
    memory_check(&question, forecast);
    return true;
}

bool forecast_make(const struct run_config *config, size_t classes, struct forecast *forecast,
                   struct error *error)
{
    *forecast = (struct forecast){0};
    if (!config_check(config, error))
        return false;
    const size_t known = classes ? classes : known_classes(config->data);
    struct network_request request = settings_network(config, known);
    struct network *network = network_build(&request, error);
    struct method method = {0};
    bool made = network && network_simulate(network, error) && check_kind(config, network, error) &&
                (known == 0 || class_match_outputs(network, known, config->data, error)) &&
                method_open(&method, config, network, error);
    struct device *device = made ? open_for_libraries(config) : NULL;
    made = made && forecast_network(config, network, &method, device, forecast, error);
    device_close(device);
    method_close(&method);
    network_free(network);
    return made;
}
