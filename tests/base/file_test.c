#include "base/files/file.h"
#include "tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/tinca-file-XXXXXX";

static size_t files_in(const char *directory)
{
    char command[256];
    size_t count = 0;
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", directory);
    FILE *pipe = popen(command, "r");
    if (pipe && fscanf(pipe, "%zu", &count) != 1)
        count = 999;
    if (pipe)
        pclose(pipe);
    return count;
}

static void test_atomic(void)
{
    struct error error = {0};
    size_t size;
    char *path = file_join(folder, "a.txt");
    tap_ok(file_write(path, "first", 5, true, &error), "writes a file");
    struct stat status;
    tap_ok(stat(path, &status) == 0 && (status.st_mode & 0777) == 0600, "for the user alone");
    struct file_writer writer;
    tap_ok(file_writer_open(&writer, path, true, &error), "opens it to be replaced");
    fputs("half of the sec", writer.stream);
    fflush(writer.stream);
    char *text = file_read(path, 100, &size, &error);
    tap_ok(text && strcmp(text, "first") == 0, "meanwhile the old file is intact");
    free(text);
    file_writer_abandon(&writer);
    tap_ok(files_in(folder) == 1, "abandoning leaves nothing behind");
    tap_ok(file_write(path, "second", 6, true, &error), "replaces it");
    text = file_read(path, 100, &size, &error);
    tap_ok(text && size == 6 && strcmp(text, "second") == 0, "with the new content");
    free(text);
    tap_ok(!file_read(path, 3, &size, &error), "a file beyond the limit is refused");
    unlink(path);
    free(path);
}

static void test_full_disk(void)
{
    struct error error = {0};
    if (access("/dev/full", W_OK) != 0) {
        tap_skip("there is no /dev/full here");
        return;
    }
    struct file_writer writer;
    char *path = file_join(folder, "full");
    if (!file_writer_open(&writer, path, false, &error))
        return;
    writer.stream = freopen("/dev/full", "wb", writer.stream);
    for (int i = 0; i < 10000; i++)
        fputs("much more than a buffer holds", writer.stream);
    tap_ok(!file_writer_commit(&writer, &error) && strstr(error.why, "space"),
           "a full disk is reported: %s", error.why);
    tap_ok(!file_exists(path), "and leaves no file");
    free(path);
}

/* Creates a half-written file; with `locked` as a living writer has it. Returns its descriptor. */
static int plant(const char *path, bool locked)
{
    const int descriptor = open(path, O_WRONLY | O_CREAT, 0600);
    if (locked && flock(descriptor, LOCK_EX) != 0)
        tap_note("no lock");
    return descriptor;
}

static void test_remains(void)
{
    struct error error = {0};
    struct file_writer first, second;
    char *path = file_join(folder, "b.txt"), *part = file_join(folder, "b.txt.0.part"),
         *other = file_join(folder, "b.txt.1.part");
    close(plant(part, false));
    tap_ok(file_write(path, "new", 3, true, &error) && !file_exists(part),
           "the half-written file of a killed process is removed");
    const int held = plant(part, true);
    close(plant(other, false));
    tap_ok(file_write(path, "newer", 5, true, &error) && file_exists(part) && !file_exists(other),
           "that of a living one stays");
    close(held);
    tap_ok(file_writer_open(&first, path, true, &error) &&
               file_writer_open(&second, path, true, &error),
           "two writers of one file");
    fputs("first", first.stream);
    fputs("second", second.stream);
    tap_ok(file_writer_commit(&second, &error) && file_writer_commit(&first, &error),
           "  both succeed");
    size_t size;
    char *text = file_read(path, 100, &size, &error);
    tap_ok(text && strcmp(text, "first") == 0, "  and the last one counts");
    free(text);
    for (int i = 0; i < 12; i++) { /* more than there are numbers */
        char name[300];
        snprintf(name, sizeof name, "%s.%d.part", path, i);
        plant(name, true);
    }
    tap_ok(file_write(path, "newest", 6, true, &error), "many writers: %s", error.why);
    free(path);
    free(part);
    free(other);
}

static void test_directories(void)
{
    struct error error = {0};
    char *path = file_join(folder, "x/y/z");
    tap_ok(file_make_directories(path, &error) && file_is_directory(path), "makes directories");
    tap_ok(file_make_directories(path, &error), "twice is no error");
    free(path);
    path = file_join(folder, "x/file");
    file_write(path, "", 0, false, &error);
    char *below = file_join(path, "sub");
    tap_ok(!file_make_directories(below, &error), "a file is no directory: %s", error.why);
    tap_ok(strcmp(file_base_name("a/b/c.txt"), "c.txt") == 0, "base name");
    free(below);
    free(path);
}

TEST_CASE(file_test)
{
    if (!mkdtemp(folder))
        return 1;
    test_atomic();
    test_full_disk();
    test_directories();
    test_remains();
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) ? 1 : tap_done();
}
