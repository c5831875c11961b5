/* A run that goes on with another version, arithmetic, instruction set or BLAS says so or is
 * refused; one of an earlier version, which recorded less, goes on and says what is not known. */
#include "base/files/file.h"
#include "runs/record/resume.h"

#include "stopped_run.h"
#include "training/run_start.h"

#include <inttypes.h>
#include <zlib.h>

static const char network[] =
    "{\"input\": [1, 28, 28], \"classes\": 10, \"layers\": [{\"op\": \"flatten\"},\n"
    "  {\"op\": \"linear\", \"name\": \"fc\", \"output\": \"classes\"}]}\n";

/* A network whose max pooling reads beyond the edge of the image. */
static const char pooled[] =
    "{\"input\": [1, 28, 28], \"classes\": 10, \"layers\": [\n"
    "  {\"op\": \"max_pool\", \"kernel\": 3, \"stride\": 1, \"pad\": 1}, {\"op\": \"flatten\"},\n"
    "  {\"op\": \"linear\", \"name\": \"fc\", \"output\": \"classes\"}]}\n";

/* A network that the device cpu trains with channel-blocked values, which came with version 3. */
static const char blocked[] =
    "{\"input\": [1, 28, 28], \"classes\": 10, \"layers\": [\n"
    "  {\"op\": \"conv\", \"output\": 16, \"kernel\": 3, \"stride\": 4},\n"
    "  {\"op\": \"average_pool\", \"global\": true}, {\"op\": \"flatten\"},\n"
    "  {\"op\": \"linear\", \"name\": \"fc\", \"output\": \"classes\"}]}\n";

/* Starts a run and stops it after its first epoch. */
static bool begin(const char *solver)
{
    char setting[64];
    snprintf(setting, sizeof setting, "solver=%s", solver);
    struct run_config config = configure((const char *const[]){
        "data=digits,limit=40", "batch=20", "epochs=3", "threads=1", "lr=0.001", setting, NULL});
    config_set(&config, "network", home_path("own.json"), NULL);
    return begin_and_stop(&config);
}

/* Replaces `old` by `new`, which is as long, in the header of the checkpoint, and corrects its
 * checksum. */
static bool change_checkpoint(const char *old, const char *new)
{
    static const char key[] = "\"tinca.crc32\":\"";
    char *path = run_path("checkpoint.safetensors"), digits[9];
    size_t size = 0;
    char *bytes = file_read(path, SIZE_MAX / 2, &size, NULL);
    char *sum = bytes ? strstr(bytes + 8, key) : NULL;
    char *at = bytes ? strstr(bytes + 8, old) : NULL;
    bool changed = sum && at && strlen(old) == strlen(new);
    if (changed) {
        sum += sizeof key - 1;
        memcpy(at, new, strlen(new));
        memcpy(sum, "00000000", 8);
        snprintf(digits, sizeof digits, "%08lx",
                 crc32_z(0, (const unsigned char *)bytes + 8, size - 8));
        memcpy(sum, digits, 8);
        changed = file_write(path, bytes, size, true, NULL);
    }
    free(bytes);
    return changed;
}

/* Resumes the run to its end; writes its findings to *findings, one on each line. */
static enum run_status resume(char *findings, size_t size, struct error *error)
{
    struct run_snapshot snapshot;
    struct finding finding;
    findings[0] = '\0';
    *error = (struct error){0};
    struct run *run = run_resume(directory, NULL, NULL, error);
    if (!run)
        return RUN_REFUSED;
    run_wait(run, -1);
    run_snapshot(run, &snapshot);
    for (size_t i = 0; i < snapshot.finding_count; i++) {
        run_finding(run, i, &finding);
        const size_t used = strlen(findings);
        snprintf(findings + used, size - used, "%s: %s\n", finding_kind_name(finding.kind),
                 finding.text);
    }
    return finish(run, error);
}

