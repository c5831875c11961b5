/* Resuming a run: to the same bits from any place, also with a discriminator; damage is reported
 * and the previous checkpoint used; changed settings are refused. */
#include "runs/folder/run_directory.h"
#include "runs/record/resume.h"

#include "base/files/file.h"

#include "runs/record/run_open.h"
#include "session_files.h"
#include "training/run_start.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>

#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char tiny[] =
    "{\"name\": \"tiny\", \"input\": [1, 28, 28], \"classes\": 10, \"normalise\": \"unit\",\n"
    " \"layers\": [{\"op\": \"conv\", \"name\": \"c\", \"output\": 4, \"kernel\": 3, \"stride\": "
    "2},\n"
    "  {\"op\": \"batch_norm\"}, {\"op\": \"relu\"}, {\"op\": \"flatten\"},\n"
    "  {\"op\": \"dropout\", \"rate\": 0.3},\n"
    "  {\"op\": \"linear\", \"name\": \"fc\", \"output\": \"classes\"}]}\n";

static const char painter[] =
    "{\"name\": \"painter\", \"input\": [3, 16, 16], \"normalise\": \"signed\", \"loss\": "
    "\"l1_loss\",\n"
    " \"layers\": [{\"block\": \"unet\", \"name\": \"unet\", \"width\": 8, \"widest\": 16,\n"
    "   \"steps\": 3, \"dropout_steps\": 1}, {\"op\": \"tanh\", \"name\": \"tanh\"}],\n"
    " \"discriminator\": {\"layers\": [\n"
    "  {\"op\": \"conv\", \"output\": 8, \"kernel\": 4, \"stride\": 2, \"pad\": 1},\n"
    "  {\"op\": \"leaky_relu\", \"slope\": 0.2},\n"
    "  {\"op\": \"conv\", \"output\": 1, \"kernel\": 4, \"stride\": 2, \"pad\": 1}]}}\n";

/* --- runs --- */

static struct run *begin(const char *network, const char *const *settings, const char *more)
{
    struct run_config config = configure(settings);
    struct error error;
    config_set(&config, "network", home_path(network), NULL);
    config_set(&config, "checkpoint", "1000", NULL);
    if (more)
        config_set(&config, "threads", more, NULL);
    struct run *run = run_start(&config, NULL, &error);
    if (!run)
        note_error(&error);
    return run;
}

static enum run_status finish(struct run *run)
{
    struct run_snapshot snapshot = {.status = RUN_REFUSED};
    if (!run)
        return RUN_REFUSED;
    run_wait(run, -1);
    run_snapshot(run, &snapshot);
    return snapshot.status;
}

/* Stops a run at the end of its first epoch, on a machine of any speed. */
static enum run_status stop_at_epoch(struct run *run)
{
    if (run)
        run_send(run, COMMAND_STOP_AT_EPOCH, 0);
    return finish(run);
}

/* Stops a run some time after an iteration; a fast run may be done before. */
static void stop_after(struct run *run, uint64_t iteration)
{
    struct run_snapshot snapshot = {0};
    while (!run_wait(run, 0.0002)) {
        run_snapshot(run, &snapshot);
        if (snapshot.iteration >= iteration)
            run_send(run, COMMAND_STOP, 0);
    }
}

static struct run *resume(const char *directory, const char *key, const char *value,
                          struct error *error)
{
    struct run_config changes;
    config_defaults(&changes);
    if (key)
        config_set(&changes, key, value, NULL);
    *error = (struct error){0};
    return run_resume(directory, &changes, NULL, error);
}

static bool same_bytes(const char *one, const char *other, const char *name)
{
    char path[700];
    size_t sizes[2] = {0, 0};
    snprintf(path, sizeof path, "%s/%s", one, name);
    char *a = file_read(path, SIZE_MAX / 2, &sizes[0], NULL);
    snprintf(path, sizeof path, "%s/%s", other, name);
    char *b = file_read(path, SIZE_MAX / 2, &sizes[1], NULL);
    bool same = a && b && sizes[0] == sizes[1] && memcmp(a, b, sizes[0]) == 0;
    free(a);
    free(b);
    return same;
}

static bool same_float(float a, float b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool same_curves(const struct series *a, const struct series *b)
{
    bool same = series_count(a) == series_count(b) && series_count(a) > 0 &&
                series_validation_count(a) == series_validation_count(b);
    for (size_t i = 0; same && i < series_count(a); i++) {
        const struct series_point *x = &a->points[i], *y = &b->points[i];
        same = x->iteration == y->iteration && x->epoch == y->epoch && x->loss == y->loss &&
               x->loss_caffe == y->loss_caffe && x->loss_mean == y->loss_mean &&
               same_float(x->loss_discriminator, y->loss_discriminator) &&
               same_float(x->loss_l1, y->loss_l1) && x->learning_rate == y->learning_rate;
    }
    for (size_t i = 0; same && i < series_validation_count(a); i++)
        same = a->validations[i].iteration == b->validations[i].iteration &&
               a->validations[i].loss == b->validations[i].loss &&
               same_float(a->validations[i].top1, b->validations[i].top1);
    return same;
}

static bool has(const char *directory, const char *name)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return file_exists(path);
}

