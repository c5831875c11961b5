#include "cli/import_words.h"

#include "cli/output.h"

const char *const import_devices[] = {"cpu", "cuda", NULL};

void import_words_print(const char *path, size_t damaged, size_t replaced, const char *top1)
{
    if (damaged)
        output_note(ngettext("tinca: %s: %zu damaged line was left out\n",
                             "tinca: %s: %zu damaged lines were left out\n", damaged),
                    path, damaged);
    if (replaced)
        output_note(
            ngettext("tinca: %s: %zu iteration is there twice; the later one was taken\n",
                     "tinca: %s: %zu iterations are there twice; the later ones were taken\n",
                     replaced),
            path, replaced);
    if (top1)
        output_note(_("tinca: %s: of several accuracies %s was taken; --columns top1=NAME takes "
                      "another\n"),
                    path, top1);
}
