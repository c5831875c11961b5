/* hostile_json PAYLOAD [KEY]...: copies JSON, or lines of JSON, from standard input to standard
 * output and replaces every string, except keys and the values of the KEYs, by the contents of the
 * file PAYLOAD (the inside of a JSON string). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char payload[1 << 16], text[1 << 22], key[256];

static size_t read_all(FILE *file, char *into, size_t size)
{
    const size_t length = file ? fread(into, 1, size - 1, file) : 0;
    into[length] = '\0';
    return length;
}

/* Returns the end of the string that begins at `quote`. */
static const char *end_of_string(const char *quote)
{
    const char *c = quote + 1;
    while (*c && *c != '"')
        c += *c == '\\' && c[1] ? 2 : 1;
    return c + (*c == '"');
}

static int is_kept(int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], key) == 0)
            return 1;
    return 0;
}

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    size_t length = read_all(file, payload, sizeof payload);
    if (length > 0 && payload[length - 1] == '\n')
        payload[length - 1] = '\0';
    read_all(stdin, text, sizeof text);
    for (const char *c = text; *c;) {
        if (*c != '"') {
            putchar(*c++);
            continue;
        }
        const char *end = end_of_string(c), *next = end + strspn(end, " \t\r\n");
        const int is_key = *next == ':';
        if (is_key)
            snprintf(key, sizeof key, "%.*s", (int)(end - c) - 2, c + 1);
        if (is_key || is_kept(argc, argv))
            fwrite(c, 1, (size_t)(end - c), stdout);
        else
            printf("\"%s\"", payload);
        c = end;
    }
    return file ? 0 : 1;
}
