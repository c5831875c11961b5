/* The cache is one for the process: entries in the order in which they were read or measured, so
 * that the last one of a key counts. A new one is appended to the file by a single write, which
 * other processes do not interrupt. */
#include "runs/machine/autotune_file.h"

#include "base/files/file.h"
#include "base/files/lines.h"
#include "base/files/user_path.h"
#include "base/language.h"
#include "base/memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_LIMIT = 1024, MOST_ENTRIES = 1 << 14 };

struct entry {
    char *key; /* HARDWARE <tab> KEY */
    char *value;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Protected by the mutex. */
static struct {
    struct entry *entries;
    size_t count, capacity;
    char *path; /* NULL: the cache is not open */
    int file;   /* -1: it cannot be written; `error` says why */
    struct error error;
} cache = {.file = -1};

char *autotune_file_path(struct error *error)
{
    return user_path_make("XDG_CACHE_HOME", ".cache", "tinca/autotune.tsv",
                          _("the measured times of algorithms"), error);
}

/* --- entries --- */

/* Forgets the oldest `count` entries. */
static void forget(size_t count)
{
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        free(cache.entries[i].key);
        free(cache.entries[i].value);
    }
    cache.count -= count;
    memmove(cache.entries, cache.entries + count, cache.count * sizeof *cache.entries);
}

static bool make_room(void)
{
    if (cache.count == MOST_ENTRIES)
        forget(MOST_ENTRIES / 2);
    if (cache.count < cache.capacity)
        return true;
    const size_t capacity = 2 * cache.capacity + 64;
    struct entry *entries = realloc(cache.entries, capacity * sizeof *entries);
    if (!entries)
        return false;
    cache.entries = entries;
    cache.capacity = capacity;
    return true;
}

/* Adds an entry; does nothing if out of memory. */
static void remember(const char *key, const char *value)
{
    struct entry entry = {memory_copy_text(key, NULL), memory_copy_text(value, NULL)};
    if (entry.key && entry.value && make_room())
        cache.entries[cache.count++] = entry;
    else {
        free(entry.key);
        free(entry.value);
    }
}

static const char *look_up(const char *key)
{
    for (size_t i = cache.count; i > 0; i--)
        if (strcmp(cache.entries[i - 1].key, key) == 0)
            return cache.entries[i - 1].value;
    return NULL;
}

/* --- the file --- */

/* Remembers a line; it is changed. */
static void read_line(char *line)
{
    char *key = strchr(line, '\t');
    char *value = key ? strchr(key + 1, '\t') : NULL;
    char *seconds = value ? strchr(value + 1, '\t') : NULL;
    if (!seconds)
        return;
    *value++ = *seconds = '\0';
    remember(line, value);
}

static void read_file(const char *path)
{
    struct lines lines;
    size_t length;
    char *line;
    if (!file_exists(path) || !lines_open(&lines, path, LINE_LIMIT, NULL))
        return;
    while ((line = lines_next(&lines, &length, NULL)))
        read_line(line);
    lines_close(&lines);
}

/* A line that a crash has cut off must not be continued by the next one. */
static void end_line(int file)
{
    char last = '\n';
    const off_t end = lseek(file, 0, SEEK_END);
    if (end > 0 && pread(file, &last, 1, end - 1) == 1 && last != '\n' && write(file, "\n", 1) != 1)
        return; /* the next line is lost as well */
}

/* Opens the file for appending. Returns -1 with an error if it cannot be written. */
static int open_file(const char *path, struct error *error)
{
    struct stat status;
    if (!user_path_make_cache_folder(path, error))
        return -1;
    const int file = file_open_if_regular(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, &status);
    if (file >= 0)
        end_line(file);
    else
        error_set_errno(error, path, "check its permissions, or set XDG_CACHE_HOME",
                        "it cannot be written");
    return file;
}

/* Opens the cache; a path that has changed, as in tests, opens another one. */
static void open_cache(bool again)
{
    char *path = autotune_file_path(&cache.error);
    if (!path || (cache.path && strcmp(cache.path, path) == 0 && !again)) {
        free(path);
        return;
    }
    forget(cache.count);
    if (cache.file >= 0)
        close(cache.file);
    free(cache.path);
    cache.path = path;
    cache.error = (struct error){0};
    cache.file = open_file(path, &cache.error);
    if (!again)
        read_file(path);
}

/* --- the device's table --- */

static void write_key(const struct device_autotune *autotune, const char *key, char *text,
                      size_t size)
{
    snprintf(text, size, "%s\t%s", autotune->hardware, key);
}

static bool find(const struct device_autotune *autotune, const char *key, char *value, size_t size)
{
    char text[LINE_LIMIT];
    write_key(autotune, key, text, sizeof text);
    pthread_mutex_lock(&mutex);
    const char *found = look_up(text);
    if (found)
        snprintf(value, size, "%s", found);
    pthread_mutex_unlock(&mutex);
    return found;
}

static void add(const struct device_autotune *autotune, const char *key, const char *value,
                double seconds)
{
    char text[LINE_LIMIT], line[2 * LINE_LIMIT];
    write_key(autotune, key, text, sizeof text);
    const int length = snprintf(line, sizeof line, "%s\t%s\t%.3g\n", text, value, seconds);
    pthread_mutex_lock(&mutex);
    remember(text, value);
    if (cache.file >= 0 && length < LINE_LIMIT && write(cache.file, line, (size_t)length) != length)
        end_line(cache.file); /* no space: this process goes on with what it has measured */
    pthread_mutex_unlock(&mutex);
}

bool autotune_file_use(struct device *device, bool measures, bool again, struct error *error)
{
    pthread_mutex_lock(&mutex);
    open_cache(again);
    const bool writable = cache.file >= 0;
    if (measures && !writable && error)
        *error = cache.error;
    pthread_mutex_unlock(&mutex);
    const struct device_autotune autotune = {
        .measures = measures && writable, .find = find, .add = add};
    device_use_autotune(device, &autotune);
    return writable || !measures;
}