static void flip_byte(const char *directory, const char *name, long place)
{
    char path[700];
    unsigned char byte = 0;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int file = open(path, O_RDWR);
    if (place < 0)
        place += lseek(file, 0, SEEK_END);
    if (pread(file, &byte, 1, place) == 1) {
        byte ^= 0x10;
        tap_ok(pwrite(file, &byte, 1, place) == 1, "a bit of %s is turned", name);
    }
    close(file);
}

/* --- to the same bits --- */

struct kind {
    const char *name, *network;
    const char *const *settings;
    bool has_discriminator;
};

static void check_end(const struct kind *kind, struct run *whole, struct run *run)
{
    const char *one = run_facts(whole)->directory, *other = run_facts(run)->directory;
    struct error error;
    struct run *opened = run_open(other, &error);
    tap_ok(same_bytes(one, other, "weights.safetensors"), "%s: the weights to the bit", kind->name);
    tap_ok(same_bytes(one, other, "best.safetensors"), "%s: the best model, too", kind->name);
    if (kind->has_discriminator)
        tap_ok(same_bytes(one, other, "discriminator.safetensors"), "%s: the discriminator, too",
               kind->name);
    tap_ok(same_curves(run_series(whole), run_series(run)), "%s: all curves, too", kind->name);
    tap_ok(opened && same_curves(run_series(whole), run_series(opened)),
           "%s: and each iteration is once in the journal", kind->name);
    tap_ok(!has(other, "checkpoint.safetensors") && !has(other, "checkpoint.previous.safetensors"),
           "%s: a complete run has no checkpoint", kind->name);
    run_free(opened);
}

/* A run that is stopped twice, at the end of an epoch and within one, each time with a different
 * number of threads. */
static void test_kind(const struct kind *kind)
{
    struct error error;
    char directory[512];
    struct run *whole = begin(kind->network, kind->settings, "1");
    if (!tap_ok(finish(whole) == RUN_DONE, "%s: a run without interruption", kind->name))
        return run_free(whole);
    struct run *run = begin(kind->network, kind->settings, "1");
    tap_ok(stop_at_epoch(run) == RUN_STOPPED &&
               has(run_facts(run)->directory, "checkpoint.safetensors"),
           "%s: a stopped run has a checkpoint", kind->name);
    snprintf(directory, sizeof directory, "%s", run_facts(run)->directory);
    run_free(run);
    run = resume(directory, "threads", "3", &error);
    if (run)
        stop_after(run, 9);
    enum run_status status = finish(run);
    tap_ok(status == RUN_STOPPED || status == RUN_DONE,
           "%s: continues, and is stopped once more (%s)", kind->name, error.why);
    if (status == RUN_STOPPED) {
        run_free(run);
        run = resume(directory, "threads", "2", &error);
    }
    if (tap_ok(finish(run) == RUN_DONE, "%s: continues to its end (%s)", kind->name, error.why))
        check_end(kind, whole, run);
    run_free(run);
    run_free(whole);
}

