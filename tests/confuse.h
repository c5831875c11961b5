/* confuse.h: type confusion. In a JSON document one value after the other is replaced by one of
 * each other type, or by a value that no writer makes: out of range, very long, nested deeply, not
 * UTF-8; the document ends before it; its member is there twice. Of an array only the first value
 * counts, and of JSON lines only the first with the same names. The checksum with which the files
 * of a run begin, and that of a saved model, are left out, so that readers go on behind them. In a
 * safetensors file the header is changed, and each document that a text of its metadata holds. The
 * document must be valid: it is one that tinca wrote. */
#ifndef TINCA_TESTS_CONFUSE_H
#define TINCA_TESTS_CONFUSE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SITES = 1 << 16, MOST_LINES = 64, LONG_TEXT = 20000, DEEP = 10000 };

static char confuse_text[1 << 24];
static char *confuse_data; /* what follows the header of a safetensors file; else NULL */
static size_t confuse_data_size;

/* A value of a document; the document stands in a string of the header if `string` is set. */
static struct site {
    const char *text; /* the document */
    const char *begin, *end;
    const char *key; /* its name, with quotes; NULL: it is no member */
    const struct site *string;
} sites[MOST_SITES];
static size_t site_count;
static unsigned long known[MOST_LINES]; /* the lines whose sites were found */
static size_t known_count;

/* The values; a capital names what is longer, or no value. */
static const char *const values[] = {"null",
                                     "true",
                                     "-1",
                                     "0.5",
                                     "1e300",
                                     "9007199254740992",
                                     "\"\"",
                                     "\"x\"",
                                     "[]",
                                     "{}",
                                     "[[1]]",
                                     "[\"x\",null]",
                                     "0",
                                     "-1e308",
                                     "18446744073709551616",
                                     "\"nan\"",
                                     "nan",
                                     "\"\xff\xc3\"",
                                     "{\"x\":{\"x\":[]}}",
                                     "LONG",
                                     "DEEP",
                                     "END",
                                     "TWICE"};
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

/* Notes a value of the document `of`, and those in it unless `quietly`. Returns its end. */
static const char *walk(const char *c, const struct site *of, const char *key, bool quietly)
{
    struct site *site = quietly || site_count == MOST_SITES ? NULL : &sites[site_count++];
    const char *begin = c, open = *c;
    if (open == '"') {
        c = end_of_string(c);
    } else if (open == '{' || open == '[') {
        c = skip_space(c + 1);
        for (bool first = true; *c && *c != '}' && *c != ']'; first = false) {
            const char *name = open == '{' ? c : NULL;
            if (name)
                c = skip_space(skip_space(end_of_string(c)) + 1); /* the name and ':' */
            c = skip_space(walk(c, of, name, quietly || (open == '[' && !first)));
            c = skip_space(c + (*c == ','));
        }
        c += *c != '\0';
    } else {
        c += strcspn(c, " \t\r\n,]}");
    }
    if (site)
        *site = (struct site){of->text, begin, c, key, of->string};
    return c;
}

