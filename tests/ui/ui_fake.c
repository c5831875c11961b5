/* The workbench with fake_session.c, for the tests of the screens. usage: ui_fake [--start]
 * [--network NET] [--run-dir DIR] [--epochs N] [--symbols NAME] [--colours NAME] */
#include "ui/ui.h"

#include "base/language.h"
#include "exchange/export/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct preferences preferences;
    struct ui_options options = {.export_path = "session.json", .preferences = &preferences};
    struct error error = {0};
    char text[1200];
    language_begin(NULL);
    if (argc > 5 && strcmp(argv[1], "export") == 0) /* export --format json -o FILE, as the child */
        return export_session(NULL, 0, argv[5], &error) ? EXIT_SUCCESS : EXIT_FAILURE;
    preferences_defaults(&preferences);
    config_defaults(&options.config);
    config_set(&options.config, "validate", "digits", &error);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--start") == 0)
            options.start = true;
        else if (strcmp(argv[i], "--epochs") == 0 && i + 1 < argc)
            config_set(&options.config, "epochs", argv[++i], &error);
        else if (strcmp(argv[i], "--network") == 0 && i + 1 < argc)
            config_set(&options.config, "network", argv[++i], &error);
        else if (strcmp(argv[i], "--run-dir") == 0 && i + 1 < argc)
            options.run.run_directory = argv[++i];
        else if (strcmp(argv[i], "--symbols") == 0 && i + 1 < argc)
            preferences_set(&preferences, "symbols", argv[++i], &error);
        else if (strcmp(argv[i], "--colours") == 0 && i + 1 < argc)
            preferences_set(&preferences, "colours", argv[++i], &error);
    }
    if (ui_run(&options, &error))
        return EXIT_SUCCESS;
    fprintf(stderr, "tinca: %s\n", error_format(&error, text, sizeof text));
    return error.kind == ERROR_INTERRUPTED ? 130 : error.kind == ERROR_USAGE ? 2 : EXIT_FAILURE;
}
