/* Whole small runs: training, validation, commands, the files of a run, refusals. The network is a
 * user's file, small enough for sanitizers. */
#include "models/saved/evaluate.h"
#include "runs/folder/run_directory.h"
#include "training/run_start.h"

#include "data/formats/image_file.h"
#include "runs/record/run_open.h"
#include "session_files.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char tiny_text[] =
    "{\"name\": \"tiny\", \"input\": [1, 28, 28], \"classes\": 10, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"flatten\"},\n"
    "  {\"op\": \"linear\", \"name\": \"fc1\", \"output\": 24, \"init\": \"he\"},\n"
    "  {\"op\": \"relu\"},\n"
    "  {\"op\": \"linear\", \"name\": \"fc2\", \"output\": \"classes\"}]}\n";

static struct run *start(const char *const *settings, const char *save_path)
{
    struct run_config config = configure(settings);
    if (strcmp(config.network, "tiny") == 0)
        config_set(&config, "network", home_path("tiny.json"), NULL);
    struct run_options options = {.save_path = save_path};
    struct error error;
    struct run *run = run_start(&config, &options, &error);
    if (!run)
        note_error(&error);
    return run;
}

static struct run_snapshot finish(struct run *run)
{
    struct run_snapshot snapshot;
    run_wait(run, -1);
    run_snapshot(run, &snapshot);
    if (snapshot.error.kind != ERROR_NONE)
        note_error(&snapshot.error);
    return snapshot;
}

static bool has_finding(const struct run *run, enum finding_kind kind, struct finding *finding)
{
    struct run_snapshot snapshot;
    run_snapshot(run, &snapshot);
    for (size_t i = 0; i < snapshot.finding_count; i++) {
        run_finding(run, i, finding);
        if (finding->kind == kind)
            return true;
    }
    return false;
}

static unsigned mode_of(const char *directory, const char *name)
{
    char path[600];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return stat(path, &status) == 0 ? status.st_mode & 0777 : 0;
}

static bool same_points(const struct series *a, const struct series *b)
{
    bool same = series_count(a) == series_count(b) &&
                series_validation_count(a) == series_validation_count(b);
    for (size_t i = 0; same && i < series_count(a); i++) {
        const struct series_point *x = &a->points[i], *y = &b->points[i];
        same = x->iteration == y->iteration && x->epoch == y->epoch && x->loss == y->loss &&
               isnan(x->loss_discriminator) && isnan(y->loss_discriminator) &&
               x->loss_caffe == y->loss_caffe && x->loss_mean == y->loss_mean &&
               x->learning_rate == y->learning_rate && x->ms_per_image == y->ms_per_image &&
               x->seconds == y->seconds && x->memory_bytes == y->memory_bytes;
    }
    for (size_t i = 0; same && i < series_validation_count(a); i++)
        same = a->validations[i].loss == b->validations[i].loss &&
               a->validations[i].top1 == b->validations[i].top1;
    return same;
}

static void check_reopened(const struct run *run, const struct run_snapshot *snapshot)
{
    struct error error;
    struct run_snapshot again;
    struct run *opened = run_open(run_facts(run)->directory, &error);
    if (!tap_ok(opened, "a finished run can be opened from its directory"))
        return note_error(&error);
    run_snapshot(opened, &again);
    tap_ok(again.status == RUN_DONE && again.iteration == snapshot->iteration &&
               fabs(again.validation.top1 - snapshot->validation.top1) < 1e-9 &&
               again.loss == snapshot->loss &&
               fabs(again.elapsed_seconds - snapshot->elapsed_seconds) < 1e-9,
           "with the same end");
    tap_ok(same_points(run_series(run), run_series(opened)), "and the same curves, to the bit");
    tap_ok(run_facts(opened)->parameters == run_facts(run)->parameters &&
               run_facts(opened)->images == 320 &&
               run_facts(opened)->forecast.total == run_facts(run)->forecast.total &&
               strcmp(run_facts(opened)->id, run_facts(run)->id) == 0,
           "and the same facts");
    tap_ok(!run_send(opened, COMMAND_PAUSE, 0) && run_wait(opened, -1), "it accepts no commands");
    run_free(opened);
}

