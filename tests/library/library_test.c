/* libtinca by its header: what a model says of itself, runs of one image and of several, of
 * unaligned ones and of pictures, sessions in several threads, wrong arguments, and models that are
 * damaged or lie. Models are made with the engine, of random weights. */
#include "session_files.h"

#include "base/files/file.h"
#include "engine/weights/weights.h"
#include "models/saved/model_file.h"

#include <pthread.h>
#include <stdint.h>
#include <tinca.h>

enum { SIDE = 28, PIXELS = SIDE * SIDE, CLASSES = 10, BATCH = 4 };

/* --- models --- */

/* Saves a network with random weights. Returns whether that worked. */
static bool save_model(const char *name, const char *data, const char *path)
{
    struct error error = {0};
    const struct network_request request = {.network = name};
    struct network *network = network_build(&request, &error);
    struct dataset *dataset = dataset_open(data, "train", NULL, &error);
    struct normalisation normalisation;
    struct model_facts facts = {.network = network, .dataset = dataset};
    struct weights weights = {0};
    const bool saved = network && dataset && weights_create(&weights, &network->graph, &error) &&
                       normalisation_choose(&normalisation, "unit256", NULL, &error) &&
                       (facts.preprocessing = preprocessing_of(dataset, &normalisation), true) &&
                       (weights_initialise(&weights, 3, NULL), true) &&
                       model_file_save(&facts, &weights, WEIGHTS_FLOAT32, path, &error);
    if (!saved)
        note_error(&error);
    weights_free(&weights);
    dataset_free(dataset);
    network_free(network);
    return saved;
}

static void fill(float *values, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 8) / (float)(1u << 24);
    }
}

static tinca_session *prepare(tinca_model *model, size_t batch)
{
    struct tinca_options options = TINCA_OPTIONS;
    struct tinca_error error;
    options.batch = batch;
    options.threads = 1;
    tinca_session *session = tinca_prepare(model, &options, &error);
    if (!session)
        tap_note("%s", error.text);
    return session;
}

/* --- what a model says --- */

static void test_facts(const tinca_model *model)
{
    const struct tinca_shape input = tinca_model_input(model), output = tinca_model_output(model);
    float mean[3], deviation[3];
    tap_ok(strcmp(tinca_model_name(model), "lenet") == 0, "a model has a name");
    tap_ok(input.channels == 1 && input.height == SIDE && input.width == SIDE,
           "it has the shape of its input");
    tap_ok(output.channels == CLASSES && output.height == 1 && output.width == 1,
           "and that of its output");
    tap_ok(tinca_model_classes(model) == CLASSES &&
               strcmp(tinca_model_class_name(model, 7), "7") == 0 &&
               !tinca_model_class_name(model, CLASSES),
           "its classes have names, and others have none");
    tinca_model_normalisation(model, mean, deviation);
    tap_ok(mean[0] == 0 && deviation[0] == 256, "it has a normalisation");
    tap_ok(strcmp(tinca_version(), "0.1.0") == 0 || strlen(tinca_version()) > 0,
           "the library has a version: %s", tinca_version());
}

/* --- runs --- */

static void test_runs(tinca_model *model)
{
    static _Alignas(64) float images[BATCH * PIXELS + 1];
    static uint8_t pictures[BATCH * PIXELS];
    float single[BATCH][CLASSES], together[BATCH * CLASSES], again[BATCH * CLASSES];
    struct tinca_error error;
    bool same = true;
    tinca_session *one = prepare(model, 0), *four = prepare(model, BATCH);
    fill(images, BATCH * PIXELS, 1);
    if (!tap_ok(one && four, "a model is prepared twice"))
        return;
    tap_ok(tinca_session_batch(one) == 1 && tinca_session_batch(four) == BATCH &&
               tinca_session_threads(four) == 1 &&
               strcmp(tinca_session_precision(four), "float32") == 0 &&
               tinca_session_memory(four) > BATCH * PIXELS * sizeof(float),
           "sessions say how they are prepared");
    for (size_t i = 0; i < BATCH; i++)
        same = tinca_run(one, images + i * PIXELS, 1, single[i], &error) == TINCA_OK && same;
    tap_ok(same && tinca_run(four, images, BATCH, together, &error) == TINCA_OK,
           "images are computed one by one, and together");
    for (size_t i = 0; i < BATCH * CLASSES; i++)
        same = same && fabsf(together[i] - single[i / CLASSES][i % CLASSES]) < 1e-4f;
    tap_ok(same, "with the same outputs, but for the order of sums");
    tap_ok(tinca_run(four, images, BATCH, again, &error) == TINCA_OK &&
               memcmp(again, together, sizeof together) == 0,
           "a session gives the same bits again");
    memmove(images + 1, images, BATCH * PIXELS * sizeof *images);
    tap_ok(tinca_run(four, images + 1, BATCH, again, &error) == TINCA_OK &&
               memcmp(again, together, sizeof together) == 0,
           "and for images that are not aligned");
    tap_ok(tinca_run(four, images + 1, 2, again, &error) == TINCA_OK &&
               memcmp(again, together, 2 * CLASSES * sizeof *together) == 0,
           "and for fewer images than the batch");
    for (size_t i = 0; i < BATCH * PIXELS; i++)
        pictures[i] = (uint8_t)(i * 7);
    for (size_t i = 0; i < BATCH * PIXELS; i++)
        images[i] = (float)pictures[i] / 256;
    tap_ok(tinca_run_pictures(four, pictures, BATCH, SIDE, SIDE, 1, again, &error) == TINCA_OK &&
               tinca_run(four, images, BATCH, together, &error) == TINCA_OK &&
               memcmp(again, together, sizeof together) == 0,
           "pictures are normalised as the model wants them");
    tinca_session_close(one);
    tinca_session_close(four);
}

