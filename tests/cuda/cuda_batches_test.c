/* Batches on the emulated device cuda: samples that it normalises have the bits of the host's
 * floats, of every value, for colour and grey images, windows, mirror images and pairs; a loader
 * whose batches lie in pinned memory never overwrites one that the device has yet to read; floats,
 * samples and ordinary memory train to the same bits, on one GPU and on two; failed allocations
 * give errors; a run on 8-bit arrays has the losses of one on the same numbers as floats; the
 * forecast counts the bytes of either. */
#include "choose_tests.h"
#include "cuda/emulated_module.h"
#include "cuda/lab.h"
#include "session_files.h"

#include "engine/devices/device_backend.h"
#include "models/saved/device_batch.h"
#include "training/forecast_make.h"
#include "training/run_start.h"

#include <sys/stat.h>

enum { BATCH = 6, TRIES = 2 };

static const struct solver_settings sgd = {SOLVER_SGD, 0.9f, 0, 0, 0.0005f, MOMENTUM_CAFFE};

static const char classifier[] =
    "{\"name\": \"classifier\", \"input\": [%zu, %zu, %zu], \"classes\": 10,\n"
    " \"normalise\": \"unit\", \"layers\": [{\"op\": \"flatten\"},\n"
    "  {\"op\": \"linear\", \"output\": 12}, {\"op\": \"relu\"},\n"
    "  {\"op\": \"linear\", \"output\": \"classes\"}]}\n";
static const char painter[] =
    "{\"name\": \"painter\", \"input\": [%zu, %zu, %zu], \"normalise\": \"signed\",\n"
    " \"loss\": \"l1_loss\", \"layers\": [\n"
    "  {\"op\": \"conv\", \"output\": 3, \"kernel\": 3, \"pad\": 1}, {\"op\": \"tanh\"}]}\n";

/* --- a network, for whose shape batches are made --- */

static bool lab_open(struct lab *lab, const char *device, const char *text, struct shape shape,
                     enum plan_mode mode, size_t batch, bool samples)
{
    char json[512];
    struct error error = {0};
    struct device *opened = device_open(device, 1, &error);
    struct plan_settings plan = {.mode = mode,
                                 .batch = batch,
                                 .ranks = mode == PLAN_TRAINING ? device_ranks(device) : 1,
                                 .threads = 1,
                                 .solver = sgd,
                                 .with_loss = true,
                                 .sample_batches = samples,
                                 .device = opened};
    *lab = (struct lab){.device = opened};
    snprintf(json, sizeof json, text, shape.channels, shape.height, shape.width);
    struct network_request request = {.network = "made", .text = json};
    lab->network = opened ? network_build(&request, &error) : NULL;
    if (lab->network)
        lab->plan = plan_build(&lab->network->graph, opened->driver, &plan, &error);
    if (lab->plan && weights_create(&lab->weights, &lab->network->graph, &error)) {
        weights_initialise(&lab->weights, 11, NULL);
        lab->execution = execution_create(lab->plan, opened, &lab->weights, &sgd, 11, &error);
    }
    if (lab->execution)
        return true;
    tap_ok(false, "%s: %s: %s", device, error.what, error.why);
    lab_close(lab);
    return false;
}

/* Returns the floats on the device, which the caller frees. */
static float *read_back(const struct lab *lab, const float *on_device, size_t count)
{
    float *values = malloc(count * sizeof *values);
    memset(values, 0x55, count * sizeof *values);
    lab->device->driver->backend->copy_out(lab->device, values, on_device, count * sizeof *values);
    return values;
}

/* --- every value --- */

static bool normalises(struct lab *lab, struct shape shape, size_t count,
                       const struct normalisation *normalisation)
{
    const size_t area = shape_area(shape), all = count * shape_count(shape);
    uint8_t *samples = malloc(all);
    struct data_batch batch = {.image_samples = samples, .count = count};
    for (size_t i = 0; i < all; i++)
        samples[i] = (uint8_t)(i % area + i / area * 85);
    struct execution_batch bound = device_batch_of(lab->device, &batch, normalisation);
    bound.in_device_batch = false;
    execution_bind(lab->execution, &bound);
    float *values = read_back(lab, execution_device_batch(lab->execution)->images, all);
    size_t wrong = 0;
    for (size_t i = 0; i < all; i++) {
        const size_t c = i / area % shape.channels;
        const float expected =
            ((float)samples[i] - normalisation->mean[c]) / normalisation->deviation[c];
        wrong += memcmp(&values[i], &expected, sizeof expected) != 0;
    }
    free(samples);
    free(values);
    return wrong == 0;
}

