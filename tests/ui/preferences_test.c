/* Tests the configuration file and the saved form: values that are written are read again, errors
 * name file, key and reason, and a good file is never lost. */
#include "base/files/file.h"
#include "runs/settings/user_settings.h"
#include "tap.h"
#include "ui/shared/preferences.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/tinca-preferences-XXXXXX";

static void put(const char *text)
{
    char *path = user_settings_path(NULL);
    char *last = strrchr(path, '/');
    *last = '\0';
    file_make_directories(path, NULL);
    *last = '/';
    file_write(path, text, strlen(text), true, NULL);
    free(path);
}

static bool file_holds(const char *expected)
{
    size_t size;
    char *path = user_settings_path(NULL), *text = file_read(path, 1 << 16, &size, NULL);
    const bool holds = text && strcmp(text, expected) == 0;
    free(text);
    free(path);
    return holds;
}

static void test_values(void)
{
    struct preferences preferences;
    struct error error = {0};
    char text[512];
    preferences_defaults(&preferences);
    tap_ok(preferences.mouse && !preferences.slow && strcmp(preferences.language, "auto") == 0,
           "by default the mouse is used, the connection is fast, and the environment sets the "
           "language");
    tap_ok(!preferences_set(&preferences, "colours", "pink", &error) &&
               strstr(error.advice, "colour-blind"),
           "an unknown name is refused with the list of valid ones: %s", error.advice);
    tap_ok(strcmp(preferences.colours, "default") == 0, "an unknown name changes nothing");
    tap_ok(!preferences_set(&preferences, "mouse", "perhaps", &error), "a flag is yes or no");
    tap_ok(!preferences_set(&preferences, "hue", "3", &error), "an unknown setting is refused");
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    tap_ok(!preferences_set(&preferences, "export-directory", text, &error),
           "a path that is too long is refused, not cut");
    for (size_t i = 0; i < PREFERENCE_COUNT; i++) {
        const char *key = preference_table[i].key;
        preferences_get(&preferences, key, text, sizeof text);
        tap_ok(preferences_set(&preferences, key, text, &error), "%s reads its printed form", key);
    }
}

static void test_round_trip(void)
{
    struct preferences written, read;
    struct error error = {0};
    char a[512], b[512];
    tap_ok(preferences_read(&read, &error) && strcmp(read.colours, "default") == 0,
           "a missing file is no error");
    preferences_defaults(&written);
    preferences_set(&written, "colours", "colour-blind", NULL);
    preferences_set(&written, "symbols", "ascii", NULL);
    preferences_set(&written, "mouse", "no", NULL);
    preferences_set(&written, "slow", "yes", NULL);
    preferences_set(&written, "language", "pt_BR", NULL);
    preferences_set(&written, "export-directory", "/tmp/\"quoted\" \\ \303\247", NULL);
    preferences_set(&written, "export-format", "csv", NULL);
    preferences_set(&written, "x-axis", "time", NULL);
    preferences_set(&written, "log-x", "yes", NULL);
    preferences_set(&written, "log-y", "yes", NULL);
    tap_ok(preferences_write(&written, &error), "the file and its folder are written: %s",
           error.why);
    tap_ok(preferences_read(&read, &error), "the file is read: %s", error.why);
    for (size_t i = 0; i < PREFERENCE_COUNT; i++) {
        const char *key = preference_table[i].key;
        tap_ok(strcmp(preferences_get(&written, key, a, sizeof a),
                      preferences_get(&read, key, b, sizeof b)) == 0,
               "%s has the value that was written", key);
    }
}

