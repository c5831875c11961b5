/* The names of networks, such as "resnet20-dsc-0.36": the name of a built-in network, then suffixes
 * in any order, each kind at most once: a technique, a width rate (a number), a block rate (a
 * number and "_block"), widths ("w800x400"), an activation. */
#include "engine/network/internal.h"

#include "base/language.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* --- widths and activations --- */

const char *const network_activations[] = {"relu",        "leaky_relu", "prelu",     "elu",
                                           "gelu",        "silu",       "hardswish", "sigmoid",
                                           "hardsigmoid", "tanh",       NULL};

const char *activation_find(const char *name)
{
    for (size_t i = 0; network_activations[i]; i++)
        if (strcmp(network_activations[i], name) == 0)
            return network_activations[i];
    return NULL;
}

char *activation_list(char *text, size_t size)
{
    size_t used = 0;
    snprintf(text, size, "%s", "");
    for (size_t i = 0; network_activations[i] && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "",
                                 network_activations[i]);
    return text;
}

bool network_widths_parse(const char *text, char separator, struct network_widths *widths)
{
    char number[8];
    *widths = (struct network_widths){0};
    for (;;) {
        size_t length = strcspn(text, (const char[]){separator, '\0'}), width;
        if (widths->count == NETWORK_MAX_WIDTHS || length == 0 || length >= sizeof number)
            return false;
        snprintf(number, sizeof number, "%.*s", (int)length, text);
        if (!text_to_size(number, &width) || width < 1 || width > NETWORK_MAX_WIDTH)
            return false;
        widths->each[widths->count++] = width;
        if (!text[length])
            return true;
        text += length + 1;
    }
}

char *network_widths_print(const struct network_widths *widths, char separator, char *text,
                           size_t size)
{
    size_t used = 0;
    snprintf(text, size, "%s", "");
    for (size_t i = 0; i < widths->count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%.*s%zu", i > 0, &separator,
                                 widths->each[i]);
    return text;
}

/* --- which network --- */

static bool has_ending(const char *name, const char *ending)
{
    const size_t length = strlen(name), part = strlen(ending);
    return length > part && strcmp(name + length - part, ending) == 0;
}

static const char model_ending[] = ".safetensors", file_ending[] = ".json";

bool network_is_model(const char *name)
{
    return has_ending(name, model_ending);
}

bool network_is_path(const char *name)
{
    return strchr(name, '/') || has_ending(name, file_ending) || network_is_model(name);
}

size_t network_path_stem(const char *path)
{
    const size_t length = strlen(path);
    return network_is_model(path)          ? length - (sizeof model_ending - 1)
           : has_ending(path, file_ending) ? length - (sizeof file_ending - 1)
                                           : length;
}

static const struct network_builtin *find_builtin(const char *name, size_t length)
{
    for (size_t i = 0; i < network_builtin_count; i++)
        if (strlen(network_builtins[i].name) == length &&
            memcmp(network_builtins[i].name, name, length) == 0)
            return &network_builtins[i];
    return NULL;
}

static bool refuse_name(const char *name, struct error *error)
{
    char list[192] = "", advice[256];
    for (size_t i = 0, used = 0; i < network_builtin_count && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                 network_builtins[i].name);
    snprintf(advice, sizeof advice,
             _("choose one of %s, or name a network file (FILE.json) or a saved model "
               "(FILE.safetensors)"),
             list);
    return error_set(error, ERROR_USAGE, name, advice, "there is no network of this name");
}

/* --- suffixes --- */

struct suffixes {
    const char *name; /* the whole name */
    bool has_technique, has_width_rate, has_block_rate, has_widths, has_activation;
    enum technique technique;
    double width_rate, block_rate;
    struct network_widths widths;
    const char *activation;
    struct error *error;
};

static bool say_once(const struct suffixes *suffixes, bool *has)
{
    if (*has)
        return error_set(suffixes->error, ERROR_USAGE, suffixes->name, "give it once",
                         "two of its suffixes are of the same kind");
    return *has = true;
}