static void test_values(void)
{
    static const struct normalisation others[] = {
        {.name = "thirds", .mean = {0.1f, 77.7f, 254.9f}, .deviation = {3, 7, 0.3f}},
        {.name = "tiny", .mean = {1e-30f, 0, 3}, .deviation = {1e38f, 1e-36f, 1e30f}}};
    static const char *const names[] = {"unit",    "signed",   "caffe",
                                        "cifar10", "cifar100", "imagenet"};
    static const struct shape shapes[] = {{3, 16, 16}, {1, 16, 16}, {3, 7, 5}, {1, 1, 1}};
    enum { NAMES = 6, SHAPES = 4 };
    for (size_t s = 0; s < SHAPES; s++)
        for (size_t mode = 0; mode < 2; mode++) {
            struct lab lab;
            bool equal = true;
            if (!lab_open(&lab, "cuda", classifier, shapes[s],
                          mode ? PLAN_TRAINING : PLAN_INFERENCE, BATCH, true))
                return;
            for (size_t n = 0; n < NAMES + 2; n++) {
                struct normalisation normalisation;
                if (n < NAMES)
                    normalisation_choose(&normalisation, names[n], NULL, NULL);
                else
                    normalisation = others[n - NAMES];
                equal = equal && normalises(&lab, shapes[s], BATCH, &normalisation) &&
                        normalises(&lab, shapes[s], 1, &normalisation);
            }
            tap_ok(equal && is_well(&lab),
                   "%zux%zux%zu in %s: all normalisations have the host's "
                   "bits",
                   shapes[s].channels, shapes[s].height, shapes[s].width,
                   mode ? "training" : "inference");
            lab_close(&lab);
        }
}

/* --- the batches of loaders --- */

static struct data_loader_settings loader_settings(size_t batch, bool training)
{
    struct data_loader_settings settings = {
        .batch = batch, .training = training, .seed = 5, .threads = 3};
    settings.augmentation =
        (struct augmentation){.crop = AUGMENT_CROP_GIVEN, .flip = AUGMENT_FLIP_ALWAYS, .pad = 3};
    normalisation_choose(&settings.normalisation, "imagenet", NULL, NULL);
    return settings;
}

/* Compares what arrives on the device with the floats of a loader in ordinary memory. */
static void test_inputs(const char *spec, const char *text, struct shape shape, bool training)
{
    struct lab lab;
    struct error error = {0};
    const struct dataset_request wish = {shape.channels, shape.height, shape.width};
    struct dataset *set = dataset_open(spec, "train", &wish, &error);
    struct data_loader_settings host = loader_settings(4, training), own = host;
    const size_t values = shape_count(shape);
    size_t wrong = 0, sent = 0;
    if (!set || !lab_open(&lab, "cuda", text, shape, PLAN_TRAINING, 4, true))
        return note_error(&error);
    device_batch_set_up(lab.device, &own);
    struct data_loader *plain = data_loader_open(set, &host, &error);
    struct data_loader *pinned = data_loader_open(set, &own, &error);
    for (size_t i = 0; plain && pinned && i < 9; i++) {
        struct data_batch expected, batch;
        if (!data_loader_next(plain, &expected, &error) ||
            !data_loader_next(pinned, &batch, &error))
            break;
        const struct execution_batch bound =
            device_batch_of(lab.device, &batch, &own.normalisation);
        execution_bind(lab.execution, &bound);
        const struct execution_batch *here = execution_device_batch(lab.execution);
        const size_t count = batch.count * values;
        float *images = read_back(&lab, here->images, count);
        float *targets = batch.target_samples ? read_back(&lab, here->targets, count) : NULL;
        wrong += batch.images || !batch.image_samples || batch.count != expected.count ||
                 memcmp(images, expected.images, count * sizeof *images) != 0;
        wrong += targets ? memcmp(targets, expected.targets, count * sizeof *targets) != 0
                         : expected.targets != NULL;
        sent += batch.count;
        free(images);
        free(targets);
    }
    tap_ok(sent > 20 && wrong == 0 && is_well(&lab), "%s, %s: %zu images have the bits of the host",
           spec, training ? "augmented" : "in order", sent);
    struct data_loader_statistics floats, samples;
    data_loader_statistics(plain, &floats);
    data_loader_statistics(pinned, &samples);
    tap_ok(samples.bytes < floats.bytes / 3, "  in a quarter of the bytes (%llu, %llu)",
           (unsigned long long)samples.bytes, (unsigned long long)floats.bytes);
    execution_free(lab.execution);
    lab.execution = NULL;
    data_loader_free(plain);
    data_loader_free(pinned);
    dataset_free(set);
    lab_close(&lab);
}

