/* An ID is the time, the network's name and suffixes in characters that suit file names, and four
 * random hexadecimal digits. A name that is too long is cut so that no number changes. */
#include "runs/values/run_facts.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "engine/network/network.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* --- IDs --- */

enum { LEAST_STEM = 8 }; /* characters that a network's name keeps before its widths go */

/* Replaces characters that a file name should not have; letters, digits and "._-" stay. */
static void clean(char *text)
{
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        *text = isalnum(c) || strchr("._-", c) ? (char)tolower(c) : '_';
    }
}

/* Converts suffixes: "-dsc-0.35 (4 groups)" becomes "-dsc-0.35-4_groups". */
static void copy_suffixes(const char *suffixes, char *out, size_t size)
{
    const size_t length = strcspn(suffixes, " ");
    const char *groups = strchr(suffixes, '(');
    if (groups)
        snprintf(out, size, "%.*s-%.*s", (int)length, suffixes, (int)strcspn(groups + 1, ")"),
                 groups + 1);
    else
        snprintf(out, size, "%s", suffixes);
    clean(out);
}

static void drop_widths(char *suffixes)
{
    if (strncmp(suffixes, "-w", 2) != 0)
        return;
    const char *rest = suffixes + 1 + strcspn(suffixes + 1, "-");
    memmove(suffixes, rest, strlen(rest) + 1);
}

static bool is_of_number(char c)
{
    return isdigit((unsigned char)c) || c == '.';
}

/* Cuts `text` to at most `room` characters, before a number and not within it. */
static void cut(char *text, size_t room)
{
    size_t length = strlen(text);
    if (length <= room)
        return;
    length = room;
    if (is_of_number(text[length]))
        while (length > 0 && is_of_number(text[length - 1]))
            length--;
    while (length > 0 && strchr("._-", text[length - 1]))
        length--;
    text[length > 0 ? length : room] = '\0'; /* a name of digits alone is cut all the same */
}

static void copy_stem(const char *network, char *out, size_t size)
{
    const char *base = file_base_name(network);
    snprintf(out, size, "%.*s", (int)network_path_stem(base), base);
    clean(out);
}

char *run_id_name(const char *network, const char *suffixes, char *name)
{
    char stem[256], ending[256];
    const size_t room = RUN_ID_NAME - 1;
    copy_stem(network, stem, sizeof stem);
    copy_suffixes(suffixes, ending, sizeof ending);
    if (strlen(ending) + LEAST_STEM > room)
        drop_widths(ending);
    const size_t rest = strlen(ending) < room ? strlen(ending) : room;
    cut(stem, room - rest);
    const size_t begin = strlen(stem);
    memcpy(name, stem, begin);
    memcpy(name + begin, ending, rest);
    name[begin + rest] = '\0';
    return name;
}

char *run_id_new(const char *name, char *id)
{
    char begun[24];
    struct tm parts;
    const time_t now = time(NULL);
    const uint64_t mixed = (clock_nanoseconds() ^ (uint64_t)getpid() << 32) * 0x9e3779b97f4a7c15u;
    gmtime_r(&now, &parts);
    strftime(begun, sizeof begun, "%Y%m%d-%H%M%S", &parts);
    snprintf(id, RUN_ID_SIZE, "%.15s-%.*s-%04x", begun, RUN_ID_NAME - 1, name,
             (unsigned)(mixed >> 48));
    return id;
}

/* --- facts --- */

bool run_trained_by_tinca(const char *imported, const char *id, struct error *error)
{
    return !imported[0] ||
           error_set(error, ERROR_USAGE, id, "train the network here: tinca train",
                     "it was imported from a log of %s, which has no weights: only its curves can "
                     "be looked at, compared and exported",
                     imported);
}
