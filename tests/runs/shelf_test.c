/* What can be done with kept runs: names and finding by them, deletion of what is ours alone, the
 * report; and the load of the machine, read from a text. */
#include "base/files/file.h"
#include "base/host/host_load.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_name.h"
#include "runs/history/run_trash.h"
#include "runs/values/run_facts.h"
#include "studies/compare/report.h"

#include "made_runs.h"

#include <unistd.h>

static const char first[] = "20260101-000000-lenet-0001", second[] = "20260102-000000-lenet-0002";

static const char *folder(const char *id)
{
    static char path[600];
    made_path(path, sizeof path, id, "");
    path[strlen(path) - 1] = '\0';
    return path;
}

static bool finds(const char *what, const char *id)
{
    struct error error;
    char *directory = run_directory_find(what, &error);
    bool found = directory && strcmp(file_base_name(directory), id) == 0;
    free(directory);
    return found;
}

static bool refuses(const char *what, const char *words)
{
    struct error error = {0};
    char *directory = run_directory_find(what, &error);
    free(directory);
    return !directory && strstr(error.why, words);
}

/* --- names --- */

static bool accepts_name(const char *name)
{
    struct error error;
    return run_name_write(folder(first), name, &error);
}

static void check_names(void)
{
    char name[RUN_NAME_SIZE];
    tap_ok(run_name_read(folder(first), name)[0] == '\0', "a run has no name at first");
    tap_ok(accepts_name("  my study ") &&
               strcmp(run_name_read(folder(first), name), "my study") == 0,
           "a name is stored, without the spaces around it");
    tap_ok(finds("my study", first) && finds(first, first) && finds("20260101", first),
           "a run is found by its name, its ID and the beginning of that");
    tap_ok(refuses("2026010", "2 runs begin so") && refuses("my", "no such run") &&
               refuses("", "empty"),
           "an ambiguous, unknown or empty name is refused");
    tap_ok(!accepts_name("-q") && !accepts_name("a/b") && !accepts_name("a\nb") &&
               !accepts_name("\xff") &&
               !accepts_name("0123456789012345678901234567890123456789012345678901234567890123"),
           "an invalid name is refused");
    tap_ok(strcmp(run_name_read(folder(first), name), "my study") == 0, "and the old name remains");
    struct error error;
    run_name_write(folder(second), "my study", &error);
    tap_ok(refuses("my study", "2 runs are called so"), "a name of two runs is refused");
    tap_ok(run_name_write(folder(second), "", &error) && finds("my study", first),
           "an empty name deletes the name");
}

/* --- deletion --- */

static void check_own_files(void)
{
    static const char *const own[] = {
        "config.json", "sample-0012.png", "best.safetensors", "summary.json.4711.part",
        "lock",        "name.txt"};
    static const char *const foreign[] = {
        "notes.txt",         "sample-.png",         "sample-1a.png", "config.jsonx",
        "summary.json.part", "summary.json.x.part", "4711.part"};
    bool good = true;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        good = good && run_directory_is_own_file(own[i]);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        good = good && !run_directory_is_own_file(foreign[i]);
    tap_ok(good, "tinca's files are recognised by their names");
}

static bool remove_refused(const char *words)
{
    struct error error = {0};
    bool removed = run_remove(folder(second), &error);
    return !removed && strstr(error.why, words) && file_exists(folder(second));
}

static void check_removal(void)
{
    char path[600], config[600];
    struct error error = {0};
    struct run_removal removal = {0};
    made_path(config, sizeof config, second, "config.json");
    int lock = run_directory_lock(folder(second), &error);
    tap_ok(remove_refused("is on"), "a run whose lock is held is not deleted");
    close(lock);
    made_path(path, sizeof path, second, "notes.txt");
    write_text(path, "mine");
    tap_ok(remove_refused("\"notes.txt\"") && file_exists(config),
           "a foreign file prevents the deletion of the run");
    unlink(path);
    made_path(path, sizeof path, second, "weights.safetensors");
    tap_ok(symlink(config, path) == 0 && remove_refused("\"weights.safetensors\""),
           "so does a link of any name");
    unlink(path);
    tap_ok(run_remove_check(folder(second), &removal, &error) && removal.files >= 4 &&
               removal.bytes >= 4000 && file_exists(config),
           "the files are counted, and nothing is deleted");
    tap_ok(run_remove(folder(second), &error) && !file_exists(folder(second)),
           "then the run is deleted, and its folder");
    tap_ok(file_exists(folder(first)), "the other run is not deleted");
}

/* --- the report --- */

static bool report_says(const char *text, const char *words)
{
    bool says = strstr(text, words);
    if (!says)
        tap_note("the report lacks: %s", words);
    return says;
}

