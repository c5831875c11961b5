#include "engine/devices/choice.h"

#include "base/language.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Copies what lies between `before` and `after` in `part` to `name`. Returns false if `part` does
 * not begin and end with them. */
static bool take_name(const char *part, const char *before, const char *after, char *name,
                      size_t size)
{
    const size_t length = strlen(part), begin = strlen(before), end = strlen(after);
    if (length < begin + end || strncmp(part, before, begin) != 0 ||
        strcmp(part + length - end, after) != 0)
        return false;
    snprintf(name, size, "%.*s", (int)(length - begin - end), part + begin);
    return true;
}

/* Writes the translation of one part of an explanation to `text` and overwrites `part`. The parts
 * come from device_choose_kernel and the plan; runs of older versions have "read through by" and
 * "done by" instead of "fused into". */
static void translate(char *part, char *text, size_t size)
{
    static const char refused[] = " refused: ";
    char name[128];
    char *refusal = strstr(part, refused);
    if (refusal) {
        *refusal = '\0';
        snprintf(text, size, _("%s refused: %s"), part,
                 language_text(refusal + sizeof refused - 1));
    } else if (take_name(part, "predicted ", "", name, sizeof name)) {
        snprintf(text, size, _("predicted %s"), name);
    } else if (take_name(part, "", " chosen", name, sizeof name)) {
        snprintf(text, size, _("%s chosen"), name);
    } else if (take_name(part, "fused into ", ", which reads its input through this move", name,
                         sizeof name) ||
               take_name(part, "read through by ", ": nothing is computed or stored", name,
                         sizeof name)) {
        snprintf(text, size, _("fused into %s, which reads its input through this move"), name);
    } else if (take_name(part, "fused into ", ", which computes it in the same pass", name,
                         sizeof name) ||
               take_name(part, "done by ", " in its own pass", name, sizeof name)) {
        snprintf(text, size, _("fused into %s, which computes it in the same pass"), name);
    } else if (take_name(part, "device ", " has no kernel that computes it", name, sizeof name)) {
        snprintf(text, size, _("device %s has no kernel that computes it"), name);
    } else {
        snprintf(text, size, "%s", language_text(part));
    }
}

char *choice_translate(const char *choice, char *text, size_t size)
{
    static const char separator[] = "; ";
    size_t used = 0;
    snprintf(text, size, "%s", "");
    while (*choice && used < size) {
        char part[256];
        const char *end = strstr(choice, separator);
        const size_t length = end ? (size_t)(end - choice) : strlen(choice);
        snprintf(part, sizeof part, "%.*s", (int)length, choice);
        translate(part, text + used, size - used);
        used += strlen(text + used);
        choice += length;
        if (end) {
            snprintf(text + used, size - used, "%s", separator);
            used += strlen(text + used);
            choice += sizeof separator - 1;
        }
    }
    return text;
}
