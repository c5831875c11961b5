/* Builds the network, the plans of its method and of validations, and the forecast, before data and
 * device are opened. A run is refused here if it does not fit into memory; otherwise the worker
 * continues with these objects (prepare.c).
 *
 * The data are described by their SPECs: those of generated sets are complete, the files of others
 * are not opened. The forecast is made again once they are open, from the same plans. Plans are
 * built again only if the open device is a GPU, which measures kernels for plans that will run, but
 * not for a forecast, during which another run may be using it; or if a resumed run finds its last
 * checkpoint damaged, and the previous one has recorded other kernels. */
#include "base/language.h"
#include "base/text.h"
#include "data/images/spec_value.h"
#include "data/loader/augmentation.h"
#include "engine/quantize/simulate.h"
#include "models/saved/class_match.h"
#include "runs/machine/autotune_file.h"
#include "runs/machine/tuned_device.h"
#include "runs/settings/config_data.h"
#include "runs/settings/settings.h"
#include "training/prepare/internal.h"

#include <stdio.h>
#include <string.h>

/* --- the data --- */

/* Returns N of the option NAME=N of a SPEC, or 0; `name` is ",NAME=". */
static size_t count_option(const char *spec, const char *name)
{
    char number[24];
    size_t count = 0;
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
    return text_to_size(number, &count) ? count : 0;
}