static void test_pictures(const tinca_model *model)
{
    static uint8_t picture[60 * 90 * 3];
    static float image[PIXELS];
    struct tinca_error error;
    memset(picture, 128, sizeof picture);
    tap_ok(tinca_model_fit_picture(model, picture, 60, 90, 3, image, &error) == TINCA_OK &&
               image[0] == 0.5f && image[PIXELS - 1] == 0.5f,
           "a picture of another size and with colours becomes an image");
    tap_ok(tinca_model_fit_picture(model, picture, 1, 1, 1, image, &error) == TINCA_OK &&
               image[PIXELS / 2] == 0.5f,
           "so does a picture of one pixel");
    tap_ok(tinca_model_fit_picture(model, picture, 0, 9, 1, image, &error) ==
                   TINCA_ERROR_ARGUMENT &&
               strstr(error.text, "empty"),
           "an empty picture is refused: %s", error.text);
    tap_ok(tinca_model_fit_picture(model, picture, SIZE_MAX / 2, 9, 1, image, &error) ==
               TINCA_ERROR_ARGUMENT,
           "so is one that no memory holds: %s", error.text);
    tap_ok(tinca_model_fit_picture(model, picture, 9, 9, 2, image, &error) == TINCA_ERROR_ARGUMENT,
           "and one of two channels: %s", error.text);
}

static void test_probabilities(void)
{
    float scores[3] = {1000, 1000, -1000};
    tinca_probabilities(scores, 3, scores);
    tap_ok(scores[0] == 0.5f && scores[1] == 0.5f && scores[2] == 0,
           "probabilities of large scores do not overflow");
    float infinite[3] = {INFINITY, 0, INFINITY}, nan[3] = {1, NAN, 2};
    tinca_probabilities(infinite, 3, infinite);
    tap_ok(infinite[0] == 0.5f && infinite[1] == 0 && infinite[2] == 0.5f,
           "infinite scores share the probability");
    tinca_probabilities(nan, 3, nan);
    tap_ok(isnan(nan[0]) && isnan(nan[1]) && isnan(nan[2]), "a NaN leaves no probability");
}

/* --- threads --- */

struct worker {
    pthread_t thread;
    tinca_model *model;
    const float *image;
    float output[CLASSES];
    bool same;
};

/* Prepares a session, runs it often and closes it. */
static void *work(void *context)
{
    struct worker *worker = context;
    struct tinca_options options = TINCA_OPTIONS;
    float output[CLASSES];
    options.threads = 2;
    tinca_session *session = tinca_prepare(worker->model, &options, NULL);
    worker->same =
        session && tinca_run(session, worker->image, 1, worker->output, NULL) == TINCA_OK;
    for (int i = 0; worker->same && i < 50; i++)
        worker->same = tinca_run(session, worker->image, 1, output, NULL) == TINCA_OK &&
                       memcmp(output, worker->output, sizeof output) == 0;
    tinca_session_close(session);
    return NULL;
}

