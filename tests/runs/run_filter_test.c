/* The filter of runs, its completion and its errors; tags and notes; the trash. */
#include "base/files/file.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_name.h"
#include "runs/history/run_filter.h"
#include "runs/history/run_trash.h"

#include "made_runs.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- the filter --- */

static struct run_config config;
static struct run_snapshot snapshot = {.status = RUN_DONE,
                                       .iteration = 30,
                                       .iterations = 30,
                                       .epoch = 3,
                                       .epochs = 3,
                                       .loss = 0.25F,
                                       .ms_per_image_median = 1.5,
                                       .memory_highest = 512U << 20,
                                       .validation.known = true,
                                       .validation.top1 = 91.5,
                                       .validation.top5 = 99};
static struct run_record record = {.config = &config,
                                   .snapshot = &snapshot,
                                   .id = "20260101-101500-resnet20-0001",
                                   .name = "my study",
                                   .tags = "good first",
                                   .note = "",
                                   .network = "resnet20-dsc",
                                   .status = "done",
                                   .imported = "",
                                   .parameters = 270000,
                                   .disk_bytes = 1500000,
                                   .known = true,
                                   .started = true};

static bool matches(const char *text)
{
    struct run_filter filter;
    struct error error = {0};
    if (!run_filter_parse(&filter, text, &error)) {
        note_error(&error);
        return false;
    }
    return run_filter_matches(&filter, run_record_fill(&record));
}

/* Returns whether every text of a NULL-terminated list matches, or none does. */
static bool all(bool match, const char *const *texts)
{
    bool good = true;
    for (size_t i = 0; texts[i]; i++)
        if (matches(texts[i]) != match) {
            printf("# %s: not so: %s\n", match ? "matches" : "does not match", texts[i]);
            good = false;
        }
    return good;
}

static void check_terms(void)
{
    static const char *const yes[] = {"",
                                      "resnet",
                                      "STUDY done",
                                      "\"my study\"",
                                      "name:\"my study\"",
                                      "lr:0.1",
                                      "lr:0.1,0.3",
                                      "lr:1e-1",
                                      "lr:0.05..0.2",
                                      "lr:..0.1",
                                      "lr:0.1..",
                                      "top1>90",
                                      "top1>=91.5",
                                      "top1<=91.5",
                                      "batch:64",
                                      "loss<0.3",
                                      "tag:good",
                                      "tag:FIRST",
                                      "tags:good",
                                      "tag=good",
                                      "tag~goo",
                                      "tag!=bad",
                                      "tag!~bad",
                                      "lr=0.1",
                                      "lr!=0.2",
                                      "network~RESNET",
                                      "network!~vgg",
                                      "network!=resnet20",
                                      "status=finished",
                                      "status!=failed",
                                      "solver=sgd",
                                      "solver!=adam",
                                      "-lr!=0.1",
                                      "name=\"my study\"",
                                      "disk>1M disk<2M",
                                      "status:done",
                                      "-tag:bad",
                                      "-other",
                                      "network:dsc",
                                      "network=resnet20-dsc",
                                      "memory>500M",
                                      "parameters<1000000",
                                      "epoch:3",
                                      "solver:sgd",
                                      "augment:no",
                                      "top5!=1 top5>=99",
                                      "ms:1.5 lr:0.1 tag:good done"},
                             *const no[] = {"vgg",
                                            "lr:0.2",
                                            "lr:0.11..",
                                            "top1>91.5",
                                            "top1<91.5",
                                            "tag:goo",
                                            "-resnet",
                                            "-tag:good",
                                            "network=resnet20",
                                            "memory<500M",
                                            "done failed",
                                            "name:\"my  study\"",
                                            "status:failed",
                                            "lr:0.1 batch:1",
                                            "lr!=0.1",
                                            "tag=goo",
                                            "tag!=good",
                                            "tag!~goo",
                                            "network!~resnet",
                                            "status!=finished",
                                            "solver!=sgd",
                                            "disk<1M"};
    const char *list[64] = {NULL};
    memcpy(list, yes, sizeof yes);
    tap_ok(all(true, list), "words, values, ranges, comparisons, tags and negations match");
    memset(list, 0, sizeof list);
    memcpy(list, no, sizeof no);
    tap_ok(all(false, list), "and let other runs fall out");
}