static void check_report(struct run *const *runs)
{
    struct error error;
    char *text = NULL;
    size_t size;
    const char *path = home_path("report.md");
    bool written = tap_ok(report_write(runs, 2, home_path("curves.png"), path, &error),
                          "a report of two runs is written");
    if (written)
        text = file_read(path, 1 << 20, &size, &error);
    if (!tap_ok(text, "and can be read"))
        return;
    tap_ok(report_says(text, "# Report of 2 runs") && report_says(text, "## Comparison") &&
               report_says(text, "## lenet, my study (20260101-000000-lenet-0001)"),
           "with the comparison, and the run's name");
    tap_ok(report_says(text, "![The curves](<curves.png>)"), "the picture beside it is linked");
    tap_ok(report_says(text, "| inference on cpu | 2.5 +- 0.1 ms an image (mean, 95 % interval) |"),
           "inference with its interval");
    tap_ok(report_says(text, "not measured: tinca measure 20260102-000000-lenet-0002"),
           "a missing measurement comes with its command");
    tap_ok(report_says(text, "| measured: highest | not measured |") &&
               report_says(text, "| forecast: in all | 4.77 MiB |"),
           "memory: forecast, and honestly no measurement");
    tap_ok(report_says(text, "fewer than two iterations"), "no training time is made up");
    free(text);
}

/* --- the load --- */

static void check_ticks(void)
{
    struct host_ticks whole = {0}, cores[HOST_MAX_CORES] = {{0, 0}};
    size_t count = host_parse_ticks("cpu  10 1 5 80 4 0 0 0 0 0\ncpu0 6 0 2 40 2 0 0 0\n"
                                    "cpu2 4 1 3 40 2 0 0 0 9 9\nintr 12 0\n",
                                    &whole, cores);
    tap_ok(count == 3 && whole.busy == 16 && whole.all == 100, "the whole processor's ticks");
    tap_ok(cores[0].busy == 8 && cores[0].all == 50 && cores[1].all == 0 && cores[2].busy == 8 &&
               cores[2].all == 50,
           "the load of each core, without waiting; a core that is off has none");
}

static void check_sample(void)
{
    struct host_sampler sampler = {0};
    struct host_load load;
    host_sample(&sampler, &load);
    tap_ok(load.seconds == 0 && isnan(load.process), "the first sample has no load yet");
    usleep(30000);
    host_sample(&sampler, &load);
    tap_ok(load.seconds > 0.02 && (isnan(load.process) || load.process >= 0),
           "the second has, of the time between them");
}

static bool names(const char *network, const char *suffixes, const char *wanted)
{
    char name[RUN_ID_NAME];
    const bool right = strcmp(run_id_name(network, suffixes, name), wanted) == 0;
    if (!right)
        tap_note("%s", name);
    return right;
}

static void test_ids(void)
{
    char name[RUN_ID_NAME], id[RUN_ID_SIZE];
    tap_ok(names("resnet20", "-dsc-0.35", "resnet20-dsc-0.35") &&
               names("resnet110", "-2.375_block", "resnet110-2.375_block") &&
               names("mlp", "-w800x400-tanh", "mlp-w800x400-tanh") &&
               names("resnet20", "-shuffle-1.25 (4 groups)", "resnet20-shuffle-1.25-4_groups"),
           "an ID names technique, rates, widths and groups");
    tap_ok(names("nets/My net \xc3\xa9.json", "", "my_net___") &&
               names("/a/b/c.json", "-dsc", "c-dsc"),
           "a file's name is made fit for a folder's");
    tap_ok(names("a_network_with_a_name_that_is_much_too_long", "-shuffle-0.333333",
                 "a_network_with_a_name_tha-shuffle-0.333333"),
           "a long name is cut before its suffixes");
    tap_ok(names("imported-network-with-a-long-name-dsc-10.355", "",
                 "imported-network-with-a-long-name-dsc"),
           "a number in it is complete or left out");
    tap_ok(names("mlp", "-w4096x4096x4096x4096x4096x4096x4096x4096-tanh-0.35", "mlp-tanh-0.35"),
           "widths that do not fit are left out");
    run_id_new(run_id_name("a_network_with_a_name_that_is_much_too_long", "-dsc-0.35", name), id);
    tap_ok(strlen(id) == RUN_ID_SIZE - 1 && strstr(id, "-dsc-0.35-") && id[8] == '-' &&
               strspn(id + RUN_ID_SIZE - 5, "0123456789abcdef") == 4,
           "the longest ID has time, suffixes and the digits at its end");
}

TEST_CASE(shelf_test)
{
    struct made_run made[] = {
        {.id = first,
         .network = "lenet",
         .technique = "none",
         .top1 = 90,
         .parameters = 1000,
         .device = "cpu",
         .ms = 2.5,
         .ci95 = 0.1},
        {.id = second, .network = "lenet", .technique = "none", .top1 = NAN, .parameters = 1000}};
    if (!make_home())
        return 99;
    struct run *runs[2] = {make_run(&made[0]), make_run(&made[1])};
    test_ids();
    if (tap_ok(runs[0] && runs[1], "two runs exist")) {
        check_own_files();
        check_names();
        check_report(runs);
        check_removal();
    }
    run_free(runs[0]);
    run_free(runs[1]);
    check_ticks();
    check_sample();
    remove_home();
    return tap_done();
}
