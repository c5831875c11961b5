/* The data of a run with --validate auto: training gets all but a share of its data, validation
 * that share. Both are SPECs of the same set, with rest= and share= and the run's seed as draw=. */
#include "session/config/config_data.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

static const char automatic[] = "auto", share_option[] = ",share=";

/* Returns the share as it was written, or "0.1"; NULL if something else follows "auto". */
static const char *share_of(const struct run_config *config)
{
    const char *rest = config->validate + strlen(automatic);
    double share;
    if (!*rest)
        return "0.1";
    if (strncmp(rest, share_option, strlen(share_option)) != 0)
        return NULL;
    rest += strlen(share_option);
    return strlen(rest) < 16 && text_to_double(rest, &share) && share > 0 && share < 1 ? rest
                                                                                       : NULL;
}

bool config_holds_out(const struct run_config *config)
{
    const char *after = config->validate + strlen(automatic);
    return strncmp(config->validate, automatic, strlen(automatic)) == 0 &&
           (*after == '\0' || *after == ',');
}

bool config_check_validation(const struct run_config *config, struct error *error)
{
    if (!config_holds_out(config))
        return true;
    if (!share_of(config))
        return error_set(error, ERROR_USAGE, "--validate",
                         "write auto,share=F with a number F between 0 and 1, as in auto,share=0.1",
                         "'%s' does not say which share of the data to hold out", config->validate);
    if (strstr(config->data, share_option) || strstr(config->data, ",rest="))
        return error_set(error, ERROR_USAGE, "--validate",
                         "give --validate the other part, or leave share= and rest= out",
                         "auto holds out a share of the training data, which %s already divides",
                         config->data);
    if (strstr(config->data, ",draw="))
        return error_set(error, ERROR_USAGE, "--validate",
                         "leave draw= out of the training data, or name both parts with share= and "
                         "rest=",
                         "auto draws the share by the run's seed, but %s has a seed of its own",
                         config->data);
    return true;
}

static char *write_part(const struct run_config *config, const char *part, char *text)
{
    const char *share = share_of(config);
    snprintf(text, CONFIG_SPEC, "%s,%s=%s,draw=%zu", config->data, part, share ? share : "0.1",
             config->seed);
    return text;
}

char *config_training_spec(const struct run_config *config, char text[CONFIG_SPEC])
{
    if (config_holds_out(config))
        return write_part(config, "rest", text);
    snprintf(text, CONFIG_SPEC, "%s", config->data);
    return text;
}

char *config_validation_spec(const struct run_config *config, char text[CONFIG_SPEC])
{
    if (config_holds_out(config))
        return write_part(config, "share", text);
    snprintf(text, CONFIG_SPEC, "%s", config->validate);
    return text;
}

char *config_measured_spec(const struct run_config *config, char text[CONFIG_SPEC])
{
    if (config->validate[0])
        return config_validation_spec(config, text);
    snprintf(text, CONFIG_SPEC, "%s", config->data);
    return text;
}
