/* The cache of a folder is one text file, read at once into an array that is sorted by name. New
 * entries are merged and the file is replaced when the cache is closed. */
#include "runs/folder/checksum_cache.h"

#include "base/files/file.h"
#include "base/files/user_path.h"
#include "base/memory.h"
#include "base/portable/portable.h"
#include "base/text.h"
#include "runs/folder/run_directory.h"

#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <zlib.h>

#define FILE_LIMIT    ((size_t)512 << 20)
#define SETTLED_AFTER UINT64_C(2000000000) /* nanoseconds */

enum { DIGITS = 8, FIRST_LINE = DIGITS + 1, DIGITS_SIZE = DIGITS + 1 };

struct entry {
    const char *name; /* in the text of the file */
    struct checksum_stamp stamp;
    uint32_t crc32;
    bool noted;
};

struct checksum_cache {
    char *path;
    char *text;            /* the contents of the file; names point into it */
    struct entry *entries; /* sorted by name */
    size_t count, capacity;
    struct text noted; /* the lines of the file to be written */
    bool changed;
};

static uint64_t nanoseconds(struct timespec time)
{
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

bool checksum_stamp_read(struct checksum_stamp *stamp, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return false;
    *stamp = (struct checksum_stamp){.bytes = (uint64_t)status.st_size,
                                     .modified = nanoseconds(status.st_mtim),
                                     .changed = nanoseconds(status.st_ctim),
                                     .inode = status.st_ino};
    return true;
}

/* --- reading --- */

static char *make_path(const char *root)
{
    char name[16];
    const uLong sum = crc32_z(0, (const unsigned char *)root, strlen(root));
    snprintf(name, sizeof name, "%08lx.txt", sum);
    char *runs = run_directory_home(NULL);
    char *folder = runs ? file_join(dirname(runs), "checksums") : NULL;
    char *path = folder ? file_join(folder, name) : NULL;
    free(folder);
    free(runs);
    return path;
}

/* Parses "BYTES MODIFIED CHANGED INODE CRC32 NAME", hexadecimal. */
static bool parse_line(char *line, struct entry *entry)
{
    uint64_t numbers[5];
    for (size_t i = 0; i < 5; i++) {
        char *end;
        numbers[i] = strtoull(line, &end, 16);
        if (end == line || *end != ' ')
            return false;
        line = end + 1;
    }
    *entry = (struct entry){.name = line,
                            .stamp = {numbers[0], numbers[1], numbers[2], numbers[3]},
                            .crc32 = (uint32_t)numbers[4]};
    return *line;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* Writes the checksum of the text after the first line into the first line. */
static void print_sum(const char *text, size_t size, char digits[DIGITS_SIZE])
{
    const uLong sum = crc32_z(0, (const unsigned char *)text + FIRST_LINE, size - FIRST_LINE);
    snprintf(digits, DIGITS_SIZE, "%08lx", sum);
}

static bool is_whole(const char *text, size_t size)
{
    char digits[DIGITS_SIZE];
    if (size < FIRST_LINE || text[DIGITS] != '\n')
        return false;
    print_sum(text, size, digits);
    return memcmp(text, digits, DIGITS) == 0;
}

/* Checks that the file belongs to this folder, and not to one whose path has the same checksum. */
static void read_entries(struct checksum_cache *cache, const char *root)
{
    size_t size;
    cache->text = cache->path && file_exists(cache->path)
                      ? file_read(cache->path, FILE_LIMIT, &size, NULL)
                      : NULL;
    if (!cache->text || !is_whole(cache->text, size))
        return;
    char *rest = cache->text + FIRST_LINE, *line = strsep(&rest, "\n");
    if (!line || strcmp(line, root) != 0)
        return;
    while ((line = strsep(&rest, "\n"))) {
        struct entry entry;
        if (!parse_line(line, &entry))
            continue;
        if (!memory_grow(&cache->entries, &cache->capacity, cache->count + 1,
                         sizeof *cache->entries, "checksums", NULL))
            break;
        cache->entries[cache->count++] = entry;
    }
    if (cache->count > 1)
        qsort(cache->entries, cache->count, sizeof *cache->entries, by_name);
}

struct checksum_cache *checksum_cache_open(const char *root)
{
    struct checksum_cache *cache = memory_new(1, sizeof *cache, "checksums", NULL);
    if (!cache)
        return NULL;
    cache->path = make_path(root);
    read_entries(cache, root);
    text_append(&cache->noted, "%0*d\n%s\n", DIGITS, 0, root);
    return cache;
}

/* --- finding and adding --- */

static struct entry *find(const struct checksum_cache *cache, const char *name)
{
    const struct entry wanted = {.name = name};
    return cache->count ? bsearch(&wanted, cache->entries, cache->count, sizeof wanted, by_name)
                        : NULL;
}

static bool same_stamp(const struct checksum_stamp *a, const struct checksum_stamp *b)
{
    return a->bytes == b->bytes && a->modified == b->modified && a->changed == b->changed &&
           a->inode == b->inode;
}

bool checksum_cache_find(const struct checksum_cache *cache, const char *name,
                         const struct checksum_stamp *stamp, uint32_t *crc32)
{
    const struct entry *entry = cache ? find(cache, name) : NULL;
    if (!entry || !same_stamp(&entry->stamp, stamp))
        return false;
    *crc32 = entry->crc32;
    return true;
}

static void append_line(struct text *text, const char *name, const struct checksum_stamp *stamp,
                        uint32_t crc32)
{
    text_append(text, "%" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %08" PRIx32 " %s\n",
                stamp->bytes, stamp->modified, stamp->changed, stamp->inode, crc32, name);
}

void checksum_cache_add(struct checksum_cache *cache, const char *name,
                        const struct checksum_stamp *stamp, uint32_t crc32)
{
    struct timespec now;
    struct entry *entry = cache ? find(cache, name) : NULL;
    if (entry)
        entry->noted = true;
    if (!cache || strchr(name, '\n'))
        return;
    const bool known = entry && same_stamp(&entry->stamp, stamp);
    clock_gettime(CLOCK_REALTIME, &now);
    if (!known && nanoseconds(now) < stamp->changed + SETTLED_AFTER)
        return;
    cache->changed |= !known;
    append_line(&cache->noted, name, stamp, crc32);
}

void checksum_cache_close(struct checksum_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; cache->changed && i < cache->count; i++)
        if (!cache->entries[i].noted) /* an entry for another part of the same folder */
            append_line(&cache->noted, cache->entries[i].name, &cache->entries[i].stamp,
                        cache->entries[i].crc32);
    if (cache->changed && cache->path && !cache->noted.failed) {
        char digits[DIGITS_SIZE];
        print_sum(cache->noted.data, cache->noted.length, digits);
        memcpy(cache->noted.data, digits, DIGITS);
        if (user_path_make_cache_folder(cache->path, NULL))
            file_write(cache->path, cache->noted.data, cache->noted.length, true, NULL);
    }
    text_free(&cache->noted);
    free(cache->entries);
    free(cache->text);
    free(cache->path);
    free(cache);
}
