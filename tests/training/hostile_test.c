/* Files with false contents, files that change while they are read, files that are not regular;
 * names with control sequences; and the permissions of the state folder. */
#include "base/character.h"
#include "base/escape/markdown.h"
#include "base/escape/shell.h"
#include "base/escape/visible.h"
#include "base/files/file.h"
#include "base/json/json.h"
#include "engine/network/network.h"
#include "engine/weights/safetensors.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_name.h"
#include "session_files.h"

#include <sys/stat.h>

/* --- text --- */

static void check_visible(const char *text, const char *expected, const char *name)
{
    char copy[128];
    snprintf(copy, sizeof copy, "%s", text);
    tap_ok(strcmp(character_replace_hidden(copy), expected) == 0, "%s", name);
}

static void test_visible(void)
{
    struct error error;
    char text[1200];
    check_visible("a\x1b[2J\r\nb\x7f", "a?[2J??b?",
                  "escape sequences and newlines lose their teeth");
    check_visible("\xc2\x9b"
                  "31m \x9b",
                  "?31m ?", "C1 controls too, in UTF-8 and alone");
    check_visible("ação \xe2\x9c\x93 \xf0\x9f\x90\x9f", "ação \xe2\x9c\x93 \xf0\x9f\x90\x9f",
                  "letters, signs and pictures stay as they are");
    check_visible("a\xe3o \xc0\x9b\xe0\x80\x9b\xed\xa0\x80\xf4\x90\x80\x80 \xe2\x80",
                  "a?o ???????????? ??", "invalid UTF-8: cut, overlong, surrogates, too large");
    check_visible("a\xe2\x80\xae"
                  "b\xe2\x81\xa6"
                  "c\xe2\x80\x8e\xd8\x9c",
                  "a?b?c??", "bidirectional overrides, isolates and marks");
    check_visible("a\xe2\x80\xa8"
                  "b\xe2\x80\x8b"
                  "c\xef\xbb\xbf\xf3\xa0\x80\xa1",
                  "a?b?c??", "line separators, zero widths, tags");
    error_set(&error, ERROR_INPUT, "a\nb\x1b]0;x\a", NULL, "%s", "\xc2\x90q");
    error_format(&error, text, sizeof text);
    tap_ok(!strpbrk(text, "\n\x1b\a") && !strstr(text, "\xc2\x90"),
           "a message is one line without control characters: %s", text);
}

static void check_append(visible_appender *append, const char *expected, const char *name,
                         const char *string)
{
    struct text text = {0};
    visible_append_format(&text, append, "%%<%s>%*d|%-6s|%.3s|%5.2f|%zu|%c|%llx\n", string, 4, -7,
                          "a\x1b", "abcdef", 2.5, (size_t)12, 'x', 255ull);
    tap_ok(text.data && strcmp(text.data, expected) == 0, "%s: %s", name, text.data);
    text_free(&text);
}

static void test_negative_stars(void)
{
    struct text text = {0};
    visible_append_format(&text, visible_append, "%.*s|%.*f|%.0s|%*s|%*d|", -1, "abc", -1, 2.5,
                          "abc", -1, "", -3, 7);
    tap_ok(text.data && strcmp(text.data, "abc|2.500000|| |7  |") == 0,
           "a negative star is no precision, or a width to the left: %s", text.data);
    text_free(&text);
}

static void check_word(const char *word, const char *expected, const char *name)
{
    char out[64];
    tap_ok(strcmp(shell_operand(word, out, sizeof out), expected) == 0, "%s: %s", name, out);
}

static void test_writers(void)
{
    static const char name[] = "a\x1b]0;b\n<img onerror=x>|*_`~&\xe2\x80\xae%s";
    check_append(visible_append,
                 "%<a?]0;b?<img onerror=x>|*_`~&?%s>  -7|a?    |abc| 2.50|12|x|ff\n",
                 "strings in a format become visible, the format stays", name);
    check_append(markdown_append,
                 "%<a?\\]0;b \\<img onerror=x\\>\\|\\*\\_\\`\\~\\&?%s>  -7|a?    |abc| "
                 "2.50|12|x|ff\n",
                 "in Markdown they become neither HTML nor markup", name);
    check_word("plain-1.5", "plain-1.5", "a word of a command line");
    check_word("$(id) 'x'", "'$(id) '\\''x'\\'''", "a word that a shell would run is quoted");
    check_word("a\x1b\n'\\\xe2\x80\xae", "$'a\\033\\012\\'\\\\\\342\\200\\256'",
               "a word that cannot be shown is spelled");
    check_word("-x", "-- -x", "a word that looks like an option is protected");
    check_word("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "RUN",
               "a word that does not fit is not cut");
}

/* --- JSON --- */

static void test_json_print(void)
{
    struct json_document document;
    struct json *tree = json_new_object();
    static const char name[] = "\x1b\x7f\xc2\x9b\xe2\x80\xae\xf3\xa0\x80\xa1 \xc3\xa7";
    json_add_string(tree, "name", name);
    char *text = json_print(tree, false, NULL);
    tap_ok(strcmp(text, "{\"name\":\"\\u001b\\u007f\\u009b\\u202e\\udb40\\udc21 \xc3\xa7\"}") == 0,
           "JSON spells what cannot be shown: %s", text);
    tap_ok(json_parse(&document, text, strlen(text), "it", NULL) &&
               strcmp(json_string(json_member(document.root, "name")), name) == 0,
           "  and reads it back");
    json_document_free(&document);
    free(text);
    json_free(tree);
}

static bool refuses_json(const char *text, size_t length, const char *why)
{
    struct json_document document;
    struct error error = {0};
    bool parsed = json_parse(&document, text, length, "stranger.json", &error);
    if (parsed)
        json_document_free(&document);
    return !parsed && strstr(error.why, why);
}

