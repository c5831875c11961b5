/* libtinca on the emulated device cuda, whose memory is not the host's: the outputs are those of
 * the device cpu, a model has one session there, and its weights leave the device with the session.
 */
#include "cuda/emulated_module.h"
#include "session_files.h"

#include "base/files/file.h"
#include "models/saved/model_file.h"

#include <math.h>
#include <tinca.h>

enum { SIDE = 28, PIXELS = SIDE * SIDE, CLASSES = 10 };

static bool save_model(const char *path)
{
    struct error error = {0};
    const struct network_request request = {.network = "lenet"};
    struct network *network = network_build(&request, &error);
    struct dataset *dataset = dataset_open("digits,limit=20", "train", NULL, &error);
    struct normalisation normalisation;
    struct model_facts facts = {.network = network, .dataset = dataset};
    struct weights weights = {0};
    const bool saved = network && dataset && weights_create(&weights, &network->graph, &error) &&
                       normalisation_choose(&normalisation, "unit256", NULL, &error) &&
                       (facts.preprocessing = preprocessing_of(dataset, &normalisation), true) &&
                       (weights_initialise(&weights, 3, NULL), true) &&
                       model_file_save(&facts, &weights, WEIGHTS_FLOAT32, path, &error);
    weights_free(&weights);
    dataset_free(dataset);
    network_free(network);
    return saved;
}

static tinca_session *prepare(tinca_model *model, const char *device, struct tinca_error *error)
{
    struct tinca_options options = TINCA_OPTIONS;
    options.device = device;
    options.threads = 1;
    options.batch = 2;
    return tinca_prepare(model, &options, error);
}

static bool are_near(const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(a[i] - b[i]) < 1e-4f))
            return false;
    return true;
}

static void test_outputs(tinca_model *model, tinca_model *host)
{
    static _Alignas(64) float images[2 * PIXELS];
    float there[2 * CLASSES], here[2 * CLASSES], again[2 * CLASSES];
    struct tinca_error error = {0};
    for (size_t i = 0; i < 2 * PIXELS; i++)
        images[i] = (float)(i % 17) / 17;
    tinca_session *cpu = prepare(host, "cpu", NULL), *cuda = prepare(model, "cuda", &error);
    tap_ok(cuda && tinca_run(cuda, images, 2, there, &error) == TINCA_OK &&
               tinca_run(cpu, images, 2, here, NULL) == TINCA_OK &&
               are_near(there, here, 2 * CLASSES),
           "the device has the outputs of the host %s", error.text);
    tap_ok(!prepare(model, "cpu", &error) && error.status == TINCA_ERROR_UNSUPPORTED,
           "a model on the device has no second session: %s", error.text);
    tap_ok(!prepare(host, "cuda", &error) && error.status == TINCA_ERROR_UNSUPPORTED,
           "and one on the host has none on the device: %s", error.text);
    tap_ok(tinca_run(cpu, images, 2, again, NULL) == TINCA_OK &&
               memcmp(again, here, sizeof here) == 0,
           "which leaves the others as they are");
    tinca_session_close(cuda);
    cuda = prepare(model, "cuda", &error);
    tap_ok(cuda && tinca_run(cuda, images, 2, again, &error) == TINCA_OK &&
               memcmp(again, there, sizeof there) == 0,
           "it is prepared again, to the same bits");
    tinca_session_close(cuda);
    tinca_session_close(cpu);
    cpu = prepare(model, "cpu", &error);
    tap_ok(cpu && tinca_run(cpu, images, 2, again, NULL) == TINCA_OK &&
               memcmp(again, here, sizeof here) == 0,
           "and then on the host");
    tinca_session_close(cpu);
}

static void test_failures(tinca_model *model)
{
    static _Alignas(64) float images[2 * PIXELS];
    float output[2 * CLASSES];
    struct tinca_error error = {0};
    size_t failed = 0;
    for (size_t n = 1; n < 6; n++) {
        emulator_fail_allocation(n);
        tinca_session *session = prepare(model, "cuda", &error);
        failed += !session && error.text[0];
        tinca_session_close(session);
        emulator_fail_allocation(0);
    }
    tap_ok(failed > 0, "memory that a GPU lacks is an error: %s", error.text);
    tinca_session *session = prepare(model, "cuda", &error);
    emulator_fail_launch(1, 719);
    tap_ok(session && tinca_run(session, images, 2, output, &error) == TINCA_ERROR_DEVICE &&
               error.status == TINCA_ERROR_DEVICE,
           "and so is a GPU that fails: %s", error.text);
    tinca_session_close(session);
}

TEST_CASE(cuda_library_test)
{
    char path[600];
    if (!make_home())
        return 1;
    cuda_use_module(tinca_cuda_module());
    snprintf(path, sizeof path, "%s", home_path("lenet.safetensors"));
    tap_ok(save_model(path), "a model is saved");
    tinca_model *model = tinca_model_open(path, NULL), *host = tinca_model_open(path, NULL);
    if (tap_ok(model && host, "and opened")) {
        test_outputs(model, host);
        test_failures(model);
    }
    tinca_model_close(model);
    tinca_model_close(host);
    remove_home();
    return tap_done();
}