static bool check_kind(const struct preparation *prepared, struct error *error)
{
    const struct network *network = prepared->network;
    const char *data = prepared->settings.data.data;
    const struct dataset_kind *kind = dataset_kind_of(data);
    struct shape in = network->input;
    if (!kind)
        return error_set(error, ERROR_USAGE, data, "tinca datasets lists them",
                         "there is no data set of this kind");
    if ((kind->channels && kind->channels != in.channels) ||
        (kind->height && kind->height != in.height) || (kind->width && kind->width != in.width))
        return error_set(error, ERROR_INPUT, data, "choose another network or data set",
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

/* The facts about a data set that a forecast needs. */
struct set {
    bool stored;           /* its images are in memory */
    bool deep;             /* some of them have more than 8 bits a sample */
    size_t images;         /* 0: unknown */
    size_t files;          /* images in separate files */
    uint64_t decode_bytes; /* memory of a worker; 0: unknown */
    uint64_t bytes;        /* memory of the open set */
};

/* Returns the facts of an open set; NULL: there is none. */
static struct set set_of(const struct dataset *dataset)
{
    const struct dataset_facts *facts = dataset ? dataset_facts(dataset) : NULL;
    if (!facts)
        return (struct set){0};
    return (struct set){.stored = dataset_kind_of(facts->spec)->stored,
                        .deep = facts->deep,
                        .images = facts->images,
                        .files = facts->decode_bytes && !facts->generator ? facts->images : 0,
                        .decode_bytes = facts->decode_bytes};
}

/* Returns the expected facts of a set before it is opened; "": there is none. */
static struct set expect_set(const char *spec, const char *split, struct shape input)
{
    const struct dataset_request wish = {input.channels, input.height, input.width};
    const struct dataset_kind *kind = spec[0] ? dataset_kind_of(spec) : NULL;
    if (!kind)
        return (struct set){0};
    struct set set = {.stored = kind->stored,
                      .deep = dataset_kind_may_be_deep(kind, input.channels),
                      .images = count_option(spec, ",limit=")};
    const size_t drawn = count_option(spec, ",sample=");
    if (drawn && (!set.images || drawn < set.images))
        set.images = drawn;
    struct dataset *generated =
        kind->argument[0] ? NULL : dataset_open(spec, split, &wish, NULL); /* reads nothing */
    if (generated)
        set = set_of(generated);
    dataset_free(generated);
    set.bytes = dataset_bytes(spec, split);
    return set;
}

/* The sets of a run. */
struct sets {
    struct set training, validation, test;
    bool validates, tests;
};

static struct sets expect_sets(const struct run_config *config, struct shape input)
{
    char validation[CONFIG_SPEC], test[CONFIG_SPEC], training[CONFIG_SPEC];
    config_training_spec(config, training);
    config_validation_spec(config, validation);
    config_test_spec(config, test);
    return (struct sets){.training = expect_set(training, "train", input),
                         .validation = expect_set(validation, "test", input),
                         .test = expect_set(test, "test", input),
                         .validates = validation[0],
                         .tests = test[0]};
}

static struct sets open_sets(const struct preparation *prepared)
{
    return (struct sets){.training = set_of(prepared->data),
                         .validation = set_of(prepared->validation),
                         .test = set_of(prepared->test),
                         .validates = prepared->validation,
                         .tests = prepared->test};
}

/* --- the network --- */

/* Returns whether the network keeps its outputs, whatever the data: a model that a technique has
 * made from another one does, unless the user asks for new ones. */
static bool keeps_outputs(const struct preparation *prepared)
{
    return prepared->network->compression[0] && !prepared->settings.training.reset_classes;
}

bool prepare_network(struct preparation *prepared, size_t classes, struct error *error)
{
    struct network_request request = prepared->settings.network.request;
    request.classes = prepared->classes = classes;
    request.keep_compressed = !prepared->settings.training.reset_classes;
    network_free(prepared->network);
    prepared->network = network_build(&request, error);
    return prepared->network && network_simulate(prepared->network, error);
}

bool prepare_fit_classes(struct preparation *prepared, struct error *error)
{
    const struct dataset_facts *facts = dataset_facts(prepared->data);
    const struct network *network = prepared->network;
    if (keeps_outputs(prepared) || facts->paired || !network->classes ||
        network->classes == facts->classes || prepared->classes == facts->classes)
        return true;
    method_close(&prepared->method);
    plan_free(prepared->inference);
    prepared->inference = NULL;
    prepared->planned.done = false;
    return prepare_network(prepared, facts->classes, error);
}

void prepare_take_settings(struct preparation *prepared, const struct run_config *config)
{
    prepared->config = config;
    prepared->settings =
        (struct prepared_settings){network_settings(config), data_settings(config),
                                   training_settings(config), machine_settings(config)};
}

/* --- the labels --- */

bool prepare_check_cross_entropy(const struct network *network, const char *what,
                                 struct error *error)
{
    const char *loss = network_class_loss(network);
    if (network_has_cross_entropy(network))
        return true;
    if (!loss)
        return error_set(error, ERROR_USAGE, what, "train without it",
                         "%s has no loss over classes (softmax_cross_entropy)", network->name);
    return error_set(error, ERROR_USAGE, what,
                     "train without it, or with a network whose loss is softmax_cross_entropy",
                     "%s has the loss %s, which compares the label with the predicted class: "
                     "there are no target probabilities to smooth, mix or weight",
                     network->name, loss);
}

bool prepare_smooth_labels(struct preparation *prepared, struct error *error)
{
    const double smoothing = prepared->settings.training.label_smoothing;
    return smoothing == 0 ||
           (prepare_check_cross_entropy(prepared->network, OPTION(label_smoothing), error) &&
            network_set_label_smoothing(prepared->network, (float)smoothing));
}

/* --- the plans --- */

static bool same_choices(const struct planned *a, const struct planned *b)
{
    const struct plan_choice *x = a->choices.list, *y = b->choices.list;
    bool same = a->recorded == b->recorded && a->choices.count == b->choices.count;
    for (size_t i = 0; same && i < a->choices.count; i++)
        same = strcmp(x[i].node, y[i].node) == 0 && strcmp(x[i].kernel, y[i].kernel) == 0;
    return same;
}

static bool same_machine(const struct machine_model *a, const struct machine_model *b)
{
    return a->measured == b->measured &&
           (!a->measured || memcmp(a->seconds, b->seconds, sizeof a->seconds) == 0);
}

bool prepare_plan(struct preparation *prepared, const struct device_driver *driver,
                  const struct plan_settings *settings, struct error *error)
{
    const struct plan_choices none = {0};
    const struct planned now = {.done = true,
                                .threads = settings->threads,
                                .machine = *settings->machine,
                                .recorded = settings->choices,
                                .choices = settings->choices ? *settings->choices : none};
    const struct planned *then = &prepared->planned;
    if (then->done && driver->computes_on_host && then->threads == now.threads &&
        same_choices(then, &now) && same_machine(&then->machine, &now.machine))
        return true;
    plan_free(prepared->inference);
    prepared->inference = NULL;
    prepared->planned = now;
    return method_plan(&prepared->method, driver, settings, error);
}

/* --- the forecast --- */

/* Returns the number of the run's iterations. */
static uint64_t count_iterations(const struct training_settings *training, size_t images)
{
    const uint64_t per_epoch = images / training->batch;
    return training->has_iterations ? training->iterations : per_epoch * training->epochs;
}

bool prepare_has_samples(const struct preparation *prepared)
{
    return prepared->network->classes == 0 && cluster_rank(prepared->cluster) == 0;
}

/* Adds the memory of the run's observers on each rank (struct run_besides). */
static void ask_besides(const struct preparation *prepared, const struct sets *sets,
                        struct memory_check_request *question)
{
    const struct training_settings *training = &prepared->settings.training;
    const bool counted = training->has_iterations || sets->training.images;
    const struct run_extent extent = {
        .config = prepared->config,
        .network = prepared->network,
        .rank = cluster_rank(prepared->cluster),
        .iterations = counted ? count_iterations(training, sets->training.images) : 0,
        .on_host = question->driver->computes_on_host,
        .tests = sets->tests,
        .inference = prepare_has_samples(prepared) ? prepared->inference : NULL};
    if (!prepared->besides)
        return;
    question->beside = prepared->besides->bytes(&extent);
    question->at_rest = prepared->besides->at_rest(&extent);
}

/* Fills the forecast with the memory of training, validation and the test; one evaluator at a time
 * exists, so the larger of the two sets counts. Returns false with an error. */
static bool forecast_memory(struct preparation *prepared, const struct device_driver *driver,
                            const struct plan_settings *settings, const struct sets *sets,
                            struct error *error)
{
    const bool tests =
        !sets->validates || (sets->tests && sets->test.images > sets->validation.images);
    const struct set *evaluated = tests ? &sets->test : &sets->validation;
    const bool evaluates = sets->validates || sets->tests;
    const size_t images = evaluated->images ? evaluated->images : SIZE_MAX;
    const struct network *network = prepared->network;
    prepared->inference_batch = evaluates ? evaluator_batch(network, images) : 0;
    struct memory_check_request question = {
        .method = &prepared->method,
        .driver = driver,
        .device = prepared->settings.machine.device,
        .settings = settings,
        .beforehand = !prepared->data,
        .stored = sets->training.stored,
        .validation_stored = evaluated->stored,
        .data_bytes = sets->training.bytes + sets->validation.bytes + sets->test.bytes,
        .files = sets->training.files + sets->validation.files + sets->test.files,
        .decode_bytes = sets->training.decode_bytes,
        .validation_decode_bytes = evaluated->decode_bytes,
        .validation_images = evaluated->images,
        .validation = prepared->inference_batch,
        .validation_samples =
            !driver->computes_on_host && !evaluated->deep && network->classes > 0};
    struct forecast *forecast = &prepared->forecast;
    if (prepare_has_samples(prepared) &&
        !memory_check_inference(&question, 1, &prepared->inference, error))
        return false;
    ask_besides(prepared, sets, &question);
    *forecast = (struct forecast){.parameters = graph_parameter_count(&network->graph),
                                  .flops = graph_flops(&network->graph),
                                  .classes = network->classes,
                                  .input = network->input,
                                  .memory = *method_memory(&prepared->method)};
    char name[sizeof network->name + sizeof forecast->suffixes];
    network_full_name(network, name, sizeof name);
    snprintf(forecast->network, sizeof forecast->network, "%s", network->name);
    snprintf(forecast->suffixes, sizeof forecast->suffixes, "%s", name + strlen(network->name));
    return memory_check(&question, forecast, &prepared->inference, error);
}

bool prepare_fits_memory(struct preparation *prepared, const struct plan_settings *settings,
                         struct error *error)
{
    const struct device_driver *driver = prepared->device->driver;
    const struct forecast *forecast = &prepared->forecast;
    struct sets sets = open_sets(prepared);
    if (!forecast_memory(prepared, driver, settings, &sets, error))
        return false;
    if (!forecast->fits && prepared->validation && cluster_rank(prepared->cluster) > 0) {
        forecast_refuse(forecast, prepared->settings.training.batch, error);
        prepare_drop_validation(prepared, error);
        sets = open_sets(prepared);
        if (!forecast_memory(prepared, driver, settings, &sets, error))
            return false;
    }
    return forecast->fits || forecast_refuse(forecast, prepared->settings.training.batch, error);
}

/* --- before data and device are open --- */

/* Returns whether batches will be of 8-bit samples, as far as the kind of the data set determines
 * it. */
static bool has_sample_batches(const struct preparation *prepared,
                               const struct device_driver *driver)
{
    const struct dataset_kind *kind = dataset_kind_of(prepared->settings.data.data);
    return !driver->computes_on_host &&
           augmentation_keeps_samples(&prepared->settings.training.augmentation) &&
           !dataset_kind_may_be_deep(kind, prepared->network->input.channels);
}

/* Opens a device with memory of its own, so that the plan can ask its libraries for the workspace
 * that the run will allocate. Returns NULL for other devices, and if it cannot be opened now: the
 * forecast then lacks that workspace, and the run will report why it cannot start. */
static struct device *open_for_libraries(const struct machine_settings *machine,
                                         const struct device_driver *driver)
{
    struct error unused;
    struct device *device =
        driver->computes_on_host ? NULL : device_open(machine->device, 1, &unused);
    if (device && driver->use_autotune)
        autotune_file_use(device, false, false, NULL); /* a run may be using the GPU now */
    if (!device || device_set_precision(device, (enum device_precision)machine->precision, &unused))
        return device;
    device_close(device);
    return NULL;
}

static bool plan_all(struct preparation *prepared, const struct device_driver *driver,
                     const struct device *device, struct error *error)
{
    const size_t threads = device_threads(prepared->settings.machine.threads);
    const struct machine_model machine = tuned_device_figures(driver, threads);
    const struct sets sets = expect_sets(prepared->config, prepared->network->input);
    struct plan_settings settings = settings_plan(prepared->config, threads, PLAN_TRAINING);
    settings.sample_batches = has_sample_batches(prepared, driver);
    settings.device = device;
    settings.machine = &machine;
    settings.choices = prepared->goes_on ? &prepared->recorded : NULL;
    return prepare_plan(prepared, driver, &settings, error) &&
           forecast_memory(prepared, driver, &settings, &sets, error);
}

bool prepare_expected_network(struct preparation *prepared, size_t classes, struct error *error)
{
    const char *data = prepared->settings.data.data;
    const size_t known = classes ? classes : dataset_expected_classes(data, "train");
    size_t outputs = known;
    if (!config_check(prepared->config, error))
        return false;
    if (!known) {
        if (!method_begin(&prepared->method, prepared->config, error))
            return false;
        outputs = method_classes(&prepared->method);
    }
    return prepare_network(prepared, outputs, error) && check_kind(prepared, error) &&
           (known == 0 || keeps_outputs(prepared) || prepared->settings.training.outputs_kept ||
            class_match_outputs(prepared->network, known, data, error));
}

bool prepare_unopened(struct preparation *prepared, size_t classes, struct error *error)
{
    const struct machine_settings *machine = &prepared->settings.machine;
    if (!prepare_expected_network(prepared, classes, error) ||
        !method_open(&prepared->method, prepared->config, prepared->network, error) ||
        !prepare_smooth_labels(prepared, error))
        return false;
    const struct device_driver *driver = device_find(machine->device, NULL, error);
    struct device *device = driver ? open_for_libraries(machine, driver) : NULL;
    const bool planned = driver && plan_all(prepared, driver, device, error);
    device_close(device);
    return planned;
}