/* Uses models[0] and models[1], which may be the same, at the same time. */
static void test_threads(tinca_model *const models[2], const char *name)
{
    static _Alignas(64) float image[PIXELS];
    struct worker workers[2] = {{.image = image}, {.image = image}};
    size_t started = 0;
    fill(image, PIXELS, 5);
    for (int i = 0; i < 2; i++) {
        workers[i].model = models[i];
        started += pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0;
    }
    for (size_t i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    tap_ok(started == 2 && workers[0].same && workers[1].same &&
               memcmp(workers[0].output, workers[1].output, sizeof workers[0].output) == 0,
           "%s", name);
}

static void test_closing(const char *path)
{
    static _Alignas(64) float image[PIXELS];
    float output[CLASSES];
    tinca_model *model = tinca_model_open(path, NULL);
    tinca_session *first = prepare(model, 1), *second = prepare(model, 1);
    tinca_model_close(model);
    tinca_session_close(first);
    tap_ok(second && tinca_run(second, image, 1, output, NULL) == TINCA_OK,
           "a session works after its model was closed");
    tinca_session_close(second);
    tinca_model_close(NULL);
    tinca_session_close(NULL);
}

/* --- wrong arguments --- */

static void refuse_options(tinca_model *model, struct tinca_options options,
                           enum tinca_status status, const char *name)
{
    struct tinca_error error = {0};
    tinca_session *session = tinca_prepare(model, &options, &error);
    tap_ok(!session && error.status == status, "%s: %s", name, error.text);
    tinca_session_close(session);
}

static void test_arguments(tinca_model *model)
{
    static _Alignas(64) float image[PIXELS], output[CLASSES];
    struct tinca_error error = {0};
    tap_ok(!tinca_model_open(NULL, &error) && error.status == TINCA_ERROR_ARGUMENT, "no path: %s",
           error.text);
    tap_ok(!tinca_model_from_memory(NULL, 4, &error) && error.status == TINCA_ERROR_ARGUMENT,
           "no bytes: %s", error.text);
    tap_ok(!tinca_model_open("/nowhere/m.safetensors", &error) &&
               error.status == TINCA_ERROR_SYSTEM,
           "no file: %s", error.text);
    tap_ok(!tinca_model_open("/tmp", &error) && error.status == TINCA_ERROR_MODEL, "a folder: %s",
           error.text);
    tap_ok(!tinca_prepare(NULL, NULL, &error) && error.status == TINCA_ERROR_ARGUMENT,
           "no model: %s", error.text);
    refuse_options(model, (struct tinca_options){.device = "abacus"}, TINCA_ERROR_ARGUMENT,
                   "an unknown device");
    refuse_options(model, (struct tinca_options){.precision = "float8"}, TINCA_ERROR_ARGUMENT,
                   "an unknown precision");
    refuse_options(model, (struct tinca_options){.precision = "fp16"}, TINCA_ERROR_UNSUPPORTED,
                   "a precision that the device lacks");
    refuse_options(model, (struct tinca_options){.reserved = {0, 1}}, TINCA_ERROR_ARGUMENT,
                   "a reserved member");
    struct tinca_options huge = {.batch = SIZE_MAX / 8};
    tap_ok(!tinca_prepare(model, &huge, &error) && error.text[0], "an impossible batch: %s",
           error.text);
    tinca_session *session = prepare(model, 1);
    tap_ok(tinca_run(session, image, 0, output, &error) == TINCA_ERROR_ARGUMENT, "no image: %s",
           error.text);
    tap_ok(tinca_run(session, image, 2, output, &error) == TINCA_ERROR_ARGUMENT,
           "more images than the batch: %s", error.text);
    tap_ok(tinca_run(session, image, 1, NULL, &error) == TINCA_ERROR_ARGUMENT &&
               tinca_run(NULL, image, 1, output, NULL) == TINCA_ERROR_ARGUMENT,
           "no array, or no session: %s", error.text);
    tinca_session_close(session);
}

/* --- damaged models --- */

static void test_memory(const unsigned char *bytes, size_t size, tinca_model *other)
{
    static _Alignas(64) float image[PIXELS];
    float output[2][CLASSES];
    struct tinca_error error = {0};
    unsigned char *copy = malloc(size);
    memcpy(copy, bytes, size);
    tinca_model *model = tinca_model_from_memory(copy, size, &error);
    memset(copy, 0, size);
    free(copy); /* the model has read them */
    tinca_session *session = model ? prepare(model, 1) : NULL, *same = prepare(other, 1);
    fill(image, PIXELS, 9);
    tap_ok(session && tinca_run(session, image, 1, output[0], NULL) == TINCA_OK &&
               tinca_run(same, image, 1, output[1], NULL) == TINCA_OK &&
               memcmp(output[0], output[1], sizeof output[0]) == 0,
           "a model in memory gives the outputs of the file");
    tinca_session_close(session);
    tinca_session_close(same);
    tinca_model_close(model);
}

static void test_damage(const unsigned char *bytes, size_t size)
{
    struct tinca_error error;
    size_t accepted = 0, silent = 0;
    unsigned char *copy = malloc(size);
    uint64_t header;
    memcpy(&header, bytes, sizeof header);
    for (size_t length = 0; length < size;
         length = length < header + 64 ? length + 37 : length * 2) {
        error.text[0] = '\0';
        tinca_model *model = tinca_model_from_memory(bytes, length, &error);
        accepted += model != NULL;
        silent += !model && !error.text[0];
        tinca_model_close(model);
    }
    tap_ok(accepted == 0 && silent == 0, "a model that ends too early is an error: %s", error.text);
    /* without the checksum's key the file would be one of another program, which has none */
    const unsigned char *key = memmem(bytes, size, "tinca.crc32", 11);
    accepted = key == NULL;
    for (size_t at = 0; at < header + 8 + 2000; at += 7) {
        if (bytes + at >= key && bytes + at < key + 11)
            continue;
        memcpy(copy, bytes, size);
        copy[at] ^= 0x15;
        error.text[0] = '\0';
        tinca_model *model = tinca_model_from_memory(copy, size, &error);
        accepted += model != NULL;
        silent += !model && !error.text[0];
        tinca_model_close(model);
    }
    tap_ok(accepted == 0 && silent == 0, "so is one of which a byte has changed: %s", error.text);
    /* a file without checksum, as other programs write it: whatever it says is accepted or refused
     */
    for (size_t at = 8; key && at < header + 8; at += 5) {
        float image[PIXELS] = {0}, *output;
        memcpy(copy, bytes, size);
        copy[key - bytes] = 'T';
        copy[at] ^= 0x03;
        error.text[0] = '\0';
        tinca_model *model = tinca_model_from_memory(copy, size, &error);
        silent += !model && !error.text[0];
        if (model && tinca_model_input(model).height == SIDE &&
            tinca_model_input(model).width == SIDE && tinca_model_input(model).channels == 1) {
            tinca_session *session = prepare(model, 1);
            output = calloc(tinca_model_output(model).channels + 1, sizeof *output);
            silent += !session || tinca_run(session, image, 1, output, &error) != TINCA_OK;
            accepted++;
            free(output);
            tinca_session_close(session);
        }
        tinca_model_close(model);
    }
    tap_ok(silent == 0 && accepted > 0,
           "one without a checksum is refused with a reason, or computed (%zu times)", accepted);
    free(copy);
}

/* A few bytes that name a network of millions of weights. */
static void test_lie(void)
{
    char path[600];
    const char *const metadata[] = {"tinca.network",
                                    "mlp-w65536x65536x65536",
                                    "tinca.network_text",
                                    "",
                                    "tinca.technique",
                                    "none",
                                    "tinca.groups",
                                    "0",
                                    "tinca.width_rate",
                                    "0",
                                    "tinca.block_rate",
                                    "0",
                                    "tinca.classes",
                                    "10",
                                    "tinca.normalisation",
                                    "unit",
                                    "tinca.mean",
                                    "0 0 0",
                                    "tinca.deviation",
                                    "1 1 1",
                                    "tinca.stored",
                                    "28 28",
                                    "tinca.class_names",
                                    "[\"0\",\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\"]",
                                    "tinca.widths",
                                    "65536,65536,65536",
                                    NULL};
    const char *lies[sizeof metadata / sizeof *metadata];
    const float value = 0;
    const struct safetensors_array array = {.name = "x", .dims = {1}, .rank = 1, .data = &value};
    const struct network_request request = {.network = "mlp"};
    struct tinca_error error = {0};
    struct network *network = network_build(&request, NULL);
    memcpy(lies, metadata, sizeof metadata);
    lies[1] = "mlp";
    lies[3] = network->source;
    snprintf(path, sizeof path, "%s", home_path("lie.safetensors"));
    const bool written = safetensors_write(path, &array, 1, lies, NULL);
    tinca_model *model = tinca_model_open(path, &error);
    tap_ok(written && !model && error.status == TINCA_ERROR_MODEL && strstr(error.text, "weights"),
           "a short file of a large network takes no memory: %s", error.text);
    tinca_model_close(model);
    network_free(network);
}

TEST_CASE(library_test)
{
    char path[600];
    struct error error;
    struct tinca_error failed = {0};
    if (!make_home())
        return 1;
    snprintf(path, sizeof path, "%s", home_path("lenet.safetensors"));
    tap_ok(save_model("lenet", "digits,limit=20", path), "a model is saved");
    tinca_model *model = tinca_model_open(path, &failed), *other = tinca_model_open(path, NULL);
    size_t size = 0;
    char *bytes = file_read(path, (size_t)16 << 20, &size, &error);
    if (tap_ok(model && other && bytes, "and opened: %s", failed.text)) {
        test_facts(model);
        test_runs(model);
        test_pictures(model);
        test_probabilities();
        test_threads((tinca_model *const[]){model, other}, "two threads, with a model each");
        test_threads((tinca_model *const[]){model, model},
                     "two threads, with sessions of one model");
        test_closing(path);
        test_arguments(model);
        test_memory((const unsigned char *)bytes, size, other);
        test_damage((const unsigned char *)bytes, size);
        test_lie();
    }
    free(bytes);
    tinca_model_close(model);
    tinca_model_close(other);
    remove_home();
    return tap_done();
}