/* Removes the member "crc32" with which the files of a run begin, and that of a saved model. */
static void remove_checksum(void)
{
    const char *name = confuse_data ? "\"tinca.crc32\":" : "\"crc32\":";
    char *begin = confuse_text + strcspn(confuse_text, "{"), *at = strstr(begin, name);
    if (!at || (!confuse_data && at - begin > 8))
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

/* Returns the text of a string, owned by the caller. Characters that have numbers stay as they are
 * spelled. */
static char *text_of_string(const struct site *string)
{
    char *text = malloc((size_t)(string->end - string->begin)), *to = text;
    for (const char *c = string->begin + 1; text && c < string->end - 1; c++) {
        if (*c == '\\' && c[1] != 'u')
            c++;
        *to++ = c[-1] == '\\' && *c == 'n' ? '\n' : *c;
    }
    if (text)
        *to = '\0';
    return text;
}

/* Notes the values of each document that stands in a string of the header. */
static void walk_strings(void)
{
    const size_t count = site_count;
    for (size_t i = 0; i < count; i++) {
        const struct site *string = &sites[i];
        if (string->begin[0] != '"' || !strchr("{[", string->begin[1]))
            continue;
        const struct site document = {.text = text_of_string(string), .string = string};
        if (document.text && strlen(document.text) > 2)
            walk(document.text, &document, NULL, false);
    }
}

/* Reads a document, as text that ends with a NUL in confuse_text, and finds its sites. `lines`: it
 * has a document in each line. Returns in how many ways it can be changed. */
static size_t confuse_begin(bool lines)
{
    const struct site document = {.text = confuse_text};
    site_count = known_count = 0;
    if (!lines) {
        remove_checksum();
        walk(skip_space(confuse_text), &document, NULL, false);
    }
    for (const char *line = confuse_text; lines && *line;) {
        const size_t length = strcspn(line, "\n");
        if (*line == '{' && !is_known(line, length))
            walk(line, &document, NULL, false);
        line += length + (line[length] == '\n');
    }
    if (confuse_data)
        walk_strings();
    return site_count * VALUES;
}

/* Writes `count` times a character. */
static void repeat(char c, size_t count, FILE *file)
{
    for (size_t i = 0; i < count; i++)
        fputc(c, file);
}

/* Writes the value that replaces one, and the rest of its document. */
static void write_value(const struct site *site, const char *value, FILE *file)
{
    if (strcmp(value, "END") == 0)
        return;
    if (strcmp(value, "LONG") == 0) {
        fputc('"', file);
        repeat('x', LONG_TEXT, file);
        fputc('"', file);
    } else if (strcmp(value, "DEEP") == 0) {
        repeat('[', DEEP, file);
        repeat(']', DEEP, file);
    } else if (strcmp(value, "TWICE") == 0) {
        fwrite(site->begin, 1, (size_t)(site->end - site->begin), file);
        if (site->key)
            fprintf(file, ",%.*s:[]", (int)(end_of_string(site->key) - site->key), site->key);
    } else {
        fputs(value, file);
    }
    fputs(site->end, file);
}

/* Writes a text as a string of JSON. */
static void write_string(const char *text, FILE *file)
{
    fputc('"', file);
    for (const char *c = text; *c; c++)
        if (*c == '\n')
            fputs("\\n", file);
        else if (*c == '"' || (*c == '\\' && c[1] != 'u'))
            fprintf(file, "\\%c", *c);
        else
            fputc(*c, file);
    fputc('"', file);
}

/* Writes the document in which a value is, with this value in its place. */
static void write_document(const struct site *site, const char *value, FILE *file)
{
    fwrite(site->text, 1, (size_t)(site->begin - site->text), file);
    write_value(site, value, file);
}

/* Writes the header of which a string is a document with one value replaced. */
static void write_header(const struct site *site, const char *value, FILE *file)
{
    const struct site *string = site->string;
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return;
    write_document(site, value, memory);
    fclose(memory);
    fwrite(string->text, 1, (size_t)(string->begin - string->text), file);
    write_string(text, file);
    fputs(string->end, file);
    free(text);
}

/* Writes the length of a safetensors header, the header and the data. */
static void write_safetensors(const char *header, uint64_t length, FILE *file)
{
    for (int byte = 0; byte < 8; byte++)
        fputc((int)(length >> 8 * byte & 255), file);
    fwrite(header, 1, length, file);
    fwrite(confuse_data, 1, confuse_data_size, file);
}

/* Writes the document with one value replaced. */
static void confuse_write(size_t number, FILE *file)
{
    const struct site *site = &sites[number / VALUES];
    const char *value = values[number % VALUES];
    char *header = NULL;
    size_t length;
    FILE *memory = confuse_data ? open_memstream(&header, &length) : NULL;
    if (!memory) {
        write_document(site, value, file);
        return;
    }
    if (site->string)
        write_header(site, value, memory);
    else
        write_document(site, value, memory);
    fclose(memory);
    write_safetensors(header, length, file);
    free(header);
}

/* Divides a safetensors file of `size` bytes in confuse_text into header and data. Returns false if
 * it is none. */
static bool divide_safetensors(size_t size)
{
    uint64_t length = 0;
    for (int byte = 0; byte < 8 && size > 8; byte++)
        length |= (uint64_t)(unsigned char)confuse_text[byte] << 8 * byte;
    if (length == 0 || length > size - 8)
        return false;
    confuse_data_size = size - 8 - length;
    confuse_data = malloc(confuse_data_size + 1);
    if (!confuse_data)
        return false;
    memcpy(confuse_data, confuse_text + 8 + length, confuse_data_size);
    memmove(confuse_text, confuse_text + 8, length);
    confuse_text[length] = '\0';
    return true;
}

/* Reads a file, of lines if its name ends in .jsonl, of arrays if in .safetensors. Returns in how
 * many ways it can be changed; 0 if it cannot be read. */
static size_t confuse_read(const char *path)
{
    const char *ending = strrchr(path, '.');
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    const size_t size = fread(confuse_text, 1, sizeof confuse_text - 1, file);
    confuse_text[size] = '\0';
    fclose(file);
    free(confuse_data);
    confuse_data = NULL;
    if (ending && strcmp(ending, ".safetensors") == 0 && !divide_safetensors(size))
        return 0;
    return confuse_begin(ending && strcmp(ending, ".jsonl") == 0);
}

#endif