/* Digits and a point: no signs, exponents or names of infinity. */
static bool parse_rate(const char *text, size_t length, double *rate)
{
    char digits[24];
    if (length == 0 || length >= sizeof digits || strspn(text, "0123456789.") < length)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    return text_to_double(digits, rate);
}

static bool parse_suffix(struct suffixes *suffixes, const char *text)
{
    static const char block[] = "_block";
    const size_t length = strlen(text), block_length = sizeof block - 1;
    if (technique_parse(text, &suffixes->technique))
        return say_once(suffixes, &suffixes->has_technique);
    if (parse_rate(text, length, &suffixes->width_rate))
        return say_once(suffixes, &suffixes->has_width_rate);
    if (length > block_length && strcmp(text + length - block_length, block) == 0 &&
        parse_rate(text, length - block_length, &suffixes->block_rate))
        return say_once(suffixes, &suffixes->has_block_rate);
    if (activation_find(text)) {
        suffixes->activation = activation_find(text);
        return say_once(suffixes, &suffixes->has_activation);
    }
    if (text[0] == 'w' && network_widths_parse(text + 1, 'x', &suffixes->widths))
        return say_once(suffixes, &suffixes->has_widths);
    return error_set(suffixes->error, ERROR_USAGE, suffixes->name,
                     "use -dsc, -shuffle or -shift, a width rate (-2.6), a block rate "
                     "(-2.4_block), widths (-w800x400) or an activation (-tanh)",
                     "networks have no suffix \"%s\"", text);
}

static bool parse_suffixes(struct suffixes *suffixes, const char *text)
{
    char suffix[8 * NETWORK_MAX_WIDTHS];
    while (*text) {
        size_t length = strcspn(++text, "-"), limit = sizeof suffix - 1;
        snprintf(suffix, sizeof suffix, "%.*s", (int)(length < limit ? length : limit), text);
        if (!parse_suffix(suffixes, suffix))
            return false;
        text += length;
    }
    return true;
}

/* --- names and options together --- */

static bool contradiction(const struct suffixes *suffixes, const char *option, const char *value)
{
    return error_set(suffixes->error, ERROR_USAGE, suffixes->name, "give it once",
                     "the name and the option --%s %s contradict each other", option, value);
}

/* Sets *asked to the rate of the name. An *asked of 0 means that the options have no such rate. */
static bool join_rate(const struct suffixes *suffixes, const char *option, bool named, double rate,
                      double *asked)
{
    char value[32];
    if (!named)
        return true;
    if (rate == 0)
        return error_set(suffixes->error, ERROR_USAGE, suffixes->name, "give a rate above 0",
                         "its rate is zero");
    snprintf(value, sizeof value, "%g", *asked);
    if (*asked != 0 && *asked != rate)
        return contradiction(suffixes, option, value);
    *asked = rate;
    return true;
}

static bool join_widths(const struct suffixes *suffixes, struct network_widths *asked)
{
    char named[8 * NETWORK_MAX_WIDTHS], value[8 * NETWORK_MAX_WIDTHS];
    if (!suffixes->has_widths)
        return true;
    network_widths_print(&suffixes->widths, ',', named, sizeof named);
    network_widths_print(asked, ',', value, sizeof value);
    if (asked->count && strcmp(named, value) != 0)
        return contradiction(suffixes, "widths", value);
    *asked = suffixes->widths;
    return true;
}

static bool join_activation(const struct suffixes *suffixes, const char **asked)
{
    if (!suffixes->has_activation)
        return true;
    if (*asked && **asked && strcmp(*asked, suffixes->activation) != 0)
        return contradiction(suffixes, "activation", *asked);
    *asked = suffixes->activation;
    return true;
}

