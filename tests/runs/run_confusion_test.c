/* Type confusion in the files of a run's folder (confuse.h): whatever type a member has, the code
 * behind every command that opens runs ends with a result or an error. The commands themselves are
 * tried by tests/cli/confusion_test.sh. */
#include "base/files/file.h"
#include "exchange/export/chart.h"
#include "exchange/export/export.h"
#include "exchange/tensorboard/tensorboard.h"
#include "models/measure/measurement.h"
#include "models/saved/correct_images.h"
#include "runs/folder/inspection.h"
#include "runs/folder/journal.h"
#include "runs/folder/run_json.h"
#include "runs/folder/run_prune.h"
#include "runs/record/run_open.h"
#include "studies/compare/advise.h"
#include "studies/compare/compare.h"
#include "studies/compare/report.h"
#include "studies/tables/tables.h"
#include "training/check/run_check.h"
#include "training/run_start.h"

#include "confuse.h"
#include "sample.h"
#include "session_files.h"

#include <math.h>

/* The largest changes ask for more memory than there is, which is an ordinary error. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

enum { STEP = 199, STEP_SANITIZED = 389 };

static char directory[512]; /* of the run */
static struct run *other;   /* a sound run beside it */

static char *run_path(const char *name)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

/* --- a run with all files --- */

static const char profile[] =
    "{\"format\": \"tinca-profile\", \"version\": 1, \"iteration\": 1, \"iterations\": 2, "
    "\"images\": 2, \"threads\": 1, \"seconds\": 0.1, \"cost\": 0.01, \"networks\": [{\"name\": "
    "\"network\", \"layers\": [{\"name\": \"conv\", \"op\": \"conv\", \"kernel\": \"k\", "
    "\"choice\": \"k chosen\", \"memory_bytes\": 0, \"forward_seconds\": 1e-3, "
    "\"backward_seconds\": null, \"forward_flops\": 1, \"backward_flops\": 2, \"output\": [1, 2, "
    "3]}], \"weights\": [], \"gemm\": [{\"kind\": \"nt\", \"shape\": [1, 2, 3], \"calls\": 4, "
    "\"seconds\": 0.5}]}], \"arenas\": []}\n";
static const char killed[] =
    "{\"format\": \"tinca-killed\", \"version\": 1, \"cause\": \"memory\", \"what\": "
    "\"run\", \"why\": \"killed\", \"advice\": \"resume\"}\n";
static const char pruned[] =
    "{\"format\": \"tinca-pruned\", \"version\": 1, \"deleted\": [\"checkpoint.safetensors\"]}\n";

static bool print_line(void *context, const struct journal_line *line, struct error *error)
{
    struct text *text = context;
    (void)error;
    journal_print_line(text, line);
    text_append(text, "\n");
    return true;
}

/* Gives the run a journal of lines, which have members to be confused; the text of events in
 * records is read by the same code. */
static bool write_lines(void)
{
    struct error error;
    struct text text = {0};
    const bool written = journal_read(directory, NULL, print_line, &text, NULL, &error) &&
                         write_text(run_path(JOURNAL_TEXT_FILE), text.data) &&
                         remove(run_path(JOURNAL_FILE)) == 0;
    text_free(&text);
    return written;
}

/* Trains a run to its end. Returns its folder in `path`. */
static bool train(const struct run_config *config, char *path, size_t size)
{
    struct error error = {0};
    struct run_snapshot snapshot = {0};
    struct run *run = run_start(config, NULL, &error);
    if (run) {
        snprintf(path, size, "%s", run_facts(run)->directory);
        run_wait(run, -1);
        run_snapshot(run, &snapshot);
    }
    run_free(run);
    if (!run || snapshot.status != RUN_DONE)
        note_error(run ? &snapshot.error : &error);
    return run && snapshot.status == RUN_DONE;
}

static bool store_outputs(void)
{
    struct error error = {0};
    char save[] = "copy.safetensors", session[] = "session.json";
    const struct run_outputs outputs = {.save = save, .session = session};
    return run_outputs_write(directory, &outputs, &error);
}

static bool measure(void)
{
    struct error error = {0};
    struct measurement measurement;
    struct run *run = run_open(directory, &error);
    const struct measure_request request = {.images = 4, .threads = 1, .device = "cpu"};
    const bool measured = run && measure_run(run, &request, &measurement, &error);
    run_free(run);
    if (!measured)
        note_error(&error);
    return measured;
}

static bool make_runs(void)
{
    char path[512];
    struct error error = {0};
    struct run_config config = configure((const char *const[]){
        "network=lenet", "width-rate=0.25", "data=digits,limit=32", "validate=digits,limit=16",
        "batch=8", "iterations=6", "threads=1", "seed=3", NULL});
    if (!train(&config, directory, sizeof directory) || !measure() ||
        !write_text(run_path("profile.json"), profile) ||
        !write_text(run_path("pruned.json"), pruned) ||
        !write_text(run_path("killed.json"), killed) || !store_outputs() || !write_lines())
        return false;
    config.seed = 4;
    other = train(&config, path, sizeof path) ? run_open(path, &error) : NULL;
    return other;
}

