/* A run of a network with a discriminator, from configuration to pictures: on a UNet small enough
 * for sanitizers. */
#include "session_files.h"

#include "data/formats/image_file.h"
#include "engine/weights/safetensors.h"
#include "exchange/export/export.h"
#include "models/saved/evaluate.h"
#include "studies/pictures/study_pictures.h"
#include "training/bench/bench.h"
#include "training/forecast_make.h"

#include "base/json/json.h"
#include "runs/record/run_open.h"
#include "training/run_start.h"

#include <math.h>

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char tiny[] =
    "{\"name\": \"tiny\", \"input\": [3, 16, 16], \"normalise\": \"signed\", \"loss\": "
    "\"l1_loss\",\n"
    " \"layers\": [{\"block\": \"unet\", \"name\": \"unet\", \"width\": 8, \"widest\": 16,\n"
    "   \"steps\": 3, \"dropout_steps\": 1}, {\"op\": \"tanh\", \"name\": \"tanh\"}],\n"
    " \"discriminator\": {\"layers\": [\n"
    "  {\"op\": \"conv\", \"output\": 8, \"kernel\": 4, \"stride\": 2, \"pad\": 1},\n"
    "  {\"op\": \"leaky_relu\", \"slope\": 0.2},\n"
    "  {\"op\": \"conv\", \"output\": 1, \"kernel\": 4, \"stride\": 2, \"pad\": 1}]}}\n";

enum { EPOCHS = 3, IMAGES = 4, VALIDATED = 2 };

static struct run *train(const char *threads)
{
    struct run_config config = configure(
        SETTINGS("data=maps,limit=4", "validate=maps,split=test,limit=2", "epochs=3", "batch=1",
                 "solver=adam", "lr=0.002", "momentum=0.5", "schedule=linear", "tolerance=40"));
    struct run_options options = {0};
    struct error error;
    config_set(&config, "network", home_path("tiny.json"), NULL);
    config_set(&config, "threads", threads, NULL);
    struct run *run = run_start(&config, &options, &error);
    if (run)
        run_wait(run, -1);
    else
        note_error(&error);
    return run;
}

static const char *in_run(const struct run *run, const char *name)
{
    static char path[700];
    snprintf(path, sizeof path, "%s/%s", run_facts(run)->directory, name);
    return path;
}

static void check_curves(const struct run *run)
{
    const struct series *series = run_series(run);
    bool finite = series_count(series) == EPOCHS * IMAGES, consistent = finite;
    for (size_t i = 0; finite && i < series_count(series); i++) {
        const struct series_point *point = &series->points[i];
        float adversarial = point->loss - 100 * point->loss_l1;
        finite = isfinite(point->loss) && isfinite(point->loss_discriminator) &&
                 isfinite(point->loss_l1) && point->loss_l1 > 0;
        consistent = consistent && adversarial > 0 && adversarial < 20;
    }
    tap_ok(finite, "every iteration has its losses");
    tap_ok(consistent, "the loss is 100 x L1 and the verdict");
    finite = series_validation_count(series) == EPOCHS;
    for (size_t i = 0; finite && i < EPOCHS; i++) {
        const struct series_validation *validation = &series->validations[i];
        finite = validation->pixel_accuracy >= 0 && validation->pixel_accuracy <= 100 &&
                 isfinite(validation->loss) && isnan(validation->top1);
    }
    tap_ok(finite, "every epoch has L1 and pixel accuracy");
}

static void check_samples(const struct run *run)
{
    struct error error;
    struct image image;
    bool read = image_file_read(&image, in_run(run, "sample-0003.png"), 3, &error);
    if (!tap_ok(read, "the third epoch left a picture"))
        return note_error(&error);
    tap_ok(image.width == 3 * 16 && image.height == VALIDATED * 16,
           "of input, image and target for each example: %zu x %zu", image.width, image.height);
    image_free(&image);
    tap_ok(image_file_probe(&image, in_run(run, "sample-0001.png"), &error), "the first did, too");
    tap_ok(!image_file_probe(&image, in_run(run, "sample-0004.png"), &error),
           "a fourth there is none");
}