static void check_saved_model(const char *path, const struct run_snapshot *snapshot)
{
    struct error error;
    struct model model;
    struct evaluation evaluation;
    if (!tap_ok(model_load(&model, path, "cpu", 1, &error), "the saved model can be loaded"))
        return note_error(&error);
    bool evaluated = model_evaluate(&model, "digits,split=test,limit=130", 0, &evaluation, &error);
    if (!tap_ok(evaluated && evaluation.images == 130 &&
                    evaluation.top1 == snapshot->validation.top1 &&
                    evaluation.loss == snapshot->validation.loss,
                "and eval repeats the last validation to the bit") &&
        !evaluated)
        note_error(&error);
    tap_ok(strcmp(model.network->name, "tiny") == 0 && model.network->classes == 10 &&
               model.preprocessing.normalisation.deviation[0] == 255,
           "it has its format and the normalisation of its input");
    tap_ok(!model_evaluate(&model, "shapes", 0, &evaluation, &error), "images of another size are "
                                                                      "refused");
    model_free(&model);
}

static void test_whole_run(void)
{
    const char *save = home_path("model.safetensors");
    struct run *run =
        start(SETTINGS("network=tiny", "data=digits,limit=320", "validate=digits,limit=130",
                       "batch=32", "epochs=2", "lr=0.1", "threads=2"),
              save);
    if (!tap_ok(run, "a run starts"))
        return;
    struct run_snapshot snapshot = finish(run);
    const struct series *series = run_series(run);
    const char *directory = run_facts(run)->directory;
    tap_ok(snapshot.status == RUN_DONE && snapshot.iteration == 20 && snapshot.epoch == 2,
           "it ends after two epochs of ten batches");
    tap_ok(series_count(series) == 20 && series->points[19].iteration == 20 &&
               series->points[19].loss < series->points[0].loss,
           "a point an iteration, and the loss falls");
    tap_ok(series_validation_count(series) == 2 && series->validations[0].iteration == 10 &&
               snapshot.validation.top1 > 15,
           "a validation an epoch, better than chance");
    tap_ok(snapshot.validation.best_top1 >= snapshot.validation.top1 &&
               snapshot.memory_measured > 0 && snapshot.ms_per_image_median > 0,
           "best accuracy, memory and tempo are known");
    tap_ok(run_facts(run)->parameters == 784 * 24 + 24 + 24 * 10 + 10 &&
               run_facts(run)->validation_images == 130,
           "the facts are the network's and the data's");
    tap_ok(mode_of(directory, "") == 0700 && mode_of(directory, "config.json") == 0600 &&
               mode_of(directory, "journal") == 0600 && mode_of(directory, "summary.json") == 0600,
           "its files are the user's alone");
    tap_ok(mode_of(directory, "weights.safetensors") && mode_of(directory, "best.safetensors"),
           "last and best weights are stored");
    tap_ok(!run_directory_is_alive(directory), "its lock is released");
    check_reopened(run, &snapshot);
    check_saved_model(save, &snapshot);
    run_free(run);
}

/* --- equal bits --- */

static bool same_files(const char *a, const char *b)
{
    char command[1200];
    snprintf(command, sizeof command, "cmp -s '%s' '%s'", a, b);
    return system(command) == 0;
}

static void test_threads_change_nothing(void)
{
    const char *paths[2] = {home_path("one.safetensors"), home_path("two.safetensors")};
    const char *threads[2] = {"threads=1", "threads=2"};
    for (size_t i = 0; i < 2; i++) {
        struct run *run = start(SETTINGS("network=lenet", "data=digits,limit=96", "batch=32",
                                         "epochs=1", "seed=7", threads[i]),
                                paths[i]);
        if (run)
            finish(run);
        run_free(run);
    }
    tap_ok(same_files(paths[0], paths[1]), "one thread or two: the model files are equal");
}

