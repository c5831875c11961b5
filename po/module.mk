# Compiled beside the program, where it looks first, and installed from there. The second catalogue is
# for terminals without accents.
EXTRA_DIST += %D%/pt_BR.po %D%/extract.sh %D%/without_accents.sed
if LANGUAGES
CATALOGUES = locale/pt_BR/LC_MESSAGES/tinca.mo locale/pt_BR@ascii/LC_MESSAGES/tinca.mo
endif
CLEANFILES += locale/pt_BR/LC_MESSAGES/tinca.mo locale/pt_BR@ascii/LC_MESSAGES/tinca.mo
all-local: $(CATALOGUES)
EXTRA_tinca_DEPENDENCIES = $(CATALOGUES)
locale/pt_BR/LC_MESSAGES/tinca.mo: %D%/pt_BR.po
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(MSGFMT) -c -o $@ $(srcdir)/%D%/pt_BR.po
locale/pt_BR@ascii/LC_MESSAGES/tinca.mo: %D%/pt_BR.po %D%/without_accents.sed
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	sed -f $(srcdir)/%D%/without_accents.sed $(srcdir)/%D%/pt_BR.po | $(MSGFMT) -c -o $@ -
install-data-local: $(CATALOGUES)
	for file in $(CATALOGUES); do \
	    folder=`dirname $$file`; target='$(DESTDIR)$(localedir)'/$${folder#locale/}; \
	    $(MKDIR_P) "$$target" && $(INSTALL_DATA) $$file "$$target/tinca.mo" || exit 1; \
	done
uninstall-local:
	for language in pt_BR pt_BR@ascii; do \
	    rm -f '$(DESTDIR)$(localedir)'/$$language/LC_MESSAGES/tinca.mo; \
	done
# for translators: brings the sources' messages into the catalogue, where they wait for their words
update-po:
	XGETTEXT='$(XGETTEXT)' $(SHELL) $(srcdir)/%D%/extract.sh $(srcdir) tinca.pot && \
	$(MSGMERGE) --no-fuzzy-matching --no-location --no-wrap --update --backup=none \
	    $(srcdir)/%D%/pt_BR.po tinca.pot
CLEANFILES += tinca.pot
.PHONY: update-po
