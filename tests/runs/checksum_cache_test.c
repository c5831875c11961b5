/* Checksums of pictures are remembered for as long as the file is the same one: not when it was
 * written, replaced or renamed, and not while its times could still hide a change. */
#include "base/files/file.h"
#include "runs/folder/checksum_cache.h"

#include "session_files.h"

#include <time.h>

static bool knows(const char *root, const char *name, uint32_t expected)
{
    char path[700];
    uint32_t sum = 0;
    struct checksum_stamp stamp;
    snprintf(path, sizeof path, "%s/%s", root, name);
    struct checksum_cache *cache = checksum_cache_open(root);
    const bool known = checksum_stamp_read(&stamp, path) &&
                       checksum_cache_find(cache, name, &stamp, &sum) && sum == expected;
    checksum_cache_close(cache);
    return known;
}

static void note(const char *root, const char *const *names, size_t count)
{
    struct checksum_cache *cache = checksum_cache_open(root);
    for (size_t i = 0; i < count; i++) {
        char path[700];
        struct checksum_stamp stamp;
        snprintf(path, sizeof path, "%s/%s", root, names[i]);
        if (checksum_stamp_read(&stamp, path))
            checksum_cache_add(cache, names[i], &stamp, (uint32_t)(7 + i));
    }
    checksum_cache_close(cache);
}

/* A wrong checksum from a damaged cache would hide a changed picture. */
static void test_damage(const char *root, const char *name, uint32_t sum)
{
    char path[700] = "";
    size_t size = 0, believed = 0;
    FILE *list = popen("ls \"$XDG_STATE_HOME\"/tinca/checksums/*.txt", "r");
    if (list && fgets(path, sizeof path, list))
        path[strcspn(path, "\n")] = '\0';
    if (list)
        pclose(list);
    char *text = file_read(path, 1 << 16, &size, NULL);
    for (size_t bit = 0; text && bit < 8 * size; bit++) {
        text[bit / 8] ^= (char)(1 << bit % 8);
        file_write(path, text, size, true, NULL);
        text[bit / 8] ^= (char)(1 << bit % 8);
        believed += knows(root, name, sum);
    }
    tap_ok(text && believed == 0, "with any of %zu bits flipped the cache is not used (%zu)",
           8 * size, believed);
    if (text)
        file_write(path, text, size, true, NULL);
    tap_ok(knows(root, name, sum), "  the restored cache is used");
    free(text);
}

/* Returns whether files that have just been written are not cached. A machine that stands still for
 * two seconds between the two calls makes them old files: then they are written once more. */
static bool ignores_new_files(const char *root, const char *const *names, size_t count)
{
    bool ignored = false;
    for (int tries = 0; tries < 2 && !ignored; tries++) {
        for (size_t i = 0; i < count; i++) {
            char path[700];
            snprintf(path, sizeof path, "%s/%s", root, names[i]);
            write_text(path, "same");
        }
        note(root, names, count);
        ignored = !knows(root, names[0], 7);
    }
    return ignored;
}

TEST_CASE(checksum_cache_test)
{
    static const char *const names[] = {"cats/1.png", "cats/2 with blanks.png", "dogs/3.png"};
    char root[512], paths[3][700];
    if (!make_home())
        return 99;
    snprintf(root, sizeof root, "%s", home_path("pictures"));
    file_make_directories(home_path("pictures/cats"), NULL);
    file_make_directories(home_path("pictures/dogs"), NULL);
    for (int i = 0; i < 3; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%s", root, names[i]);
    tap_ok(ignores_new_files(root, names, 3), "a file that has just changed is not cached");
    nanosleep(&(struct timespec){.tv_sec = 2, .tv_nsec = 200000000}, NULL);
    note(root, names, 3);
    tap_ok(knows(root, names[0], 7) && knows(root, names[1], 8) && knows(root, names[2], 9),
           "cached files are found");
    test_damage(root, names[1], 8);
    note(root, names, 1);
    tap_ok(knows(root, names[2], 9), "  also those that another selection does not contain");
    tap_ok(!knows(home_path("pictures/cats"), "1.png", 7), "  below their folder only");
    rename(paths[0], home_path("aside"));
    rename(paths[1], paths[0]);
    rename(home_path("aside"), paths[1]);
    tap_ok(!knows(root, names[0], 7) && !knows(root, names[0], 8) && !knows(root, names[1], 8),
           "not when two have changed places");
    write_text(paths[2], "diff");
    tap_ok(!knows(root, names[2], 9), "nor if one was written with the same size");
    tap_ok(!checksum_cache_find(NULL, "x", &(struct checksum_stamp){0}, &(uint32_t){0}),
           "without a cache nothing is found");
    remove_home();
    return tap_done();
}