static void test_kinds(void)
{
    const struct kind kinds[] = {
        {"momentum", "tiny.json",
         SETTINGS("data=digits,limit=60", "validate=digits,split=test,limit=20", "epochs=6",
                  "batch=10", "average-loss=4", "augment=yes"),
         false},
        {"adam and plateaus", "tiny.json",
         SETTINGS("data=digits,limit=20", "validate=digits,split=test,limit=20", "epochs=40",
                  "batch=10", "lr=0", "solver=adam", "schedule=plateau"),
         false},
        {"a step in every epoch", "tiny.json",
         SETTINGS("data=digits,limit=60", "validate=digits,split=test,limit=20", "iterations=35",
                  "batch=10", "solver=nesterov", "schedule=step"),
         false},
        {"two networks", "painter.json",
         SETTINGS("data=maps,limit=3", "validate=maps,split=test,limit=1", "epochs=4", "batch=1",
                  "solver=adam", "lr=0.002", "momentum=0.5", "schedule=linear", "tolerance=40"),
         true}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        test_kind(&kinds[i]);
}

/* --- damage --- */

/* Makes a run with two checkpoints: it is stopped twice. */
static bool stopped_twice(char *directory, size_t size)
{
    struct error error;
    struct run *run = begin(
        "tiny.json", SETTINGS("data=digits,limit=60", "epochs=200", "batch=10", "seed=9"), "1");
    if (stop_at_epoch(run) != RUN_STOPPED)
        return false;
    snprintf(directory, size, "%s", run_facts(run)->directory);
    run_free(run);
    run = resume(directory, NULL, NULL, &error);
    bool stopped = stop_at_epoch(run) == RUN_STOPPED;
    run_free(run);
    return stopped && has(directory, "checkpoint.previous.safetensors");
}

static void test_damage(void)
{
    struct error error;
    struct run_snapshot snapshot = {0};
    char directory[512];
    if (!tap_ok(stopped_twice(directory, sizeof directory), "a run with two checkpoints"))
        return;
    flip_byte(directory, "checkpoint.safetensors", -100);
    struct run *run = resume(directory, NULL, NULL, &error);
    if (run)
        run_send(run, COMMAND_PAUSE, 0);
    while (run && snapshot.status != RUN_PAUSED && !run_wait(run, 0.001))
        run_snapshot(run, &snapshot);
    tap_ok(strstr(snapshot.error.what, "checkpoint.safetensors") &&
               strstr(snapshot.error.why, "checksum") && snapshot.begun_at == 6,
           "a damaged checkpoint is reported, and the previous one used (%s)", snapshot.error.why);
    if (run) { /* before it goes on: its epochs are short */
        run_send(run, COMMAND_STOP_AT_EPOCH, 0);
        run_send(run, COMMAND_GO_ON, 0);
    }
    finish(run);
    run_free(run);
    flip_byte(directory, "checkpoint.safetensors", 300);
    flip_byte(directory, "checkpoint.previous.safetensors", 4000);
    run = resume(directory, NULL, NULL, &error);
    enum run_status status = finish(run);
    if (run)
        run_snapshot(run, &snapshot);
    tap_ok(status == RUN_REFUSED && strstr(snapshot.error.what, "checkpoint.safetensors"),
           "when both are, the run is refused (%s)", snapshot.error.why);
    run_free(run);
    run = run_open(directory, NULL);
    if (run)
        run_snapshot(run, &snapshot);
    tap_ok(run && snapshot.status == RUN_STOPPED && snapshot.iteration == 12 &&
               series_count(run_series(run)) == 12,
           "and the run is not changed");
    run_free(run);
}

/* --- refusals --- */

static void refuses(const char *directory, const char *key, const char *value, const char *words)
{
    struct error error;
    char text[1100] = "";
    struct run *run = resume(directory, key, value, &error);
    enum run_status status = finish(run);
    struct run_snapshot snapshot;
    if (run) {
        run_snapshot(run, &snapshot);
        error = snapshot.error;
    }
    tap_ok(status == RUN_REFUSED && strstr(error_format(&error, text, sizeof text), words),
           "refused: %s %s (%s)", key ? key : "", value ? value : "", text);
    run_free(run);
}

static void test_refusals(void)
{
    struct error error;
    char directory[512], process[32];
    struct run *run =
        begin("tiny.json",
              SETTINGS("data=digits,limit=60", "epochs=500", "batch=10", "schedule=cosine"), "1");
    snprintf(directory, sizeof directory, "%s", run_facts(run)->directory);
    snprintf(process, sizeof process, "process %ld", (long)getpid());
    refuses(directory, NULL, NULL, process);
    stop_at_epoch(run);
    run_free(run);
    refuses(directory, "epochs", "400", "longer, not shorter");
    refuses(directory, "epochs", "600", "cosine");
    refuses(directory, "iterations", "6000", "other unit");
    run = resume(directory, "epochs", "500", &error);
    tap_ok(run != NULL, "the same length is no change (%s)", error.why);
    stop_at_epoch(run);
    run_free(run);
}

static void test_longer(void)
{
    struct error error;
    const char *const longer[] = {"data=digits,limit=60", "epochs=30", "batch=10", NULL};
    const char *const shorter[] = {"data=digits,limit=60", "epochs=20", "batch=10", NULL};
    struct run *whole = begin("tiny.json", longer, "1");
    char directory[512];
    finish(whole);
    struct run *run = begin("tiny.json", shorter, "1");
    tap_ok(stop_at_epoch(run) == RUN_STOPPED, "a run to become longer");
    snprintf(directory, sizeof directory, "%s", run_facts(run)->directory);
    run_free(run);
    run = resume(directory, "epochs", "30", &error);
    tap_ok(finish(run) == RUN_DONE &&
               same_bytes(run_facts(whole)->directory, directory, "weights.safetensors"),
           "a run can become longer (%s)", error.why);
    run_free(run);
    run = run_open(directory, &error);
    tap_ok(run && run_config(run)->epochs == 30 && same_curves(run_series(whole), run_series(run)),
           "and is read back with its new length");
    run_free(run);
    run_free(whole);
    refuses(directory, NULL, NULL, "complete");
    refuses(directory, "epochs", "60", "complete");
}

TEST_CASE(resume_test)
{
    if (!make_home() || !write_text(home_path("tiny.json"), tiny) ||
        !write_text(home_path("painter.json"), painter))
        return 99;
    test_kinds();
    test_damage();
    test_refusals();
    test_longer();
    remove_home();
    return tap_done();
}