static void all_inputs(void)
{
    for (size_t training = 0; training < 2; training++) {
        test_inputs("shapes,limit=22", classifier, (struct shape){3, 32, 32}, training);
        test_inputs("digits,limit=22", classifier, (struct shape){1, 28, 28}, training);
    }
    test_inputs("maps,limit=10", painter, (struct shape){3, 24, 24}, false);
}

/* --- training from a loader --- */

enum memory { ORDINARY, PINNED_FLOATS, PINNED_SAMPLES };
static const char *const memory_names[] = {"ordinary memory", "pinned floats", "pinned samples"};

/* Trains on ten batches and reads the weights. In a hurry, the host never waits for the device,
 * except in the loader. Returns false after a failure. */
static bool train(const char *device, enum memory memory, bool hurry, float **weights,
                  size_t *count)
{
    struct lab lab;
    struct error error = {0};
    const struct shape shape = {3, 32, 32};
    const struct dataset_request wish = {3, 32, 32};
    struct data_loader_settings settings = loader_settings(BATCH, true);
    struct dataset *set = dataset_open("shapes,limit=20", "train", &wish, &error);
    if (!set ||
        !lab_open(&lab, device, classifier, shape, PLAN_TRAINING, BATCH, memory == PINNED_SAMPLES))
        return false;
    if (memory != ORDINARY)
        device_batch_set_up(lab.device, &settings);
    settings.samples = memory == PINNED_SAMPLES;
    struct data_loader *loader = data_loader_open(set, &settings, &error);
    bool well = loader;
    for (size_t i = 0; well && i < 10; i++) {
        struct data_batch batch;
        well = data_loader_next(loader, &batch, &error);
        struct execution_batch bound = device_batch_of(lab.device, &batch, &settings.normalisation);
        bound.in_device_batch = memory != ORDINARY;
        execution_bind(lab.execution, &bound);
        if (!hurry) {
            well = well && isfinite(execution_iterate(lab.execution, i, 0.01f));
            continue;
        }
        execution_forward(lab.execution, i);
        execution_backward(lab.execution);
        execution_update(lab.execution, 0.01f);
    }
    well = well && execution_fetch(lab.execution, &error) && is_well(&lab);
    *count = floats_of(&lab);
    *weights = malloc(*count * sizeof **weights);
    memcpy(*weights, lab.weights.values, *count * sizeof **weights);
    execution_free(lab.execution);
    lab.execution = NULL;
    data_loader_free(loader);
    dataset_free(set);
    lab_close(&lab);
    return well;
}

static void test_training(const char *device)
{
    float *expected, *weights;
    size_t count = 0;
    bool well = train(device, ORDINARY, false, &expected, &count);
    tap_ok(well, "%s: ten iterations on batches in ordinary memory", device);
    for (enum memory memory = ORDINARY; memory <= PINNED_SAMPLES; memory++)
        for (size_t hurry = 0; hurry < 2; hurry++) {
            bool same = true;
            for (uint64_t seed = 0; seed < TRIES; seed++) {
                emulator_set_delay(seed);
                same = train(device, memory, hurry, &weights, &count) &&
                       memcmp(expected, weights, count * sizeof *weights) == 0 && same;
                emulator_set_delay(0);
                free(weights);
            }
            tap_ok(same, "  %s, %s: the same weights, however late the GPU is",
                   memory_names[memory], hurry ? "without waiting" : "waiting for the loss");
        }
    free(expected);
}

static void all_training(void)
{
    test_training("cuda");
    test_training("cuda:0,1");
}

/* Floats that are bound to a plan for samples are too large to be sent ahead, and arrive all the
 * same. */