static void check_model(const struct run *run)
{
    struct error error;
    struct model model;
    struct evaluation evaluation;
    struct run_snapshot snapshot;
    struct safetensors file;
    run_snapshot(run, &snapshot);
    if (!tap_ok(model_load(&model, in_run(run, "weights.safetensors"), "cpu", 1, &error),
                "the generator can be loaded"))
        return note_error(&error);
    model.tolerance = 40;
    bool evaluated = model_evaluate(&model, "maps,split=test,limit=2", 0, &evaluation, &error);
    tap_ok(evaluated && evaluation.pixel_accuracy == snapshot.validation.pixel_accuracy &&
               evaluation.loss == snapshot.validation.loss,
           "and its evaluation equals the validation: %g %%", evaluation.pixel_accuracy);
    model.tolerance = 255;
    tap_ok(model_evaluate(&model, "maps,split=test,limit=2", 0, &evaluation, &error) &&
               evaluation.pixel_accuracy == 100,
           "with a tolerance of 255 every pixel is right");
    model_free(&model);
    bool opened = safetensors_open(&file, in_run(run, "discriminator.safetensors"), &error);
    tap_ok(opened && safetensors_find(&file, "conv1.weight"), "the discriminator is stored");
    if (opened)
        safetensors_close(&file);
}

/* Returns a pixel of picture `column` in row `row` of a sample. */
static bool is_sample(const struct image *picture, const struct image *samples, size_t row,
                      size_t column)
{
    for (size_t y = 0; y < 16; y++)
        if (memcmp(picture->pixels + y * 16 * 3,
                   samples->pixels + ((row * 16 + y) * samples->width + column * 16) * 3, 16 * 3))
            return false;
    return picture->width == 16 && picture->height == 16;
}

/* The last samples come from the same weights and the same pairs. */
static void check_study(const struct run *run)
{
    struct error error;
    struct image samples;
    struct study study = {.seed = 1};
    struct study_pictures pictures;
    struct study_run_request request = {.device = "reference", .threads = 1};
    bool made = study_pictures_of_run(&pictures, &study, run, &request, &error);
    if (!tap_ok(made && study.count == 2 * VALIDATED, "a study can be made of it"))
        return note_error(&error);
    bool real = image_file_read(&samples, in_run(run, "sample-0003.png"), 3, &error),
         generated = real;
    for (size_t i = 0; real && i < study.count; i++) {
        const struct study_image *image = &study.images[i];
        if (image->generated)
            generated = generated && is_sample(&pictures.images[i], &samples, image->source, 1);
        else
            real = real && is_sample(&pictures.images[i], &samples, image->source, 2);
    }
    tap_ok(real, "its real pictures are the targets");
    tap_ok(generated, "its generated pictures are the network's output for the inputs");
    tap_ok(study.training_known && study.seen_in_training == 0, "which were not trained on");
    image_free(&samples);
    study_pictures_free(&pictures);
    study_free(&study);
    request.data = "maps,split=train,limit=4";
    study = (struct study){.seed = 1};
    tap_ok(study_pictures_of_run(&pictures, &study, run, &request, &error) &&
               study.seen_in_training == IMAGES,
           "all of the training data were, and the study records it");
    study_pictures_free(&pictures);
    study_free(&study);
}

static void check_reopened(const struct run *run)
{
    struct error error;
    struct run *opened = run_open(run_facts(run)->directory, &error);
    if (!tap_ok(opened, "the run can be reopened"))
        return note_error(&error);
    const struct series *a = run_series(run), *b = run_series(opened);
    struct run_snapshot first, second;
    run_snapshot(run, &first);
    run_snapshot(opened, &second);
    bool same = series_count(a) == series_count(b);
    for (size_t i = 0; same && i < series_count(a); i++)
        same = a->points[i].loss_discriminator == b->points[i].loss_discriminator &&
               a->points[i].loss_l1 == b->points[i].loss_l1;
    tap_ok(same, "with the same losses");
    tap_ok(fabs(first.validation.pixel_accuracy - second.validation.pixel_accuracy) < 1e-6 &&
               first.loss_discriminator == second.loss_discriminator &&
               run_facts(opened)->discriminator_parameters ==
                   run_facts(run)->discriminator_parameters &&
               run_facts(run)->discriminator_parameters == 8 * 6 * 16 + 8 + 8 * 16 + 1,
           "and the same facts");
    run_free(opened);
}

