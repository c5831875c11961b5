#include "base/files/file.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
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
    tap_ok(text && strcmp(text, "first") == 0, "meanwhile the old one is whole");
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
        tap_skip("no /dev/full here");
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

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    test_atomic();
    test_full_disk();
    test_directories();
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) ? 1 : tap_done();
}
