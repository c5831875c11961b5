/* Reads words as getopt_long does: options may stand behind operands, their names may be
 * abbreviated, and the value of one is the rest of its word or the next word. */
#include "cli/internal.h"

#include <string.h>

/* Returns the option that begins with the `length` bytes of `name`, if it is the only one or has
 * just this name; NULL: none. */
static const struct option_entry *find_long(const struct option_entry *entries, size_t count,
                                            const char *name, size_t length)
{
    const struct option_entry *found = NULL;
    size_t matches = 0;
    for (size_t i = 0; i < count; i++) {
        if (strncmp(entries[i].name, name, length) != 0)
            continue;
        if (!entries[i].name[length])
            return &entries[i];
        found = &entries[i];
        matches++;
    }
    return matches == 1 ? found : NULL;
}

static const struct option_entry *find_letter(const struct option_entry *entries, size_t count,
                                              char letter)
{
    for (size_t i = 0; i < count; i++)
        if (entries[i].letter == letter)
            return &entries[i];
    return NULL;
}

static bool needs_value(const struct option_entry *entry)
{
    return entry && entry->argument && !entry->argument_optional;
}

/* Reads a word such as --name, --name=VALUE, -o, -oVALUE or -qo. Returns its last option, NULL if
 * it is not known; sets *value to the value inside the word, NULL: it has none. */
static const struct option_entry *read_option(const struct option_entry *entries, size_t count,
                                              const char *word, const char **value)
{
    const struct option_entry *entry = NULL;
    *value = NULL;
    if (word[1] == '-') {
        const size_t length = strcspn(word + 2, "=");
        *value = word[2 + length] ? word + 2 + length + 1 : NULL;
        return find_long(entries, count, word + 2, length);
    }
    for (const char *letter = word + 1; *letter; letter++) {
        entry = find_letter(entries, count, *letter);
        if (needs_value(entry)) {
            *value = letter[1] ? letter + 1 : NULL;
            return entry;
        }
    }
    return entry;
}

static bool looks_like_option(const char *word)
{
    return word[0] == '-' && word[1];
}

/* Reads the word that is being typed and no option's separate value. */
static void read_last(struct completion_line *line, const struct option_entry *entries,
                      size_t count, const char *word)
{
    const char *value = NULL;
    const struct option_entry *entry =
        looks_like_option(word) ? read_option(entries, count, word, &value) : NULL;
    line->value = word;
    line->is_option = word[0] == '-' && !value;
    if (value && entry) {
        line->option = entry;
        line->value = value;
        line->before = (size_t)(value - word);
    }
}

struct completion_line completion_line_read(const struct option_entry *entries, size_t count,
                                            char *const *words, size_t word_count)
{
    struct completion_line line = {0};
    const char *last = words[word_count - 1];
    for (size_t i = 0; i + 1 < word_count; i++) {
        const char *value;
        if (line.only_operands || !looks_like_option(words[i])) {
            line.operand++;
            continue;
        }
        if (strcmp(words[i], "--") == 0) {
            line.only_operands = true;
            continue;
        }
        const struct option_entry *entry = read_option(entries, count, words[i], &value);
        if (entry && entry - entries < COMPLETION_LINE_OPTIONS)
            line.given[entry - entries] = true;
        if (value || !needs_value(entry))
            continue;
        if (++i + 1 == word_count) {
            line.option = entry;
            line.value = last;
            return line;
        }
    }
    line.value = last;
    if (!line.only_operands)
        read_last(&line, entries, count, last);
    return line;
}
