/* Lines that are not as the framework wrote them: coloured, wrapped by a terminal, or run together
 * because their line breaks were lost.
 *
 * A record begins within a line where the frameworks begin one: glog's "I1103 10:11:12.0", a date
 * and a time, "INFO:tensorflow:", "Epoch 3/12", or the progress "  128/60000 [" of Keras, whose
 * first number is as wide as its second; so its digits can be told from those of a number before
 * it. */
#include "exchange/logs/internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void import_strip_escapes(char *text)
{
    char *out = text;
    for (const char *in = text; *in;) {
        if (in[0] != '\033' || in[1] != '[') {
            *out++ = *in++;
            continue;
        }
        in += 2;
        in += strspn(in, "0123456789;?");
        in += *in != '\0';
    }
    *out = '\0';
}

/* --- run-on lines --- */

/* Returns whether the text has the form of the pattern, in which 0 stands for a digit. */
static bool has_form(const char *text, const char *pattern)
{
    for (; *pattern; text++, pattern++)
        if (*pattern == '0' ? !isdigit((unsigned char)*text) : *text != *pattern)
            return false;
    return true;
}

static bool begins_record(const char *at)
{
    unsigned number, count;
    return (strchr("IWEF", *at) && has_form(at + 1, "0000 00:00:00.0")) ||
           has_form(at, "0000-00-00 00:00:00") || has_form(at, "INFO:tensorflow:") ||
           (at[0] == 'E' && sscanf(at, "Epoch %9u/%9u", &number, &count) == 2);
}

/* Returns where the progress of Keras with its '/' at `slash` begins, or NULL if it is none. */
static const char *progress_at(const char *line, const char *slash)
{
    const size_t width = strspn(slash + 1, "0123456789");
    const char *after = slash + 1 + width;
    if (width == 0 || width > 10 || (size_t)(slash - line) < width || after[0] != ' ' ||
        (after[1] != '[' && strncmp(after + 1, "\xe2\x94\x81", 3) != 0))
        return NULL;
    const char *from = slash - width;
    const size_t blank = strspn(from, " ");
    if (blank + strspn(from + blank, "0123456789") != width || blank == width)
        return NULL;
    const char *drawn = from; /* the bar of tqdm stands before its numbers, that of Keras behind */
    while (drawn > line && drawn[-1] == ' ')
        drawn--;
    const bool tqdm = drawn > line && drawn[-1] == '|';
    const bool epoch = from - line >= 6 && strncmp(from - 6, "Epoch ", 6) == 0; /* Lightning's */
    return tqdm || epoch ? NULL : from;
}

size_t import_first_record(const char *line)
{
    const size_t blank = strspn(line, " ");
    for (const char *at = line + blank + (line[blank] != '\0'); *at; at++) {
        const char *progress = *at == '/' ? progress_at(line, at) : NULL;
        if (begins_record(at))
            return (size_t)(at - line);
        if (progress && progress > line + blank)
            return (size_t)(progress - line);
    }
    return strlen(line);
}

/* --- wrapped lines --- */

/* Returns whether the line begins with a number, or with the rest of one, behind which a value
 * ends. */
static bool is_number_rest(const char *line)
{
    const size_t length = strspn(line, "0123456789.eE+-");
    const char *after = line + length;
    double value;
    return length > 0 && strpbrk(line, "0123456789") < after &&
           import_number(line, &value) == after &&
           (!*after || strncmp(after, " - ", 3) == 0 || *after == ')' || *after == ',' ||
            *after == ']' || strncmp(after, " (", 2) == 0);
}

static bool is_key_rest(const char *line)
{
    double value;
    const size_t length =
        strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    const char *after = line + length + strspn(line + length, " ");
    return length > 0 && length < 64 && (*after == ':' || *after == '=') &&
           import_number(after + 1, &value);
}

/* Returns whether the line ends within a key: its last pair has no value yet. */
static bool ends_in_key(const char *line)
{
    const char *dash = NULL;
    for (const char *at = line; (at = strstr(at, " - ")); at += 3)
        dash = at + 3;
    const char *comma = strrchr(line, ',');
    const char *last = dash && (!comma || dash > comma) ? dash : comma ? comma + 1 : NULL;
    return last && last[strspn(last, " ")] && !strpbrk(last, ":=(") &&
           isalpha((unsigned char)last[strspn(last, " ")]);
}

/* Returns whether the line has a single value below a bar of Lightning that had no room for it. */
static bool is_value_of_bar(const char *before, const char *line)
{
    return strncmp(before, "Epoch ", 6) == 0 && strstr(before, "it/s ") &&
           strncmp(line, "    ", 4) == 0 && is_key_rest(line + strspn(line, " "));
}

bool import_is_rest(const char *before, const char *line, bool *space)
{
    const size_t length = strlen(before);
    *space = is_value_of_bar(before, line);
    if (*space)
        return true;
    if (length < 20 ||
        (!strstr(before, "loss") && !strstr(before, "Iteration ") && !strstr(before, "step")))
        return false;
    const char *end = before + length;
    while (end > before && end[-1] == ' ')
        end--;
    const char last = end > before ? end[-1] : '\0';
    if (last == ':' || last == '=') {
        *space = *end != ' ';
        return is_number_rest(line);
    }
    if (last == '-' && end - before > 1 && end[-2] == ' ') {
        *space = *end != ' ';
        return is_key_rest(line);
    }
    if (strncmp(line, "- ", 2) == 0 && isdigit((unsigned char)last) && strstr(before, " - ")) {
        *space = true;
        return is_key_rest(line + 2);
    }
    if (*end == ' ' || !last)
        return false;
    if (isdigit((unsigned char)last) || last == '.')
        return is_number_rest(line);
    return (isalpha((unsigned char)last) || last == '_') && ends_in_key(before) &&
           is_key_rest(line);
}