static void check_unknown(void)
{
    const struct run_record before = record;
    record.known = false;
    tap_ok(matches("resnet20") && !matches("lr:0.1") && !matches("study"),
           "a run that is not read yet matches by its ID alone");
    record = before;
    snapshot.validation.known = false;
    tap_ok(!matches("top1>0") && !matches("top1<100"), "an unknown number matches no comparison");
    snapshot.validation.known = true;
    snapshot.loss = INFINITY;
    tap_ok(matches("loss>1") && !matches("loss<=1") && !matches("loss:0.1..1"),
           "an infinite loss is above every bound");
    snapshot.loss = 0.25F;
}

static bool refuses(const char *text, const char *words)
{
    struct run_filter filter;
    struct error error = {0};
    const bool parsed = run_filter_parse(&filter, text, &error);
    if (parsed || !strstr(error.why, words))
        printf("# %s: %s\n", text, parsed ? "accepted" : error.why);
    return !parsed && strstr(error.why, words);
}

static void check_errors(void)
{
    tap_ok(refuses("lrate:3", "no field \"lrate\"") && refuses("lrate:3", "lr,"),
           "an unknown field is refused, with fields that may be meant");
    tap_ok(refuses("lr:many", "not a number") && refuses("lr>", "value is missing") &&
               refuses("name:\"my", "closing") && refuses("network>3", "texts") &&
               refuses("lr:1,2,3,4,5,6,7,8,9", "more than 8"),
           "a wrong number, a missing value, an open quote and a comparison of texts are refused");
    tap_ok(refuses("lr~1", "numbers, not texts") && refuses("status=over", "it can be waiting") &&
               refuses("status=over", "interrupted") && refuses("solver=adma", "sgd, nesterov") &&
               refuses("strict-device!=maybe", "yes, no") && refuses("name!=", "value is missing"),
           "so are a number that is to contain something, and words that cannot be");
    struct run_filter filter;
    tap_ok(!run_filter_parse(&filter, "batch:1 lrate:3", NULL) && filter.unknown_field &&
               !run_filter_parse(&filter, "lr:x", NULL) && !filter.unknown_field,
           "the filter tells whether a field was unknown");
    tap_ok(refuses("a b c d e f g h i j k l m n o p q", "more than 16"), "too many terms, too");
}

/* --- completion --- */

static bool one_record(void *context, size_t index, struct run_record *out)
{
    (void)context;
    *out = *run_record_fill(&record);
    return index == 0;
}

static bool completes(const char *text, size_t from, const char *first, size_t count)
{
    static struct run_completion completion;
    run_filter_complete(&completion, text, one_record, NULL);
    const bool good = completion.from == from && completion.count == count &&
                      (count == 0 || strcmp(completion.candidates[0], first) == 0);
    if (!good)
        printf("# %s: %zu candidates from %zu, first %s\n", text, completion.count, completion.from,
               completion.count ? completion.candidates[0] : "-");
    return good;
}

static void check_completion(void)
{
    tap_ok(completes("top", 0, "top1>", 2) && completes("done weight-", 5, "weight-decay:", 1) &&
               completes("-sta", 1, "status:", 1),
           "the last word becomes a field");
    tap_ok(completes("lr:", 0, "lr:0.1", 1) && completes("lr:0.2", 0, "", 0) &&
               completes("tag:", 0, "tag:first", 2) && completes("x tag:g", 2, "tag:good", 1) &&
               completes("tag!=g", 0, "tag!=good", 1) && completes("lr~", 0, "lr~0.1", 1) &&
               completes("name:", 0, "name:\"my study\"", 1),
           "after a field, the values that occur, in quotes if necessary");
}

/* --- tags and notes --- */

static const char first[] = "20260101-000000-lenet-0001", second[] = "20260102-000000-lenet-0002";

static const char *folder(const char *id)
{
    static char path[600];
    made_path(path, sizeof path, id, "");
    path[strlen(path) - 1] = '\0';
    return path;
}

static void check_labels(void)
{
    char tags[RUN_TAGS_SIZE], note[RUN_NOTE_SIZE];
    struct error error = {0};
    tap_ok(run_tags_write(folder(first), " good, fast good ", &error) &&
               strcmp(run_tags_read(folder(first), tags), "good fast") == 0,
           "tags are stored once each");
    tap_ok(!run_tags_write(folder(first), "a:b", &error) &&
               !run_tags_write(folder(first), "-a", &error) &&
               !run_tags_write(folder(first), "\xff", &error) &&
               strcmp(run_tags_read(folder(first), tags), "good fast") == 0,
           "invalid tags are refused, and the old ones remain");
    tap_ok(run_tags_contain("good fast", "Fast") && !run_tags_contain("good fast", "fas"),
           "a tag is a whole word");
    tap_ok(run_note_write(folder(first), " too high a rate ", &error) &&
               strcmp(run_note_read(folder(first), note), "too high a rate") == 0 &&
               !run_note_write(folder(first), "a\nb", &error),
           "a note is one line");
    tap_ok(run_note_write(folder(first), "", &error) && !run_note_read(folder(first), note)[0],
           "an empty note deletes the note");
}