static bool join_suffixes(const struct suffixes *suffixes, struct network_request *request)
{
    if (suffixes->has_technique && request->technique != TECHNIQUE_NONE &&
        request->technique != suffixes->technique)
        return contradiction(suffixes, "technique", technique_name(request->technique));
    if (suffixes->has_technique)
        request->technique = suffixes->technique;
    return join_rate(suffixes, "width-rate", suffixes->has_width_rate, suffixes->width_rate,
                     &request->width_rate) &&
           join_rate(suffixes, "block-rate", suffixes->has_block_rate, suffixes->block_rate,
                     &request->block_rate) &&
           join_widths(suffixes, &request->widths) &&
           join_activation(suffixes, &request->activation);
}

static bool rate_in_range(double rate)
{
    return rate == 0 || (rate >= NETWORK_MIN_RATE && rate <= NETWORK_MAX_RATE);
}

static bool check_request(const struct network_request *request, struct error *error)
{
    if (!rate_in_range(request->width_rate) || !rate_in_range(request->block_rate))
        return error_set(error, ERROR_USAGE, request->network, "choose another rate",
                         "a width rate or block rate lies between %g and %g", NETWORK_MIN_RATE,
                         NETWORK_MAX_RATE);
    if (request->activation && *request->activation && !activation_find(request->activation)) {
        char names[ACTIVATION_LIST_SIZE], advice[ACTIVATION_LIST_SIZE + 32];
        snprintf(advice, sizeof advice, _("choose one of %s"),
                 activation_list(names, sizeof names));
        return error_set(error, ERROR_USAGE, request->network, advice, "there is no activation %s",
                         request->activation);
    }
    if (request->groups > NETWORK_MAX_GROUPS)
        return error_set(error, ERROR_USAGE, request->network, "choose fewer groups",
                         "there are at most %d groups", NETWORK_MAX_GROUPS);
    if (request->block_rate > 0 && request->technique != TECHNIQUE_NONE)
        return error_set(
            error, ERROR_USAGE, request->network, "choose one of them",
            "a block rate makes bottleneck blocks, which the technique %s does not have",
            technique_name(request->technique));
    return true;
}

bool network_name_complete(struct network_request *request, const struct network_builtin **builtin,
                           struct error *error)
{
    const char *name = request->network;
    struct suffixes suffixes = {.name = name, .error = error};
    *builtin = NULL;
    if (!request->text && !network_is_path(name)) {
        size_t length = strcspn(name, "-");
        *builtin = find_builtin(name, length);
        if (!*builtin)
            return refuse_name(name, error);
        if (!parse_suffixes(&suffixes, name + length) || !join_suffixes(&suffixes, request))
            return false;
    }
    return check_request(request, error);
}

bool network_is_name(const char *name)
{
    struct error unused;
    struct network_request request = {.network = name};
    const struct network_builtin *builtin;
    return !network_is_path(name) && network_name_complete(&request, &builtin, &unused);
}

char *network_full_name(const struct network *network, char *text, size_t size)
{
    char technique[16] = "", width[32] = "", block[32] = "", groups[32] = "";
    char list[8 * NETWORK_MAX_WIDTHS], widths[sizeof list + 2] = "";
    const bool chosen = network->activation_chosen;
    if (network->widths_chosen)
        snprintf(widths, sizeof widths, "-w%s",
                 network_widths_print(&network->widths, 'x', list, sizeof list));
    if (network->technique != TECHNIQUE_NONE)
        snprintf(technique, sizeof technique, "-%s", technique_name(network->technique));
    if (network->width_rate > 0)
        snprintf(width, sizeof width, "-%g", network->width_rate);
    if (network->block_rate > 0)
        snprintf(block, sizeof block, "-%g_block", network->block_rate);
    if (network->groups > 0 && network->groups != network->usual_groups)
        snprintf(groups, sizeof groups, " (%zu groups)", network->groups);
    snprintf(text, size, "%s%s%s%s%s%s%s%s%s%s", network->name, widths, chosen ? "-" : "",
             chosen ? network->activation : "", technique, width, block, groups,
             network->compression[0] ? "+" : "", network->compression);
    return text;
}

char *network_short_name(const struct network *network, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s", network->name, network->compression[0] ? "+" : "",
             network->compression);
    return text;
}