static void test_large(void)
{
    struct lab labs[2];
    const struct shape shape = {3, 9, 9};
    float losses[2][5], images[BATCH * 243];
    int32_t labels[BATCH] = {0, 1, 2, 3, 4, 5};
    for (size_t k = 0; k < 2; k++) {
        emulator_set_delay(k * 3);
        if (!lab_open(&labs[k], "cuda", classifier, shape, PLAN_TRAINING, BATCH, k))
            return;
        for (size_t i = 0; i < 5; i++) {
            random_fill_uniform(i, RANDOM_TEST, 0, -1, 1, images, BATCH * 243);
            const struct execution_batch batch = {
                .images = images, .labels = labels, .count = BATCH};
            execution_bind(labs[k].execution, &batch);
            memset(images, 0, sizeof images);
            losses[k][i] = execution_iterate(labs[k].execution, i, 0.1f);
        }
    }
    emulator_set_delay(0);
    tap_ok(memcmp(losses[0], losses[1], sizeof losses[0]) == 0 &&
               same_weights(&labs[0], &labs[1]) && is_well(&labs[1]),
           "a plan for samples computes batches of floats, too");
    tap_ok(device_memory_used(labs[0].device) > device_memory_used(labs[1].device),
           "  in less memory of the GPU");
    lab_close(&labs[0]);
    lab_close(&labs[1]);
}

/* --- no memory --- */

static void test_memory(void)
{
    struct lab lab;
    const struct shape shape = {3, 32, 32};
    struct dataset *set =
        dataset_open("shapes,limit=20", "train", &(struct dataset_request){3, 32, 32}, NULL);
    struct data_loader_settings settings = loader_settings(BATCH, true);
    size_t failures = 0, wrong = 0;
    if (!lab_open(&lab, "cuda", classifier, shape, PLAN_TRAINING, BATCH, true))
        return;
    device_batch_set_up(lab.device, &settings);
    for (size_t n = 1; n < 100; n++) {
        struct error error = {0};
        emulator_fail_allocation(n);
        struct data_loader *loader = data_loader_open(set, &settings, &error);
        emulator_fail_allocation(0);
        data_loader_free(loader);
        if (loader)
            break;
        failures++;
        wrong += error.kind != ERROR_MEMORY;
    }
    tap_ok(failures >= 4 && wrong == 0 && is_well(&lab),
           "each of %zu failed allocations of a loader is an error, and the device goes on",
           failures);
    struct error error = {0};
    float images[BATCH * 3072] = {0};
    int32_t labels[BATCH] = {0};
    emulator_fail_allocation(1);
    execution_bind(lab.execution,
                   &(struct execution_batch){.images = images, .labels = labels, .count = BATCH});
    emulator_fail_allocation(0);
    tap_ok(!device_check(lab.device, &error) && error.kind == ERROR_MEMORY &&
               strstr(error.why, "cudaMallocHost"),
           "so is that of the buffer for a batch in ordinary memory: %s", error.why);
    lab_close(&lab);
    dataset_free(set);
}

/* --- runs --- */

static bool write_array(const char *path, const char *type, const char *shape, const void *bytes,
                        size_t size)
{
    char header[128];
    FILE *file = fopen(path, "wb");
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    const int length =
        snprintf(header + 10, sizeof header - 10,
                 "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", type, shape);
    header[10 + length] = ' ';
    header[sizeof header - 1] = '\n';
    const bool written = file && fwrite(header, 1, sizeof header, file) == sizeof header &&
                         fwrite(bytes, 1, size, file) == size;
    return file && fclose(file) == 0 && written;
}

/* Writes the same images as 8-bit numbers and as floats. */
static bool write_arrays(void)
{
    enum { IMAGES = 32, VALUES = IMAGES * 3 * 12 * 12 };
    static uint8_t bytes[VALUES], labels[IMAGES];
    static float floats[VALUES];
    for (size_t i = 0; i < VALUES; i++)
        floats[i] = bytes[i] = (uint8_t)(i * i % 251 + i / 432 * 3);
    for (size_t i = 0; i < IMAGES; i++)
        labels[i] = (uint8_t)(i * 7 % 10);
    return mkdir(home_path("u1"), 0700) == 0 && mkdir(home_path("f4"), 0700) == 0 &&
           write_array(home_path("u1/images.npy"), "|u1", "32, 12, 12, 3", bytes, sizeof bytes) &&
           write_array(home_path("f4/images.npy"), "<f4", "32, 12, 12, 3", floats, sizeof floats) &&
           write_array(home_path("u1/labels.npy"), "|u1", "32,", labels, sizeof labels) &&
           write_array(home_path("f4/labels.npy"), "|u1", "32,", labels, sizeof labels);
}

