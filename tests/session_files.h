/* session_files.h: a private state folder, and functions that the tests of session/ share. */
#ifndef TINCA_TESTS_SESSION_FILES_H
#define TINCA_TESTS_SESSION_FILES_H

#include "base/error.h"
#include "runs/record/run.h"

#include "tap.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char test_home[] = "/tmp/tinca-session-XXXXXX";

/* Without a folder for the figures of the machine, plans follow fixed rules: tests do not depend on
 * how fast the machine is. */
__attribute__((unused)) static bool make_home(void)
{
    return mkdtemp(test_home) && setenv("XDG_STATE_HOME", test_home, 1) == 0 &&
           setenv("XDG_CACHE_HOME", "/dev/null", 1) == 0;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

__attribute__((unused)) static void remove_home(void)
{
    nftw(test_home, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Returns a path inside the state folder, valid for the next three calls. */
__attribute__((unused)) static const char *home_path(const char *name)
{
    static char paths[4][512];
    static size_t next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", test_home, name);
    return path;
}

__attribute__((unused)) static bool write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    bool written = file && fputs(text, file) >= 0;
    return file && fclose(file) == 0 && written;
}

__attribute__((unused)) static void note_error(const struct error *error)
{
    char text[1100];
    tap_note("%s", error_format(error, text, sizeof text));
}

/* Returns a small configuration, changed by "KEY=VALUE" texts; NULL-terminated. */
__attribute__((unused)) static struct run_config configure(const char *const *settings)
{
    struct run_config config;
    config_defaults(&config);
    for (; *settings; settings++) {
        struct error error;
        char key[32];
        size_t length = strcspn(*settings, "=");
        snprintf(key, sizeof key, "%.*s", (int)length, *settings);
        if (!config_set(&config, key, *settings + length + 1, &error))
            note_error(&error);
    }
    return config;
}

#endif
