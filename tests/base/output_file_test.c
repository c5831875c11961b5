/* Where names lead, and what becomes of the file there. Everything happens in a scratch folder. */
#include "base/files/output_file.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

static char folder[] = "/tmp/tinca-output-XXXXXX";

/* Returns a path in the scratch folder, in the buffer of `slot`. */
static const char *in_folder(int slot, const char *name)
{
    static char paths[3][64];
    snprintf(paths[slot], sizeof paths[slot], "%s/%s", folder, name);
    return paths[slot];
}

static bool holds(const char *path, const char *text)
{
    struct error error;
    size_t size;
    char *data = file_read(path, 1 << 20, &size, &error);
    const bool same = data && size == strlen(text) && memcmp(data, text, size) == 0;
    free(data);
    return same;
}

static bool write_text(const char *path, const char *text, struct error *error)
{
    *error = (struct error){0};
    return output_file_write(path, text, strlen(text), OUTPUT_TEXT, error);
}

static mode_t mode_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? status.st_mode & 07777 : 0;
}

static void test_names(void)
{
    static const struct {
        const char *name;
        int descriptor;
    } cases[] = {{"-", 1},
                 {"/dev/stdout", 1},
                 {"/dev/stderr", 2},
                 {"/dev/fd/1", 1},
                 {"/proc/self/fd/12", 12},
                 {"/dev/fd/", -1},
                 {"/dev/fd/1x", -1},
                 {"/dev/fd/99999999999999999999", -1},
                 {"/dev/fd/4294967297", -1},
                 {"./-", -1},
                 {"/dev/null", -1},
                 {"stdout", -1},
                 {"", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        tap_ok(output_descriptor(cases[i].name) == cases[i].descriptor, "\"%s\" is %d",
               cases[i].name, output_descriptor(cases[i].name));
}

static void test_files(void)
{
    struct error error;
    struct output_file output;
    const char *path = in_folder(0, "file");
    const mode_t before = umask(026);
    tap_ok(write_text(path, "first", &error) && mode_of(path) == 0640, "a new file, by the umask");
    umask(before);
    chmod(path, 0604);
    tap_ok(write_text(path, "second", &error) && mode_of(path) == 0604 && holds(path, "second"),
           "replaced, with the same mode");
    tap_ok(output_file_open(&output, path, OUTPUT_TEXT, &error) && fputs("half", output.stream) > 0,
           "begins a document");
    fflush(output.stream);
    tap_ok(holds(path, "second"), "which does not touch the file yet");
    output_file_abandon(&output);
    tap_ok(holds(path, "second"), "nor if it is abandoned");
    if (setxattr(path, "user.tinca", "kept", 4, 0) != 0)
        tap_skip("no extended attributes here: %s", strerror(errno));
    else {
        char value[8] = "";
        tap_ok(write_text(path, "third", &error) && holds(path, "third") &&
                   getxattr(path, "user.tinca", value, sizeof value) == 4,
               "and its extended attributes");
    }
    link(path, in_folder(1, "other"));
    tap_ok(write_text(path, "3", &error) && holds(in_folder(1, "other"), "3"),
           "hard links remain one file, and no rest of a longer document is left");
    tap_ok(output_file_copy(in_folder(2, "copy"), path, &error) && holds(in_folder(2, "copy"), "3"),
           "copies a file");
    chmod(path, 0400);
    if (geteuid() == 0)
        tap_skip("root may write to every file");
    else
        tap_ok(!write_text(path, "4", &error) && strstr(error.why, "cannot be written"),
               "a read-only file is refused: %s", error.why);
    unlink(path);
    unlink(in_folder(1, "other"));
    unlink(in_folder(2, "copy"));
}

static void test_links(void)
{
    struct error error;
    const char *target = in_folder(0, "target"), *first = in_folder(1, "first"),
               *second = in_folder(2, "second");
    symlink("target", first);
    symlink(first, second);
    tap_ok(write_text(second, "new", &error) && holds(target, "new"),
           "a dangling link's file is made: %s", error.why);
    tap_ok(write_text(second, "again", &error) && holds(target, "again") &&
               readlink(first, (char[8]){0}, 8) == 6,
           "and replaced behind the links");
    tap_ok(!output_file_is_stream(second) && !output_file_is_stdout(second), "it is a file");
    unlink(first);
    symlink("/proc/self/fd/1", first);
    tap_ok(output_file_is_stdout(first) && output_file_is_stream(first),
           "a link to standard output is standard output");
    unlink(first);
    symlink("first", first);
    tap_ok(!output_file_check(first, OUTPUT_TEXT, &error), "a circle is refused: %s", error.why);
    unlink(first);
    unlink(second);
    unlink(target);
}

static void test_streams(void)
{
    char got[64] = "";
    struct error error = {0};
    struct output_file output;
    const char *path = in_folder(0, "fifo");
    struct stat status;
    mkfifo(path, 0600);
    const int reader = open(path, O_RDONLY | O_NONBLOCK);
    tap_ok(output_file_is_stream(path) && output_file_open(&output, path, OUTPUT_BINARY, &error) &&
               fputs("half", output.stream) > 0,
           "opens a FIFO");
    output_file_abandon(&output);
    tap_ok(read(reader, got, sizeof got) <= 0, "an abandoned document leaves nothing in it");
    tap_ok(write_text(path, "whole", &error) && read(reader, got, sizeof got) == 5 &&
               strcmp(got, "whole") == 0,
           "a complete document is written");
    tap_ok(lstat(path, &status) == 0 && S_ISFIFO(status.st_mode), "it is still a FIFO");
    close(reader);
    unlink(path);

    int ends[2];
    char name[32];
    tap_ok(pipe(ends) == 0, "makes a pipe");
    snprintf(name, sizeof name, "/dev/fd/%d", ends[1]);
    tap_ok(write_text(name, "through", &error) && read(ends[0], got, sizeof got) == 7,
           "a descriptor is written to");
    close(ends[0]);
    tap_ok(!write_text(name, "lost", &error) && strstr(error.why, "Broken pipe") &&
               !error.advice[0],
           "a closed pipe is an error and no signal: %s", error.why);
    snprintf(name, sizeof name, "/proc/self/fd/%d", ends[1]);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    tap_ok(!output_file_check(name, OUTPUT_TEXT, &error),
           "the program's descriptors are no targets: %s", error.why);
    close(ends[1]);
}

static void test_refused(void)
{
    struct error error;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = in_folder(0, "socket");
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    tap_ok(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 &&
               !write_text(path, "x", &error) && strstr(error.why, "socket"),
           "a socket: %s", error.why);
    close(listener);
    unlink(path);
    tap_ok(!write_text(folder, "x", &error) && strstr(error.why, "folder"), "a folder: %s",
           error.why);
    tap_ok(!write_text(in_folder(0, "none/x"), "x", &error) && strstr(error.why, "does not exist"),
           "no folder: %s", error.why);
    tap_ok(!write_text(in_folder(0, "none/"), "x", &error), "a name that ends in /: %s", error.why);
    tap_ok(!write_text("", "x", &error), "an empty name: %s", error.why);
    const int closed = dup(STDOUT_FILENO);
    close(closed);
    char name[32];
    snprintf(name, sizeof name, "/dev/fd/%d", closed);
    tap_ok(!write_text(name, "x", &error), "a closed descriptor: %s", error.why);
}

/* Opens a document that takes long, and writes `text` behind the first `keep` bytes of what there
 * is. */
static bool begin_part(struct output_file *output, const char *path, bool continues, size_t keep,
                       const char *text)
{
    struct error error = {0};
    return output_file_open_part(output, path, OUTPUT_TEXT, continues, &error) &&
           (!continues || output_file_cut(output, keep, &error)) &&
           fputs(text, output->stream) >= 0 && output_file_flush(output, &error);
}

static void test_parts(void)
{
    struct error error = {0};
    struct output_file output, second;
    const char *path = in_folder(0, "rows"), *part = in_folder(1, "rows.part");
    tap_ok(begin_part(&output, path, false, 0, "one two") && holds(part, "one two") &&
               !file_exists(path),
           "a document that takes long is written beside its file");
    tap_ok(!output_file_open_part(&second, path, OUTPUT_TEXT, false, &error) &&
               strstr(error.why, "another process") && holds(part, "one two"),
           "which a second writer does not touch: %s", error.why);
    output_file_leave(&output);
    tap_ok(begin_part(&output, path, true, 4, "three") && holds(part, "one three"),
           "it is continued where its rows end");
    tap_ok(output_file_commit(&output, &error) && holds(path, "one three") && !file_exists(part),
           "and becomes the file");
    chmod(path, 0604);
    tap_ok(begin_part(&output, path, true, 3, "") && holds(part, "one"),
           "without it, the file itself is continued");
    output_file_leave(&output);
    tap_ok(!file_exists(part) && holds(path, "one three"), "and nothing is left if nothing is new");
    tap_ok(begin_part(&output, path, false, 0, "four") && output_file_commit(&output, &error) &&
               holds(path, "four") && mode_of(path) == 0604,
           "a file that is replaced keeps its mode");
    link(path, in_folder(2, "twin"));
    tap_ok(begin_part(&output, path, false, 0, "5") && output_file_commit(&output, &error) &&
               holds(in_folder(2, "twin"), "5") && !file_exists(part),
           "and its links");
    symlink("twin", part);
    tap_ok(!output_file_open_part(&output, path, OUTPUT_TEXT, false, &error) && holds(path, "5"),
           "a link in its place is not followed: %s", error.why);
    unlink(part);
    unlink(path);
    unlink(in_folder(2, "twin"));
}

static void test_direct(void)
{
    int ends[2];
    char name[32], got[8] = "";
    struct error error = {0};
    struct output_file output;
    tap_ok(pipe(ends) == 0, "makes a pipe");
    snprintf(name, sizeof name, "/dev/fd/%d", ends[1]);
    tap_ok(begin_part(&output, name, false, 0, "a") && read(ends[0], got, sizeof got) == 1 &&
               fputs("bc", output.stream) >= 0 && output_file_flush(&output, &error) &&
               read(ends[0], got, sizeof got) == 2 && strcmp(got, "bc") == 0,
           "a descriptor receives a document that takes long flush by flush");
    close(ends[0]);
    fputs("lost", output.stream);
    tap_ok(!output_file_commit(&output, &error) && strstr(error.why, "Broken pipe"),
           "a closed pipe is an error: %s", error.why);
    close(ends[1]);
}

TEST_CASE(output_file_test)
{
    if (!mkdtemp(folder))
        return 99;
    test_names();
    test_files();
    test_links();
    test_streams();
    test_refused();
    test_parts();
    test_direct();
    tap_ok(rmdir(folder) == 0, "nothing is left in the folder");
    return tap_done();
}