static void goes_on(bool changed, const char *words, const char *name)
{
    char findings[2000];
    struct error error;
    const enum run_status status = resume(findings, sizeof findings, &error);
    const bool told = words ? strstr(findings, words) != NULL : !findings[0];
    tap_ok(changed && status == RUN_DONE && told, "%s continues: %s", name, words ? words : "");
    if (status != RUN_DONE || !told)
        tap_note("%s%s %s", findings, error.what, error.why);
}

static void refused(bool changed, const char *words, const char *name)
{
    char findings[2000], text[1100];
    struct error error;
    const enum run_status status = resume(findings, sizeof findings, &error);
    error_format(&error, text, sizeof text);
    tap_ok(changed && status == RUN_REFUSED && strstr(text, words), "%s is refused: %s", name,
           words);
    if (!strstr(text, words))
        tap_note("%s", text);
}

static void test_versions(void)
{
    goes_on(begin("sgd"), NULL, "a run of this version");
    goes_on(begin("sgd") && change_checkpoint("\"tinca.version\":\"0", "\"tinca.version\":\"8"),
            "resume: it was computed with tinca 8.", "a run of another version");
    refused(begin("sgd") &&
                change_checkpoint("\"tinca.numerics\":\"3\"", "\"tinca.numerics\":\"9\""),
            "numerics version 9, and this is version 3: it is of a later version: resume it with "
            "the version of tinca that wrote it",
            "a run of a later arithmetic");
    refused(write_text(home_path("own.json"), pooled) && begin("sgd") &&
                change_checkpoint("\"tinca.numerics\":\"3\"", "\"tinca.numericz\":\"3\""),
            "numerics version 1, and this is version 3: max pooling with stride 1 and padding was "
            "wrong at the edge",
            "a run without a recorded arithmetic, whose network is computed differently now,");
    refused(write_text(home_path("own.json"), blocked) && begin("sgd") &&
                change_checkpoint("\"tinca.numerics\":\"3\"", "\"tinca.numerics\":\"2\""),
            "numerics version 2, and this is version 3: convolutions and batch norms take their "
            "sums in another order",
            "a run of version 2 whose network is channel-blocked now");
    goes_on(write_text(home_path("own.json"), network) && begin("adam") &&
                change_checkpoint("\"tinca.numerics\":\"3\"", "\"tinca.numericz\":\"3\""),
            NULL, "  such a run whose network is computed as before");
    refused(begin("sgd") && change_checkpoint("tinca-checkpoint-1\"", "tinca-checkpoint-7\""),
            "its format is tinca-checkpoint-7, but this version of tinca reads tinca-checkpoint-1",
            "a checkpoint of another format");
}

static void test_machines(void)
{
    setenv("TINCA_CPU", "generic", 1);
    const bool begun = begin("sgd");
    unsetenv("TINCA_CPU");
    goes_on(begun &&
                change_checkpoint("\"tinca.kernels\":\"generic\"", "\"tinca.kernels\":\"nothing\""),
            "resume: it was computed with nothing, and goes on with ", "another instruction set");
    goes_on(begin("sgd") &&
                change_checkpoint("\"tinca.blas\":\"OpenBLAS", "\"tinca.blas\":\"MyOwBLAS"),
            "resume: it was computed with MyOwBLAS", "another BLAS");
}

static void test_earlier(void)
{
    bool begun = begin("sgd");
    unlink(run_path("network.json"));
    unlink(run_path("data.json"));
    goes_on(begun, "whether network and data have changed since is not known",
            "a run without fingerprints");
    tap_ok(file_exists(run_path("network.json")) && file_exists(run_path("data.json")),
           "  and has them from then on");
}

TEST_CASE(computed_with_test)
{
    if (!make_home() || !write_text(home_path("own.json"), network))
        return 99;
    test_versions();
    test_machines();
    test_earlier();
    remove_home();
    return tap_done();
}
