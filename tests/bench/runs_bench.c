/* How fast a folder of many runs is opened: runs_bench COUNT FOLDER... copies the given folders of
 * runs in turn below $XDG_STATE_HOME until there are COUNT runs (models and checkpoints are left
 * out), then reads the list and the outlines of all runs as the workbench does. Prints the seconds
 * that both take. `make bench-runs` runs it. */
#include "base/clock.h"
#include "base/files/file.h"
#include "runs/folder/run_directory.h"
#include "studies/compare/run_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LIMIT = 1 << 26 };

static const char *const copied[] = {"config.json", "network.json", "data.json",
                                     "journal",     "summary.json", "lock",
                                     "name.txt",    "tags.txt",     "note.txt"};

static bool copy_file(const char *from, const char *to, const char *name)
{
    size_t size;
    char *source = file_join(from, name), *target = file_join(to, name);
    char *bytes = source && file_exists(source) ? file_read(source, LIMIT, &size, NULL) : NULL;
    FILE *file = bytes && target ? fopen(target, "w") : NULL;
    bool good = !source || !file_exists(source) || (file && fwrite(bytes, 1, size, file) == size);
    good &= !file || fclose(file) == 0;
    free(source);
    free(target);
    free(bytes);
    return good;
}

/* Copies a run under an ID of its own. */
static bool copy_run(const char *home, const char *from, size_t number)
{
    char id[64];
    snprintf(id, sizeof id, "20260101-%02zu%02zu%02zu-copy-%04zx", number / 3600 % 24,
             number / 60 % 60, number % 60, number & 0xffff);
    char *directory = file_join(home, id);
    bool good = directory && mkdir(directory, 0700) == 0;
    for (size_t i = 0; good && i < sizeof copied / sizeof *copied; i++)
        good = copy_file(from, directory, copied[i]);
    free(directory);
    return good;
}

/* Reads the outlines of all listed runs; returns how many could be read. */
static size_t read_outlines(const struct run_ids *found)
{
    struct error error;
    size_t outlined = 0;
    const char **directories = calloc(found->count + 1, sizeof *directories);
    for (size_t i = 0; i < found->count; i++)
        directories[i] = file_join(found->home, found->ids[i]);
    struct run_reader *reader =
        run_reader_start(RUN_DEPTH_OUTLINE, directories, found->count, &error);
    while (reader && !run_reader_wait(reader, 1)) {
    }
    for (size_t i = 0; reader && i < found->count; i++)
        outlined += run_reader_result(reader, i)->outlined;
    run_reader_drop(reader);
    return outlined;
}

int main(int argc, char **argv)
{
    struct error error = {0};
    const size_t count = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;
    char *home = run_directory_home(&error);
    const bool made = home && file_make_directories(home, &error);
    for (size_t i = 0; made && i < count; i++)
        if (!copy_run(home, argv[2 + i % (size_t)(argc - 2)], i)) {
            fprintf(stderr, "run %zu cannot be copied\n", i);
            return 1;
        }
    const uint64_t begun = clock_nanoseconds();
    struct run_listing *listing = home ? run_listing_start(NULL, &error) : NULL;
    if (!listing) {
        fprintf(stderr, "the runs cannot be listed: %s\n", error.why);
        return 1;
    }
    while (!run_listing_wait(listing, 1)) {
    }
    const uint64_t listed = clock_nanoseconds();
    const struct run_ids *found = run_listing_result(listing);
    const size_t outlined = read_outlines(found);
    printf("%zu runs: list %.3f s, outlines of %zu %.3f s\n", found->count,
           clock_seconds(begun, listed), outlined, clock_seconds(listed, clock_nanoseconds()));
    free(home);
    return outlined == found->count && found->count > 0 ? 0 : 1;
}
