/* The session file and the CSV files of run folders that the test writes: exported values have the
 * bits of the journal, and values that JSON cannot represent are null. tests/cli/session_schema.sh
 * checks the schema. */
#include "exchange/export/export.h"

#include "base/files/file.h"
#include "base/json/json.h"

#include "runs/record/run_open.h"
#include "session_files.h"

#include <math.h>
#include <sys/stat.h>

#define CONFIG(number, data)                                                                       \
    "{\"format\": \"tinca-run\", \"version\": 1, \"id\": \"20260101-000000-lenet-" number "\",\n"  \
    " \"created\": \"2026-01-01T00:00:00Z\",\n"                                                    \
    " \"config\": {\"network\": \"lenet\", \"data\": \"" data                                      \
    "\", \"batch\": 8, \"iterations\": 4}}\n"
static const char config_text[] = CONFIG("0001", "digits");

static const char journal_text[] =
    "{\"event\":\"start\",\"network\":\"lenet\",\"technique\":\"none\",\"parameters\":431080,"
    "\"flops\":4586000,\"images\":64,\"validation_images\":10,\"classes\":10,\"threads\":2,"
    "\"iterations\":4,\"epochs\":0.5,\"memory\":{\"weights\":10,\"gradients\":20,\"solver\":30,"
    "\"activations\":40,\"workspace\":50,\"total\":150}}\n"
    "{\"iteration\":1,\"epoch\":0.125,\"loss\":2.30258512,\"loss_caffe\":2.30258512,"
    "\"loss_mean\":2.30258512,\"lr\":0.01,\"ms_per_image\":2,\"seconds\":1,\"memory_bytes\":5}\n"
    "{\"iteration\":2,\"epoch\":0.25,\"loss\":1.82841e-05,\"loss_caffe\":-4.50473e-08,"
    "\"loss_mean\":1,\"lr\":0.01,\"ms_per_image\":4,\"seconds\":2,\"memory_bytes\":5}\n"
    "{\"event\":\"finding\",\"kind\":\"negative-loss\",\"iteration\":2,\"epoch\":0.25,"
    "\"text\":\"say \\\"why\\\"\"}\n"
    "{\"iteration\":3,\"epoch\":0.375,\"loss\":null,\"loss_caffe\":null,\"loss_mean\":null,"
    "\"lr\":0.01,\"ms_per_image\":6,\"seconds\":3,\"memory_bytes\":5}\n"
    "{\"event\":\"validation\",\"iteration\":3,\"epoch\":0.375,\"loss\":0.7,\"top1\":50,"
    "\"top5\":100,\"seconds\":4}\n"
    "{\"event\":\"finding\",\"kind\":\"divergence\",\"iteration\":3,\"epoch\":0.375,"
    "\"text\":\"conv1\"}\n"
    "{\"event\":\"end\"}\n";

static const char summary_text[] =
    "{\"status\": \"failed\", \"error\": {\"kind\": 6, \"what\": \"conv1\", \"why\": \"broke\","
    " \"advice\": \"\"}, \"iteration\": 3, \"iterations\": 4, \"elapsed_seconds\": 4.5}\n";

static struct run *open_written(const char *name, const char *config)
{
    struct error error;
    char directory[512], path[600];
    const char *const files[][2] = {
        {"config.json", config}, {"journal.jsonl", journal_text}, {"summary.json", summary_text}};
    snprintf(directory, sizeof directory, "%s", home_path(name));
    mkdir(directory, 0700);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, files[i][0]);
        write_text(path, files[i][1]);
    }
    struct run *run = run_open(directory, &error);
    if (!run)
        note_error(&error);
    return run;
}

/* Returns the number at `index` of an array; NaN for null. */
static double element(const struct json *array, size_t index)
{
    double value = NAN;
    const struct json *item = json_first(array);
    while (item && index-- > 0)
        item = json_next(item);
    json_number(item, &value);
    return value;
}