static size_t column_length(const struct json *run, const char *table, const char *column)
{
    return json_length(json_member(json_member(run, table), column));
}

static void check_export(struct run *run)
{
    struct error error;
    struct json_document document;
    const char *path = home_path("session.json");
    if (!tap_ok(export_session(&run, 1, path, &error) &&
                    json_read_file(&document, path, 1 << 24, &error),
                "the run can be exported"))
        return note_error(&error);
    const struct json *first = json_first(json_member(document.root, "runs"));
    tap_ok(column_length(first, "series", "loss_discriminator") == EPOCHS * IMAGES &&
               column_length(first, "series", "loss_l1") == EPOCHS * IMAGES &&
               column_length(first, "validation", "pixel_accuracy") == EPOCHS,
           "with its complete curves");
    json_document_free(&document);
}

static void check_threads(const struct run *run)
{
    struct run *other = train("3");
    const struct series *a = run_series(run), *b = other ? run_series(other) : NULL;
    bool same = b && series_count(a) == series_count(b);
    for (size_t i = 0; same && i < series_count(a); i++)
        same = a->points[i].loss == b->points[i].loss &&
               a->points[i].loss_discriminator == b->points[i].loss_discriminator;
    tap_ok(same, "three threads give the bits of one");
    run_free(other);
}

static void test_forecast(void)
{
    struct error error;
    struct forecast forecast = {0};
    struct run_config config = configure(SETTINGS("network=pix2pix-shift", "data=maps"));
    tap_ok(forecast_make(&config, 0, &forecast, &error) && forecast.parameters == 36064899 &&
               forecast.memory.weights > (uint64_t)4 * (36064899 + 2768705),
           "a forecast counts both networks' memory");
    config_set(&config, "data", "shapes", NULL);
    tap_ok(!forecast_make(&config, 0, &forecast, &error), "images of another size are refused");
}

/* Returns how often the first layer of a network ran forward while it was profiled. */
static uint64_t passes_of(const struct bench_part *part)
{
    return part->profile ? profile_node(part->profile, part->plan->steps[0].node).calls : 0;
}

/* The forecast of a configuration equals the plan of a bench of the same iteration. */
static void test_bench(void)
{
    struct error error;
    struct forecast forecast = {0};
    struct bench bench;
    struct run_config config =
        configure(SETTINGS("data=maps", "batch=1", "solver=adam", "threads=1"));
    struct bench_settings settings = {.network = {.network = home_path("tiny.json")},
                                      .device = "cpu",
                                      .threads = 1,
                                      .mode = PLAN_TRAINING,
                                      .iterations = 4,
                                      .seed = 1,
                                      .profile = true};
    config_set(&config, "network", home_path("tiny.json"), NULL);
    if (!tap_ok(bench_run(&settings, &bench, &error), "an alternating iteration can be timed")) {
        note_error(&error);
        return;
    }
    tap_ok(bench.batch == 1 && bench.ms_per_image.min > 0, "at batch 1 by default");
    tap_ok(passes_of(&bench.main) == 4 && passes_of(&bench.discriminator) == 12,
           "the generator runs once an iteration, its discriminator three times");
    tap_ok(forecast_make(&config, 0, &forecast, &error) &&
               forecast.memory.total == bench.memory.total,
           "its planned memory is the forecast of training");
    bench_free(&bench);
    settings.mode = PLAN_INFERENCE;
    tap_ok(bench_run(&settings, &bench, &error) && !bench.discriminator.graph &&
               passes_of(&bench.main) == 4,
           "an inference is the generator's alone");
    bench_free(&bench);
}

TEST_CASE(gan_run_test)
{
    if (!make_home() || !write_text(home_path("tiny.json"), tiny)) {
        tap_ok(false, "a home for the test");
        return tap_done();
    }
    struct run *run = train("1");
    struct run_snapshot snapshot = {0};
    if (run)
        run_snapshot(run, &snapshot);
    if (tap_ok(run && snapshot.status == RUN_DONE, "a run of two networks ends well")) {
        check_curves(run);
        check_samples(run);
        check_model(run);
        check_study(run);
        check_reopened(run);
        check_export(run);
        check_threads(run);
    } else {
        note_error(&snapshot.error);
    }
    run_free(run);
    test_forecast();
    test_bench();
    remove_home();
    return tap_done();
}