/* Gondim's protocol stores the best model, not the last. */
static void test_best_is_saved(void)
{
    const char *save = home_path("best.safetensors");
    char best[600];
    struct run *run =
        start(SETTINGS("preset=cifar", "network=tiny", "data=digits,limit=96",
                       "validate=digits,limit=100", "batch=32", "epochs=6", "lr=0.5", "threads=1"),
              save);
    if (!tap_ok(run, "a run with the preset cifar starts"))
        return;
    struct run_snapshot snapshot = finish(run);
    const struct series *series = run_series(run);
    double most = 0;
    for (size_t i = 0; i < series_validation_count(series); i++)
        most = fmax(most, (double)series->validations[i].top1);
    snprintf(best, sizeof best, "%s/best.safetensors", run_facts(run)->directory);
    tap_ok(snapshot.status == RUN_DONE && fabs(snapshot.validation.best_top1 - most) < 1e-4 &&
               same_files(save, best),
           "and saves the model with the best accuracy");
    run_free(run);
}

/* Changes by suffixes of the name must be restored with the weights. */
static void test_variation_is_saved(void)
{
    const char *save = home_path("variation.safetensors");
    struct error error;
    struct model model = {0};
    struct prediction predictions[3];
    struct run *run = start(SETTINGS("network=resnet20-shift-4", "data=shapes,limit=8", "batch=4",
                                     "iterations=1", "threads=1"),
                            save);
    if (run)
        finish(run);
    if (!tap_ok(run && model_load(&model, save, "cpu", 1, &error),
                "a network with technique and rate is saved and loaded"))
        note_error(&error);
    else
        tap_ok(model.network->technique == TECHNIQUE_SHIFT && model.network->width_rate == 4 &&
                   strcmp(run_facts(run)->network, "resnet20-shift-4") == 0 &&
                   strcmp(model.class_names[0], "") != 0,
               "with both of them, and the names of its classes");
    struct image image;
    if (image_create(&image, 40, 50, 3, NULL)) {
        memset(image.pixels, 90, (size_t)40 * 50 * 3);
        bool written = image_file_write_png(&image, home_path("one.png"), NULL);
        tap_ok(written && model_predict(&model, home_path("one.png"), 3, predictions, &error) &&
                   predictions[0].probability >= predictions[1].probability &&
                   predictions[1].probability >= predictions[2].probability &&
                   predictions[0].probability <= 1,
               "it predicts classes of a picture of another size, most probable first");
        tap_ok(!model_predict(&model, home_path("nosuch.png"), 1, predictions, &error) &&
                   !model_predict(&model, home_path("one.png"), 11, predictions, &error),
               "a missing picture and too many classes are refused");
        image_free(&image);
    }
    model_free(&model);
    run_free(run);
}

/* --- readers and commands while it runs --- */

struct watching {
    struct run *run;
    atomic_bool end;
    bool consistent;
    size_t copies;
};

/* Reads the run as a screen does, as fast as possible. */
static void *watch(void *context)
{
    struct watching *watching = context;
    struct run_snapshot before = {0}, now;
    while (!atomic_load(&watching->end)) {
        run_snapshot(watching->run, &now);
        const struct series *series = run_series(watching->run);
        size_t count = series_count(series);
        watching->consistent &= now.iteration >= before.iteration && count >= now.iteration;
        for (size_t i = 0; i < count; i++)
            watching->consistent &= series->points[i].iteration == i + 1;
        if (now.iteration > 0)
            watching->consistent &= series->points[now.iteration - 1].loss == now.loss;
        before = now;
        watching->copies++;
    }
    return NULL;
}

static bool wait_for(const struct run *run, enum run_status status)
{
    struct run_snapshot snapshot;
    for (int i = 0; i < 30000; i++) {
        run_snapshot(run, &snapshot);
        if (snapshot.status == status)
            return true;
        usleep(2000);
    }
    return false;
}

