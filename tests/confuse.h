/* confuse.h: type confusion. In a JSON document one value after the other is replaced by one of
 * each other type. Of an array only the first value counts, and of JSON lines only the first with
 * the same names. The member "crc32" with which the files of a run begin is left out, so that
 * readers go on behind it. The document must be valid: it is one that tinca wrote. */
#ifndef TINCA_TESTS_CONFUSE_H
#define TINCA_TESTS_CONFUSE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SITES = 1 << 16, MOST_LINES = 64 };

static char confuse_text[1 << 24];
static struct site {
    const char *begin, *end;
} sites[MOST_SITES];
static size_t site_count;
static unsigned long known[MOST_LINES]; /* the lines whose sites were found */
static size_t known_count;

static const char *const values[] = {
    "null",  "true", "-1", "0.5",   "1e300",        "9007199254740992",  "\"\"",
    "\"x\"", "[]",   "{}", "[[1]]", "[\"x\",null]", "{\"x\":{\"x\":[]}}"};
enum {
    VALUES = sizeof values / sizeof *values,
    CONFUSE_ROOT_ARRAY = 10 /* the change that makes the document an array */
};

static const char *skip_space(const char *c)
{
    return c + strspn(c, " \t\r\n");
}

static const char *end_of_string(const char *quote)
{
    const char *c = quote + 1;
    while (*c && *c != '"')
        c += *c == '\\' && c[1] ? 2 : 1;
    return c + (*c == '"');
}

/* Notes a value, and those in it unless `quietly`. Returns its end. */
static const char *walk(const char *c, int quietly)
{
    struct site *site = quietly || site_count == MOST_SITES ? NULL : &sites[site_count++];
    const char *begin = c, open = *c;
    if (open == '"') {
        c = end_of_string(c);
    } else if (open == '{' || open == '[') {
        c = skip_space(c + 1);
        for (int first = 1; *c && *c != '}' && *c != ']'; first = 0) {
            if (open == '{')
                c = skip_space(skip_space(end_of_string(c)) + 1); /* the name and ':' */
            c = skip_space(walk(c, quietly || (open == '[' && !first)));
            c = skip_space(c + (*c == ','));
        }
        c += *c != '\0';
    } else {
        c += strcspn(c, " \t\r\n,]}");
    }
    if (site)
        *site = (struct site){begin, c};
    return c;
}

/* Removes the member "crc32" with which the files of a run begin. */
static void remove_checksum(void)
{
    static const char name[] = "\"crc32\":";
    char *begin = confuse_text + strcspn(confuse_text, "{"), *at = strstr(begin, name);
    if (!at || at - begin > 8)
        return;
    char *end = at + strlen(name);
    end += strcspn(end, ",}");
    end += *end == ',';
    memmove(at, end, strlen(end) + 1);
}

/* Returns whether an earlier line has the same names. */
static int is_known(const char *line, size_t length)
{
    unsigned long sum = 5381;
    for (const char *c = line; c < line + length; c++)
        if (*c == '"') {
            const char *end = end_of_string(c);
            for (const char *d = c; end[0] == ':' && d < end; d++)
                sum = sum * 33 + (unsigned char)*d;
            c = end - 1;
        }
    for (size_t i = 0; i < known_count; i++)
        if (known[i] == sum)
            return 1;
    if (known_count < MOST_LINES)
        known[known_count++] = sum;
    return 0;
}

/* Reads a document, as text that ends with a NUL in confuse_text, and finds its sites. `lines`: it
 * has a document in each line. Returns in how many ways it can be changed. */
static size_t confuse_begin(int lines)
{
    site_count = known_count = 0;
    if (!lines)
        remove_checksum();
    if (!lines)
        walk(skip_space(confuse_text), 0);
    for (const char *line = confuse_text; lines && *line;) {
        const size_t length = strcspn(line, "\n");
        if (*line == '{' && !is_known(line, length))
            walk(line, 0);
        line += length + (line[length] == '\n');
    }
    return site_count * VALUES;
}

/* Writes the document with one value replaced. */
static void confuse_write(size_t number, FILE *file)
{
    const struct site site = sites[number / VALUES];
    fwrite(confuse_text, 1, (size_t)(site.begin - confuse_text), file);
    fputs(values[number % VALUES], file);
    fputs(site.end, file);
}

/* Reads a file, of lines if its name ends in .jsonl. Returns in how many ways it can be changed; 0
 * if it cannot be read. */
static size_t confuse_read(const char *path)
{
    const char *ending = strrchr(path, '.');
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    confuse_text[fread(confuse_text, 1, sizeof confuse_text - 1, file)] = '\0';
    fclose(file);
    return confuse_begin(ending && strcmp(ending, ".jsonl") == 0);
}

#endif