/* --- the trash --- */

static bool put(const char *id, struct error *error)
{
    char *deletion = run_trash_begin(error);
    const bool moved = deletion && run_trash_put(deletion, folder(id), error);
    if (deletion)
        run_trash_end(deletion);
    free(deletion);
    return moved;
}

static bool exists(const char *id)
{
    return file_exists(folder(id));
}

static void check_trash(void)
{
    struct error error = {0};
    struct run_removal removal = {0};
    size_t count = 0;
    tap_ok(!run_trash_undo(&count, &error) && strstr(error.why, "no deletion"),
           "an empty trash has nothing to restore");
    tap_ok(put(first, &error) && put(second, &error) && !exists(first) && !exists(second),
           "deleted runs leave the folder of runs");
    tap_ok(run_trash_measure(&count, &removal, &error) && count == 2 && removal.files >= 6,
           "and are in the trash");
    tap_ok(run_trash_undo(&count, &error) && count == 1 && exists(second) && !exists(first),
           "undo restores the last deletion");
    tap_ok(run_trash_undo(&count, &error) && exists(first), "and then the one before");
    const int lock = run_directory_lock(folder(first), &error);
    tap_ok(lock >= 0 && !put(first, &error) && exists(first), "a run that is on is not deleted");
    close(lock);
    char foreign[700];
    snprintf(foreign, sizeof foreign, "%s/mine.txt", folder(first));
    tap_ok(write_text(foreign, "x") && !put(first, &error) && exists(first),
           "a run with a foreign file is not deleted");
    unlink(foreign);
    tap_ok(run_trash_takes(folder(first)) && !run_trash_takes("/elsewhere/run"),
           "a run outside the folder of runs is none for the trash");
    char stray[700];
    snprintf(stray, sizeof stray, "%s/tinca/trash/README", test_home);
    tap_ok(write_text(stray, "x") && put(first, &error) && run_trash_undo(&count, &error) &&
               exists(first),
           "a foreign file in the trash does not prevent that");
    unlink(stray);
    snprintf(stray, sizeof stray, "%s/tinca/trash/1-of-mine", test_home);
    mkdir(stray, 0700);
    tap_ok(put(first, &error) && access(stray, F_OK) == 0 && run_trash_undo(&count, &error),
           "a foreign folder is not taken for an old deletion");
    rmdir(stray);
    tap_ok(put(first, &error) && run_trash_empty(&count, &error) && count == 1 &&
               !run_trash_undo(&count, &error),
           "an emptied trash restores nothing");
}

/* A deletion whose name is older than the limit is removed by the next one. */
static void check_old(void)
{
    struct error error = {0};
    char from[600], to[600];
    struct run_removal removal = {0};
    size_t count = 9;
    char *deletion = run_trash_begin(&error);
    bool good = deletion && run_trash_put(deletion, folder(second), &error);
    snprintf(from, sizeof from, "%s", deletion ? deletion : "");
    snprintf(to, sizeof to, "%s/tinca/trash/20200101-000000-00", test_home);
    good = good && rename(from, to) == 0;
    free(deletion);
    deletion = run_trash_begin(&error);
    good = good && deletion && run_trash_measure(&count, &removal, &error);
    tap_ok(good && count == 0, "a deletion older than %d days is removed for good", RUN_TRASH_DAYS);
    free(deletion);
}

TEST_CASE(run_filter_test)
{
    if (!make_home())
        return 99;
    config_defaults(&config);
    config_set(&config, "lr", "0.1", NULL);
    config_set(&config, "batch", "64", NULL);
    check_terms();
    check_unknown();
    check_errors();
    check_completion();
    struct run *runs[] = {
        make_run(&(struct made_run){
            .id = first, .network = "lenet", .technique = "none", .parameters = 10}),
        make_run(&(struct made_run){
            .id = second, .network = "lenet", .technique = "none", .parameters = 10})};
    check_labels();
    check_trash();
    check_old();
    run_free(runs[0]);
    run_free(runs[1]);
    remove_home();
    return tap_done();
}