static void test_hand_over(void)
{
    struct run *run = start(SETTINGS("network=tiny", "data=digits,limit=64", "batch=8",
                                     "iterations=400", "lr=0.01", "threads=1"),
                            NULL);
    if (run)
        run_send(run, COMMAND_PAUSE, 0); /* before it can have ended */
    struct watching watching = {.run = run, .consistent = true};
    pthread_t thread;
    if (!tap_ok(run && pthread_create(&thread, NULL, watch, &watching) == 0, "a reader watches"))
        return;
    bool paused = wait_for(run, RUN_PAUSED);
    struct run_snapshot first, second;
    run_snapshot(run, &first);
    usleep(50000);
    run_snapshot(run, &second);
    tap_ok(paused && first.iteration == second.iteration, "pause: no iteration is done");
    run_send(run, COMMAND_LEARNING_RATE, 0.005);
    run_send(run, COMMAND_SAVE, 0);
    run_send(run, COMMAND_GO_ON, 0);
    run_wait(run, -1);
    atomic_store(&watching.end, true);
    pthread_join(thread, NULL);
    struct run_snapshot snapshot = finish(run);
    tap_ok(snapshot.status == RUN_DONE && snapshot.iteration == 400,
           "continue: it runs to its end");
    tap_ok(watching.consistent && watching.copies > 0,
           "every copied snapshot was whole and no point changed");
    tap_ok(snapshot.learning_rate == (double)0.005f, "the rate set by hand holds");
    tap_ok(snapshot.epoch == 50, "iterations go on into the next epochs");
    run_free(run);
}

static void test_stop(void)
{
    struct run *run = start(SETTINGS("network=tiny", "data=digits,limit=64", "batch=8",
                                     "iterations=1000000", "threads=1"),
                            home_path("stopped.safetensors"));
    if (!tap_ok(run && wait_for(run, RUN_RUNNING), "a long run starts"))
        return;
    usleep(20000);
    run_send(run, COMMAND_STOP_AT_EPOCH, 0);
    struct run_snapshot snapshot = finish(run);
    tap_ok(snapshot.status == RUN_STOPPED && snapshot.iteration % 8 == 0 && snapshot.iteration > 0,
           "it can be stopped at the end of an epoch");
    tap_ok(access(home_path("stopped.safetensors"), R_OK) == 0, "and is saved");
    run_free(run);
    run = start(SETTINGS("network=tiny", "data=digits,limit=64", "batch=8", "iterations=1000000",
                         "threads=1"),
                NULL);
    tap_ok(run && wait_for(run, RUN_RUNNING), "another long run starts");
    run_free(run);
    tap_ok(true, "run_free stops it");
}

/* --- runs that fail --- */

static void test_divergence(void)
{
    struct finding finding;
    struct run *run = start(SETTINGS("network=tiny", "data=digits,limit=64", "batch=32",
                                     "epochs=20", "lr=1000000", "weight-decay=10", "threads=1"),
                            home_path("diverged.safetensors"));
    if (!tap_ok(run, "a run with a hopeless rate starts"))
        return;
    struct run_snapshot snapshot = finish(run);
    const struct series *series = run_series(run);
    size_t count = series_count(series);
    tap_ok(snapshot.status == RUN_FAILED && snapshot.error.kind == ERROR_DIVERGED,
           "it fails as diverged");
    tap_ok(count > 0 && !isfinite(series->points[count - 1].loss),
           "its last loss is NaN or infinite");
    tap_ok(has_finding(run, FINDING_DIVERGENCE, &finding) &&
               strstr(finding.text, snapshot.error.what) && finding.iteration == count,
           "a finding names the layer");
    tap_ok(access(home_path("diverged.safetensors"), F_OK) != 0, "nothing is saved");
    struct run *opened = run_open(run_facts(run)->directory, NULL);
    struct run_snapshot again = {0};
    if (opened)
        run_snapshot(opened, &again);
    tap_ok(opened && again.status == RUN_FAILED && again.error.kind == ERROR_DIVERGED &&
               strcmp(again.error.why, snapshot.error.why) == 0 &&
               isnan(run_series(opened)->points[count - 1].loss),
           "all of which can be read back");
    run_free(opened);
    run_free(run);
}