static const struct json *at(const struct json *value, const char *key)
{
    return json_member(value, key);
}

static bool is_text(const struct json *value, const char *expected)
{
    return json_string(value) && strcmp(json_string(value), expected) == 0;
}

static void check_run(const struct json *run)
{
    const struct json *series = at(run, "series"), *findings = at(run, "findings");
    double value = 0;
    tap_ok(is_text(at(run, "id"), "20260101-000000-lenet-0001") &&
               is_text(at(run, "created"), "2026-01-01T00:00:00Z") &&
               is_text(at(run, "status"), "failed") && is_text(at(run, "error"), "conv1: broke"),
           "id, date, status and error");
    tap_ok(is_text(at(at(run, "config"), "network"), "lenet") &&
               json_number(at(at(run, "config"), "iterations"), &value) && value == 4 &&
               !at(at(run, "config"), "epochs"),
           "the configuration, with the length in its unit");
    tap_ok(json_number(at(run, "parameters"), &value) && value == 431080 &&
               json_number(at(at(run, "memory_forecast"), "total"), &value) && value == 150,
           "parameters and memory forecast");
    tap_ok(json_length(at(series, "loss")) == 3 &&
               (float)element(at(series, "loss"), 0) == 2.30258512f &&
               (float)element(at(series, "loss"), 1) == 1.82841e-05f &&
               (float)element(at(series, "loss_caffe"), 1) == -4.50473e-08f,
           "losses read back as the same floats");
    tap_ok(isnan(element(at(series, "loss"), 2)) && isnan(element(at(series, "loss_caffe"), 2)),
           "NaN is null");
    tap_ok(element(at(at(run, "validation"), "top1"), 0) == 50, "the validation");
    tap_ok(json_length(findings) == 2 &&
               is_text(at(json_first(findings), "kind"), "negative-loss") &&
               is_text(at(json_first(findings), "text"), "say \"why\""),
           "the findings");
    tap_ok(json_number(at(at(at(run, "timing"), "ms_per_image"), "median"), &value) && value == 4 &&
               json_number(at(at(run, "timing"), "total_seconds"), &value) && value == 4.5,
           "the times");
}

static void test_session(struct run *run)
{
    struct error error;
    struct json_document document;
    const char *path = home_path("session.json");
    struct run *runs[2] = {run, run};
    if (!tap_ok(export_session(runs, 2, path, &error) &&
                    json_read_file(&document, path, 1 << 20, &error),
                "a session is exported, and is JSON"))
        return note_error(&error);
    tap_ok(is_text(at(document.root, "format"), "tinca-session") &&
               json_length(at(document.root, "runs")) == 2 &&
               json_string(at(at(document.root, "host"), "name")),
           "it has its format and its origin");
    check_run(json_first(at(document.root, "runs")));
    json_document_free(&document);
    tap_ok(export_session(NULL, 0, path, &error) &&
               json_read_file(&document, path, 1 << 20, &error),
           "a session without runs is valid, too");
    json_document_free(&document);
    tap_ok(!export_session(runs, 1, home_path("nowhere/session.json"), &error),
           "a place that cannot be written to is an error");
}

static bool file_has(const char *pattern, const char *expected)
{
    char command[1024], found[1024] = "";
    snprintf(command, sizeof command, "cat %s/csv/%s", test_home, pattern);
    FILE *pipe = popen(command, "r");
    size_t length = pipe ? fread(found, 1, sizeof found - 1, pipe) : 0;
    found[length] = '\0';
    if (pipe)
        pclose(pipe);
    bool same = strcmp(found, expected) == 0;
    if (!same)
        tap_note("found: %s", found);
    return same;
}

