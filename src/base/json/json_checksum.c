/* The checksum is computed over the text as it is laid out in the file, with zeros for its own
 * digits, and then written over these zeros. */
#include "base/json/json_checksum.h"

#include "base/language.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char key[] = "crc32";
static const char head[] = "{\n\t\"crc32\":\t\"", zeros[] = "00000000", tail[] = "\",";
enum {
    HEAD = sizeof head - 1,
    DIGITS = sizeof zeros - 1,
    TAIL = sizeof tail - 1,
    DIGITS_SIZE = sizeof zeros
};

/* Writes the checksum of a text, which begins with `head` and eight digits, with zeros for these
 * digits. */
static void print_checksum(const char *text, size_t length, char digits[DIGITS_SIZE])
{
    unsigned long sum = crc32_z(0, (const unsigned char *)text, HEAD);
    sum = crc32_z(sum, (const unsigned char *)zeros, DIGITS);
    sum = crc32_z(sum, (const unsigned char *)text + HEAD + DIGITS, length - HEAD - DIGITS);
    snprintf(digits, DIGITS_SIZE, "%08lx", sum);
}

char *json_print_with_checksum(const struct json *root, struct error *error)
{
    char digits[DIGITS_SIZE];
    char *plain = json_print(root, true, error); /* "{\n\t..." */
    const size_t length = plain ? strlen(plain) : 0;
    char *text = plain ? realloc(plain, HEAD + DIGITS + TAIL + length) : NULL;
    if (!text) {
        free(plain);
        error_set_memory(error, "a JSON document", length);
        return NULL;
    }
    memmove(text + HEAD + DIGITS + TAIL, text + 1, length); /* without "{", with the NUL */
    memcpy(text, head, HEAD);
    memcpy(text + HEAD + DIGITS, tail, TAIL);
    print_checksum(text, HEAD + DIGITS + TAIL + length - 1, digits);
    memcpy(text + HEAD, digits, DIGITS);
    return text;
}

/* Returns whether a document should have a checksum; also true if a single byte of the member's
 * name is damaged. */
static bool has_checksum(const struct json_document *document)
{
    size_t same = 0, i = 0;
    for (; i < HEAD && document->source[i]; i++)
        same += document->source[i] == head[i];
    return same + 1 >= HEAD || json_member(document->root, key);
}

/* a program that writes the document in another layout but keeps the member has changed it, too */
bool json_verify_checksum(const struct json_document *document, const char *advice,
                          struct error *error)
{
    char digits[DIGITS_SIZE] = "";
    const char *text = document->source;
    const size_t length = strlen(text);
    if (!has_checksum(document))
        return true;
    if (length > HEAD + DIGITS && strncmp(text, head, HEAD) == 0)
        print_checksum(text, length, digits);
    if (digits[0] && strncmp(text + HEAD, digits, DIGITS) == 0)
        return true;
    return error_set(error, ERROR_INPUT, document->name,
                     advice ? advice
                            : N_("bring back a copy of it; if the change is meant, delete its "
                                 "line \"crc32\""),
                     "it was changed after tinca wrote it: its checksum is not that of its text");
}