static void test_interrupted(void)
{
    struct run *run =
        start(SETTINGS("network=tiny", "data=digits,limit=64", "batch=32", "epochs=3", "threads=1"),
              NULL);
    if (!tap_ok(run, "a run to be cut off starts"))
        return;
    finish(run);
    char path[600];
    snprintf(path, sizeof path, "%s/summary.json", run_facts(run)->directory);
    unlink(path);
    snprintf(path, sizeof path, "%s/journal", run_facts(run)->directory);
    FILE *journal = fopen(path, "a");
    fputs("a torn record", journal);
    fclose(journal);
    struct run *opened = run_open(run_facts(run)->directory, NULL);
    struct run_snapshot snapshot = {0};
    if (opened)
        run_snapshot(opened, &snapshot);
    tap_ok(opened && snapshot.status == RUN_INTERRUPTED && snapshot.iteration == 6 &&
               same_points(run_series(run), run_series(opened)),
           "without a summary it is interrupted, and only a torn last record is lost");
    run_free(opened);
    run_free(run);
}

static void refuse_at_once(const char *what, const char *words, const char *const *settings)
{
    struct run_config config = configure(settings);
    struct error error = {0};
    char text[1100] = "";
    struct run *run = run_start(&config, NULL, &error);
    if (!run)
        error_format(&error, text, sizeof text);
    tap_ok(!run && strstr(text, words), "refused at once: %s (%s)", what, text);
    run_free(run);
}

static void refuse_in_time(const char *what, const char *words, const char *const *settings)
{
    struct run *run = start(settings, NULL);
    char text[1100] = "";
    struct run_snapshot snapshot = {0};
    if (run) {
        run_wait(run, -1);
        run_snapshot(run, &snapshot);
        error_format(&snapshot.error, text, sizeof text);
    }
    tap_ok(run && snapshot.status == RUN_REFUSED && strstr(text, words), "refused: %s (%s)", what,
           text);
    run_free(run);
}

static void test_refusals(void)
{
    refuse_at_once("the wrong image shape", "32x32", SETTINGS("network=lenet", "data=shapes"));
    refuse_at_once("an unknown network", "nosuch", SETTINGS("network=nosuch"));
    refuse_at_once("an unknown kind of data", "kind", SETTINGS("data=nosuch:/tmp"));
    refuse_at_once("a missing device", "cuda", SETTINGS("device=cuda"));
    refuse_at_once("a run that does not fit", "would fit",
                   SETTINGS("network=alexnet", "data=tench", "batch=65536"));
    refuse_at_once("epochs and iterations", "--iterations", SETTINGS("epochs=2", "iterations=3"));
    refuse_in_time("a missing data set", "nowhere", SETTINGS("data=idx:/nowhere/at/all"));
    refuse_in_time("a batch larger than the set", "64",
                   SETTINGS("data=digits,limit=10", "batch=64", "network=tiny"));
    refuse_in_time("validation images of another size", "shapes",
                   SETTINGS("data=digits,limit=64", "validate=shapes", "network=tiny"));
}

static void test_directories(void)
{
    char **ids;
    size_t count;
    bool sorted = run_directory_list(&ids, &count, NULL);
    tap_ok(sorted && count > 5, "the runs are listed");
    for (size_t i = 1; i < count; i++)
        sorted &= strcmp(ids[i - 1], ids[i]) < 0;
    tap_ok(sorted, "in the order of their names");
    char *found = count ? run_directory_find(ids[0], NULL) : NULL;
    tap_ok(found && strstr(found, ids[0]), "a run is found by its name");
    struct error error;
    tap_ok(!run_directory_find("20", &error) && strstr(error.why, "runs begin so"),
           "an ambiguous prefix is refused");
    tap_ok(!run_directory_find("nosuch", &error), "an unknown one too");
    struct run_config config = configure(SETTINGS("network=lenet", "data=digits,limit=64"));
    struct run_options options = {.run_directory = found};
    tap_ok(!run_start(&config, &options, &error), "a run is never written over another");
    free(found);
    for (size_t i = 0; i < count; i++)
        free(ids[i]);
    free(ids);
}

TEST_CASE(run_test)
{
    if (!make_home() || !write_text(home_path("tiny.json"), tiny_text))
        return 99;
    test_whole_run();
    test_threads_change_nothing();
    test_best_is_saved();
    test_variation_is_saved();
    test_hand_over();
    test_stop();
    test_divergence();
    test_interrupted();
    test_refusals();
    test_directories();
    remove_home();
    return tap_done();
}