static void test_mistakes(void)
{
    struct preferences read;
    struct error error = {0};
    put("{\"colours\": \"mono\",\n \"shade\": 3,\n \"slow\": true}\n");
    tap_ok(!preferences_read(&read, &error), "an unknown key is reported");
    tap_ok(strstr(error.what, "config.json") && strstr(error.why, "line 2") &&
               strstr(error.why, "shade"),
           "the error names file, line and key: %s: %s", error.what, error.why);
    tap_ok(strcmp(read.colours, "mono") == 0 && read.slow, "the valid settings are filled in");
    error = (struct error){0};
    put("{\"mouse\": \"often\", \"symbols\": 7, \"colours\": \"pink\"}");
    tap_ok(!preferences_read(&read, &error) && strstr(error.why, "mouse") &&
               strstr(error.why, "true or false"),
           "a value of the wrong kind is reported: %s", error.why);
    tap_ok(read.mouse && strcmp(read.colours, "default") == 0,
           "an invalid file leaves the defaults");
    error = (struct error){0};
    put("{\"colours\": ");
    tap_ok(!preferences_read(&read, &error) && error.why[0], "half a file is reported: %s",
           error.why);
    tap_ok(file_holds("{\"colours\": "), "reading leaves the file as it is");
    error = (struct error){0};
    put("[1, 2]");
    tap_ok(!preferences_read(&read, &error), "a file that is not an object is reported: %s",
           error.why);
}

static void test_no_place(void)
{
    struct preferences preferences;
    struct error error = {0};
    char path[128];
    preferences_defaults(&preferences);
    snprintf(path, sizeof path, "%s/occupied", folder);
    file_write(path, "x", 1, true, NULL);
    setenv("XDG_CONFIG_HOME", path, 1);
    tap_ok(!preferences_write(&preferences, &error) && error.why[0],
           "a folder that cannot be made is reported: %s", error.why);
    if (geteuid() == 0) {
        tap_skip("root can write everywhere");
    } else {
        snprintf(path, sizeof path, "%s/readonly", folder);
        mkdir(path, 0500);
        setenv("XDG_CONFIG_HOME", path, 1);
        tap_ok(!preferences_write(&preferences, &error), "a read-only folder is reported");
    }
    setenv("XDG_CONFIG_HOME", folder, 1);
}

static void test_last_form(void)
{
    struct run_config form, read;
    struct error error = {0}, skipped;
    tap_ok(!last_form_read(&read, &skipped) && skipped.kind == ERROR_NONE,
           "at first there is no saved form");
    config_defaults(&form);
    config_set(&form, "preset", "cifar", NULL);
    config_set(&form, "batch", "48", NULL);
    config_set(&form, "iterations", "77", NULL);
    tap_ok(last_form_write(&form, &error), "the form is saved: %s", error.why);
    tap_ok(last_form_read(&read, &skipped) && skipped.kind == ERROR_NONE, "the form is read");
    tap_ok(memcmp(&read, &form, sizeof form) == 0,
           "the form has the same values, also those not given by the user");
    config_set(&read, "preset", "", NULL);
    tap_ok(read.batch == 48 && !config_is_given(&read, "lr"),
           "values that the preset filled in do not count as given");
}

static void test_form_grown_old(void)
{
    struct run_config read;
    struct error skipped;
    char path[128];
    const char *text = "{\"network\": \"mlp\", \"warp\": \"9\", \"solver\": \"newton\", "
                       "\"batch\": \"12\", \"seed\": 4}";
    snprintf(path, sizeof path, "%s/tinca/form.json", folder);
    file_write(path, text, strlen(text), true, NULL);
    tap_ok(last_form_read(&read, &skipped), "a form with unknown settings is read");
    tap_ok(skipped.kind != ERROR_NONE && strstr(skipped.why, "warp"),
           "the first unknown setting is reported: %s", skipped.why);
    tap_ok(strcmp(read.network, "mlp") == 0 && read.batch == 12 && read.seed == 1,
           "the valid settings of that form are filled in");
    file_write(path, "{", 1, true, NULL);
    tap_ok(!last_form_read(&read, &skipped) && skipped.kind != ERROR_NONE,
           "an unreadable form is reported: %s", skipped.why);
}

TEST_CASE(preferences_test)
{
    char command[64];
    if (!mkdtemp(folder))
        return 99;
    setenv("XDG_CONFIG_HOME", folder, 1);
    setenv("XDG_STATE_HOME", folder, 1);
    test_values();
    test_round_trip();
    test_mistakes();
    test_no_place();
    test_last_form();
    test_form_grown_old();
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        return 99;
    return tap_done();
}