static void test_csv(struct run *run)
{
    struct error error;
    tap_ok(export_csv(&run, 1, home_path("csv"), &error), "the CSV files are written");
    tap_ok(file_has("loss_*_tinca.csv", "#network,mode,batch,step,loss,time\n"
                                        "lenet,CPU,008,1,2.3025851,0.016\n"
                                        "lenet,CPU,008,2,1.82841e-05,0.032\n"
                                        "lenet,CPU,008,3,nan,0.048\n"),
           "a row an iteration, time in seconds");
    tap_ok(file_has("times_*_tinca.csv", "#network,mode,batch,avg_time\nlenet,CPU,008,0.032\n"),
           "a row a run");
}

/* Two folders whose names are the same in a table differ by the runs' IDs. */
static void test_csv_key(void)
{
    struct error error;
    struct run *runs[] = {open_written("one", CONFIG("0001", "folder:/a b")),
                          open_written("other", CONFIG("2,\\n=x", "folder:/a_b"))};
    tap_ok(runs[0] && runs[1] && export_csv(runs, 2, home_path("csv"), &error), "two runs");
    tap_ok(file_has("times_*_tinca.csv", "#network,mode,batch,avg_time,run\n"
                                         "lenet,CPU,008,0.032,20260101-000000-lenet-0001\n"
                                         "lenet,CPU,008,0.032,20260101-000000-lenet-2___x\n"),
           "  with equal settings have different keys");
    run_free(runs[0]);
    run_free(runs[1]);
}

/* A run without an iteration has no time: null, not 0. */
static void check_no_times(struct run *run)
{
    static const char *const figures[] = {"median", "min", "mean", "sd", "ci95"};
    struct error error;
    struct json_document document;
    const char *path = home_path("empty.json");
    bool null =
        export_session(&run, 1, path, &error) && json_read_file(&document, path, 1 << 20, &error);
    if (!tap_ok(null, "a run without an iteration is exported"))
        return note_error(&error);
    const struct json *times =
        at(at(json_first(at(document.root, "runs")), "timing"), "ms_per_image");
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        null = null && at(times, figures[i]) && json_is_null(at(times, figures[i]));
    tap_ok(null, "its times are null");
    json_document_free(&document);
}

static void test_damage(void)
{
    struct error error;
    tap_ok(!run_open(home_path("nosuch"), &error), "a directory without a run is refused");
    write_text(home_path("run/config.json"),
               "{\"format\": \"tinca-run\", \"config\": {\"batch\": 0}}");
    tap_ok(!run_open(home_path("run"), &error) && strstr(error.why, "batch"),
           "a damaged configuration is refused (%s)", error.why);
    write_text(home_path("run/config.json"), config_text);
    write_text(home_path("run/summary.json"), "{\"status\": \"flying\"");
    write_text(home_path("run/journal.jsonl"),
               "{\"event\":\"start\",\"iterations\":1e300,\"epochs\":-4}\nrubbish\n[]\n7\n"
               "{\"iteration\":-1}\n{\"event\":\"finding\",\"kind\":7}\n");
    struct run *run = run_open(home_path("run"), &error);
    struct run_snapshot snapshot = {0};
    if (run)
        run_snapshot(run, &snapshot);
    tap_ok(run && snapshot.status == RUN_INTERRUPTED && series_count(run_series(run)) == 0,
           "a damaged journal gives its readable lines");
    if (run)
        check_no_times(run);
    run_free(run);
    struct run *broken = NULL;
    char *deep = malloc(100001);
    memset(deep, '[', 100000);
    deep[100000] = '\0';
    write_text(home_path("run/journal.jsonl"), deep);
    broken = run_open(home_path("run"), &error);
    tap_ok(broken != NULL, "also a journal of brackets only");
    run_free(broken);
    free(deep);
}

TEST_CASE(export_test)
{
    if (!make_home())
        return 99;
    struct run *run = open_written("run", config_text);
    if (tap_ok(run, "a run directory is opened")) {
        test_session(run);
        test_csv(run);
        run_free(run);
    }
    test_csv_key();
    test_damage();
    remove_home();
    return tap_done();
}