/* --- what commands do with a run --- */

static void compare_runs(const struct run *run)
{
    struct error error;
    struct comparison comparison = {0};
    struct text text = {0};
    static const struct study_file votes;
    const struct advise_request request = {.device = "weak",
                                           .need = ADVISE_BOTH,
                                           .limit_ms = NAN,
                                           .limit_mb = NAN,
                                           .accept_loss = ADVISE_ACCEPT_LOSS};
    struct advice *advice = calloc(1, sizeof *advice);
    if (compare_add_run(&comparison, run, &error) && compare_add_run(&comparison, other, &error) &&
        compare_add_settings(&comparison, &error) && compare_complete(&comparison, &error)) {
        for (enum compare_format format = COMPARE_TEXT; format <= COMPARE_MARKDOWN; format++)
            compare_write(&comparison, format, &text, NULL);
        tables_write(TABLES_TRINDADE, &comparison, &votes, TABLES_TEXT, &text, &error);
        tables_write(TABLES_GONDIM, &comparison, &votes, TABLES_CSV, &text, &error);
        if (advice && advise(&comparison, &request, advice, &error))
            json_free(advise_to_json(&comparison, &request, advice));
    }
    free(advice);
    text_free(&text);
    compare_free(&comparison);
}

static void export_run(struct run *run)
{
    struct error error;
    struct run *const runs[] = {run, other};
    struct chart_settings settings = {.format = CANVAS_SVG};
    export_session(runs, 2, home_path("session.json"), &error);
    export_csv(runs, 2, home_path("csv"), &error);
    export_csv_long(runs, 2, home_path("long.csv"), &error);
    export_npz(runs, 2, home_path("runs.npz"), &error);
    tensorboard_export(runs, 1, home_path("events"), &error);
    chart_write(runs, 1, &settings, home_path("one.svg"), &error);
    chart_write(runs, 2, &settings, home_path("two.svg"), &error);
    report_write(runs, 1, NULL, home_path("report.md"), &error);
    report_write(runs, 2, NULL, home_path("reports.md"), &error);
}

static void use_run(void)
{
    struct error error;
    struct run_check check = {0};
    struct run_outline outline;
    struct measurements measurements;
    struct correct_images correct;
    struct run_pruning pruning;
    struct run_outputs outputs;
    struct run_snapshot interrupted = {.status = RUN_INTERRUPTED};
    run_killed_read(directory, &interrupted);
    if (run_outputs_read(&outputs, directory, &error))
        run_outputs_free(&outputs);
    run_peek(directory, &outline, &error);
    if (run_check(directory, true, &check, &error))
        run_check_free(&check);
    if (measurements_read(&measurements, directory, &error))
        measurements_free(&measurements);
    if (correct_images_read(&correct, directory, &error))
        correct_images_free(&correct);
    struct inspection *inspection = inspection_load(directory, &error);
    json_free(inspection ? inspection_to_json(inspection) : NULL);
    inspection_free(inspection);
    run_prune_measure(directory, RUN_KEEP_BEST, &pruning);
    run_prune_has_deleted(directory, "best.safetensors");
    struct run *run = run_open(directory, &error);
    if (run) {
        export_run(run);
        compare_runs(run);
    }
    run_free(run);
}

/* --- the cases --- */

static bool write_case(const char *path, size_t number)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    confuse_write(number, file);
    return fclose(file) == 0;
}

/* Tries the changes of one file, and restores it. A crash ends the program; the last note names the
 * case. */
static void test_file(const char *name)
{
    size_t size, tried = 0;
    struct error error;
    const char *path = run_path(name);
    char *whole = file_read(path, 1 << 24, &size, &error);
    const size_t count = whole ? confuse_read(path) : 0;
    bool written = true;
    for (size_t i = 0; written && i < count; i++)
        if (sample_has(i, STEP, STEP_SANITIZED) || i == CONFUSE_ROOT_ARRAY) {
            tap_note("%s %zu", name, i);
            written = write_case(path, i);
            use_run();
            tried++;
        }
    tap_ok(whole && written && tried > 1 && file_write(path, whole, size, true, &error),
           "%s: %zu of %zu changes", name, tried, count);
    free(whole);
}

TEST_CASE(run_confusion_test)
{
    static const char *const files[] = {"config.json",       JOURNAL_TEXT_FILE, "summary.json",
                                        "network.json",      "data.json",       "provenance.json",
                                        "measurements.json", "profile.json",    "pruned.json",
                                        "correct.json",      "killed.json",     "outputs.json"};
    if (!make_home())
        return 99;
    if (tap_ok(make_runs(), "a run with all files, and another one"))
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
            test_file(files[i]);
    run_free(other);
    remove_home();
    return tap_done();
}