static struct run *run_on(const char *device, const char *array, const char *augment)
{
    struct error error = {0};
    char spec[600];
    const char *const settings[] = {"epochs=3", "batch=8", "normalise=cifar10", NULL};
    struct run_config config = configure(settings);
    snprintf(spec, sizeof spec, "npy:%s/images.npy", home_path(array));
    if (!config_set(&config, "data", spec, &error) ||
        !config_set(&config, "validate", spec, &error) ||
        !config_set(&config, "network", home_path("small.json"), &error) ||
        !config_set(&config, "augment", augment, &error) ||
        !config_set(&config, "device", device, &error))
        note_error(&error);
    struct run *run = run_start(&config, NULL, &error);
    if (!run)
        note_error(&error);
    return run;
}

static bool same_series(const struct series *a, const struct series *b)
{
    bool same = series_count(a) == 12 && series_count(b) == 12 &&
                series_validation_count(a) == series_validation_count(b);
    for (size_t i = 0; same && i < series_count(a); i++)
        same = a->points[i].loss == b->points[i].loss;
    for (size_t i = 0; same && i < series_validation_count(a); i++)
        same = a->validations[i].loss == b->validations[i].loss;
    return same;
}

static void test_run(const char *device, const char *augment)
{
    struct run *runs[2] = {run_on(device, "u1", augment), run_on(device, "f4", augment)};
    struct run_snapshot ends[2] = {{.status = RUN_REFUSED}, {.status = RUN_REFUSED}};
    for (size_t i = 0; i < 2 && runs[i]; i++) {
        run_wait(runs[i], -1);
        run_snapshot(runs[i], &ends[i]);
        if (ends[i].status != RUN_DONE)
            note_error(&ends[i].error);
    }
    const bool done = ends[0].status == RUN_DONE && ends[1].status == RUN_DONE;
    tap_ok(done && same_series(run_series(runs[0]), run_series(runs[1])),
           "%s, %s: a run on 8-bit arrays has the losses of one on floats", device, augment);
    if (strcmp(device, "cuda") == 0)
        tap_ok(done && ends[0].memory_measured < ends[1].memory_measured,
               "  in less memory of the GPU (%llu, %llu)",
               (unsigned long long)ends[0].memory_measured,
               (unsigned long long)ends[1].memory_measured);
    for (size_t i = 0; i < 2; i++)
        run_free(runs[i]);
}

static void all_runs(void)
{
    char json[512];
    snprintf(json, sizeof json, classifier, (size_t)3, (size_t)12, (size_t)12);
    if (!tap_ok(write_arrays() && write_text(home_path("small.json"), json), "arrays are written"))
        return;
    test_run("cuda", "crop=2,flip");
    test_run("cuda", "no");
    test_run("cuda:0,1", "crop=2,flip");
    test_run("cpu", "crop=2,flip");
}

/* --- the forecast --- */

static bool forecast_with(const char *augment, struct forecast *forecast)
{
    struct error error = {0};
    const char *const settings[] = {"network=resnet20", "data=shapes", "batch=64", "device=cuda",
                                    NULL};
    struct run_config config = configure(settings);
    const bool made = config_set(&config, "augment", augment, &error) &&
                      forecast_make(&config, 0, forecast, &error);
    if (!made)
        note_error(&error);
    return made;
}

static void test_forecast(void)
{
    struct forecast samples, floats;
    const uint64_t values = 64 * 3 * 32 * 32;
    tap_ok(forecast_with("crop=4,flip", &samples) && samples.loader_bytes == values * (4 + 2),
           "a forecast has a batch of floats and two of samples");
    tap_ok(forecast_with("crop=4,rotate=5", &floats) && floats.loader_bytes == values * (4 + 8),
           "or three of floats, where images are rotated");
}

static void begin(void)
{
    emulator_set_gpus(2);
    cuda_use_module(tinca_cuda_module());
    if (!tap_ok(make_home(), "a state home"))
        exit(tap_done());
    atexit(remove_home);
}

static const struct named_test tests[] = {
    {"values", test_values},     {"inputs", all_inputs},  {"training", all_training},
    {"large", test_large},       {"memory", test_memory}, {"runs", all_runs},
    {"forecast", test_forecast},
};

TEST_CASE(cuda_batches_test)
{
    return tests_main(tests, sizeof tests / sizeof *tests, argc, argv, begin);
}