static void test_json(void)
{
    const size_t count = JSON_MAX_VALUES + 2;
    char *list = malloc(2 * count);
    if (!list)
        return;
    for (size_t i = 0; i < count; i++)
        memcpy(list + 2 * i, "0,", 2);
    list[0] = '[';
    tap_ok(refuses_json(list, 2 * count, "values"), "more values than the limit");
    memset(list, '[', JSON_MAX_DEPTH + 1);
    tap_ok(refuses_json(list, JSON_MAX_DEPTH + 1, "deeper"), "deeper than the limit");
    free(list);
    tap_ok(refuses_json("{}\0{", 4, "not JSON"), "text behind a zero byte");
}

/* --- networks --- */

static void check_network(const char *text, const char *why, const char *name)
{
    struct error error = {0};
    const struct network_request request = {.network = "stranger.json", .text = text};
    struct network *network = network_build(&request, &error);
    tap_ok(!network && strstr(error.why, why), "%s: %s", name, error.why);
    network_free(network);
}

static void test_networks(void)
{
    check_network(
        "{\"input\": [1, 2, 2], \"classes\": 2, \"layers\": [{\"name\": \"a\", \"repeat\": "
        "1000, \"layers\": [{\"name\": \"b\", \"repeat\": 1000, \"layers\": []}]}]}",
        "one layer at least", "repetitions of nothing end");
    check_network("{\"input\": [65536, 1, 1], \"classes\": 2, \"layers\": [{\"op\": \"conv\", "
                  "\"output\": 65536, \"kernel\": 16380, \"pad\": 16380, \"stride\": 16380}]}",
                  "address space", "parameters whose sum could overflow");
    check_network("{\"input\": [65536, 65536, 65536], \"classes\": 2, \"layers\": [{\"op\": "
                  "\"relu\"}]}",
                  "too large", "an input that no machine holds");
}

/* --- files --- */

static void test_special_files(void)
{
    struct error error;
    struct safetensors file;
    size_t size;
    const char *fifo = home_path("fifo");
    mkfifo(fifo, 0600);
    tap_ok(!file_read(fifo, 100, &size, &error) && !safetensors_open(&file, fifo, &error),
           "a FIFO is refused at once");
    tap_ok(!file_read("/dev/zero", 100, &size, &error) && error.kind == ERROR_INPUT,
           "and so is a device");
}

static void test_changing_file(void)
{
    static const float values[1024];
    struct error error = {0};
    struct safetensors file;
    float *out = malloc(sizeof values);
    const char *path = home_path("weights.safetensors");
    const struct safetensors_array array = {
        .name = "w", .type = SAFETENSORS_F32, .dims = {1024}, .rank = 1, .data = values};
    bool opened =
        safetensors_write(path, &array, 1, NULL, &error) && safetensors_open(&file, path, &error);
    tap_ok(opened && out && truncate(path, 200) == 0, "a file that is cut off while it is open");
    if (opened && out)
        tap_ok(!safetensors_read(&file, &file.entries[0], out, &error) && error.kind == ERROR_INPUT,
               "which is an error when its data are read: %s", error.why);
    if (opened)
        safetensors_close(&file);
    free(out);
}

static mode_t mode_of(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 ? status.st_mode & 0777 : 0;
}

static void test_modes(void)
{
    struct error error;
    const mode_t before = umask(0);
    static const float value = 1;
    const struct safetensors_array array = {
        .name = "w", .type = SAFETENSORS_F32, .dims = {1}, .rank = 1, .data = &value};
    file_make_directories(home_path("deep/run"), &error);
    safetensors_write(home_path("deep/run/weights.safetensors"), &array, 1, NULL, &error);
    tap_ok(mode_of(home_path("deep")) == 0700 && mode_of(home_path("deep/run")) == 0700,
           "folders are the user's alone");
    tap_ok(mode_of(home_path("deep/run/weights.safetensors")) == 0600,
           "and so is every file in them, with any umask");
    mkdir(home_path("open"), 0777);
    file_write(home_path("open/export.json"), "x", 1, false, &error);
    tap_ok(mode_of(home_path("open/export.json")) == 0666,
           "exported files elsewhere follow the umask");
    umask(before);
}

static void test_links(void)
{
    struct error error;
    struct stat status;
    size_t size;
    char part[600];
    const char *run = home_path("deep/run");
    int made = 0;
    write_text(home_path("outside"), "untouched");
    made += symlink("../../outside", home_path("deep/run/name.txt"));
    made += symlink("../../outside", home_path("deep/run/lock"));
    snprintf(part, sizeof part, "%s/summary.json.0.part", run);
    made += symlink("../../outside", part);
    tap_ok(made == 0 && run_name_write(run, "mine", &error),
           "a link where a file is to be written");
    tap_ok(lstat(home_path("deep/run/name.txt"), &status) == 0 && S_ISREG(status.st_mode),
           "is replaced by the file");
    tap_ok(run_directory_lock(run, &error) < 0, "a lock that is a link is refused");
    tap_ok(file_write(home_path("deep/run/summary.json"), "{}", 2, true, &error),
           "a link in place of the half-written file is not followed");
    char *outside = file_read(home_path("outside"), 100, &size, &error);
    tap_ok(outside && strcmp(outside, "untouched") == 0, "no file outside was changed");
    free(outside);
}

TEST_CASE(hostile_test)
{
    if (!make_home()) {
        tap_ok(false, "a folder for the test");
        return tap_done();
    }
    test_visible();
    test_writers();
    test_negative_stars();
    test_json_print();
    test_json();
    test_networks();
    test_special_files();
    test_changing_file();
    test_modes();
    test_links();
    remove_home();
    return tap_done();
}
