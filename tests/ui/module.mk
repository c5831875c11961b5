# The tests of src/ui: screens in tmux, and what they are made of.
UI_CASES = \
	%D%/actions_test.c \
	%D%/columns_test.c \
	%D%/compare_plots_test.c \
	%D%/completion_test.c \
	%D%/graphics_test.c \
	%D%/input_test.c \
	%D%/layout_test.c \
	%D%/plot_test.c \
	%D%/plot_values_test.c \
	%D%/preferences_test.c \
	%D%/sample_view_test.c \
	%D%/series_colours_test.c \
	%D%/targets_test.c
check_PROGRAMS += ui_test
TESTS += $(UI_CASES)
ui_test_SOURCES = $(UI_CASES) $(CASES_MAIN) tests/made_runs.h tests/session_files.h
ui_test_LDADD = $(UI_LIBS)
# ui_fake: the workbench over a session that trains nothing, for tests of the screens
check_PROGRAMS += ui_fake
ui_fake_SOURCES = %D%/ui_fake.c %D%/fake_session.c
ui_fake_LDADD = $(UI_LIBS)
UI_TESTS = %D%/screens_test.sh %D%/keys_test.sh %D%/terminal_test.sh %D%/signals_test.sh \
	%D%/detach_test.sh %D%/mpi_screen_test.sh %D%/queue_test.sh %D%/figures_test.sh %D%/marks_test.sh \
	%D%/fork_test.sh %D%/attach_test.sh %D%/compare_test.sh \
	%D%/overlays_test.sh %D%/commands_test.sh \
	%D%/slow_files_test.sh \
	%D%/curves_test.sh \
	%D%/plots_test.sh \
	%D%/inside_test.sh \
	%D%/lab_test.sh \
	%D%/language_test.sh \
	%D%/limit_test.sh \
	%D%/mouse_test.sh \
	%D%/completing_test.sh \
	%D%/offers_test.sh %D%/offers_runs_test.sh %D%/offers_try_test.sh \
	%D%/resume_test.sh \
	%D%/runs_test.sh %D%/seeds_test.sh \
	%D%/setup_test.sh %D%/find_rate_test.sh %D%/tables_test.sh \
	%D%/shelf_test.sh %D%/trust_test.sh \
	%D%/study_test.sh \
	%D%/sweep_test.sh %D%/models_test.sh %D%/advisor_other_test.sh \
	%D%/try_test.sh \
	%D%/typing_test.sh \
	%D%/views_test.sh \
	%D%/watch_test.sh \
	%D%/workbench_test.sh
# they begin first, since they wait most of the time
TESTS += $(UI_TESTS)
UI_GOLDENS = \
	%D%/goldens/curves-120x40-C.UTF-8.txt \
	%D%/goldens/curves-120x40-C.txt \
	%D%/goldens/curves-132x43-C.UTF-8.txt \
	%D%/goldens/curves-132x43-C.txt \
	%D%/goldens/curves-200x60-C.UTF-8.txt \
	%D%/goldens/curves-200x60-C.txt \
	%D%/goldens/curves-40x12-C.UTF-8.txt \
	%D%/goldens/curves-40x12-C.txt \
	%D%/goldens/curves-80x24-C.UTF-8.txt \
	%D%/goldens/curves-80x24-C.txt \
	%D%/goldens/form-120x40-C.UTF-8.txt \
	%D%/goldens/form-120x40-C.txt \
	%D%/goldens/form-132x43-C.UTF-8.txt \
	%D%/goldens/form-132x43-C.txt \
	%D%/goldens/form-200x60-C.UTF-8.txt \
	%D%/goldens/form-200x60-C.txt \
	%D%/goldens/form-40x12-C.UTF-8.txt \
	%D%/goldens/form-40x12-C.txt \
	%D%/goldens/form-80x24-C.UTF-8.txt \
	%D%/goldens/form-80x24-C.txt \
	%D%/goldens/help-120x40-C.UTF-8.txt \
	%D%/goldens/help-120x40-C.txt \
	%D%/goldens/help-132x43-C.UTF-8.txt \
	%D%/goldens/help-132x43-C.txt \
	%D%/goldens/help-200x60-C.UTF-8.txt \
	%D%/goldens/help-200x60-C.txt \
	%D%/goldens/help-40x12-C.UTF-8.txt \
	%D%/goldens/help-40x12-C.txt \
	%D%/goldens/help-80x24-C.UTF-8.txt \
	%D%/goldens/help-80x24-C.txt \
	%D%/goldens/menu-120x40-C.UTF-8.txt \
	%D%/goldens/menu-120x40-C.txt \
	%D%/goldens/menu-132x43-C.UTF-8.txt \
	%D%/goldens/menu-132x43-C.txt \
	%D%/goldens/menu-200x60-C.UTF-8.txt \
	%D%/goldens/menu-200x60-C.txt \
	%D%/goldens/menu-40x12-C.UTF-8.txt \
	%D%/goldens/menu-40x12-C.txt \
	%D%/goldens/menu-80x24-C.UTF-8.txt \
	%D%/goldens/menu-80x24-C.txt \
	%D%/goldens/run-120x40-C.UTF-8.txt \
	%D%/goldens/run-120x40-C.txt \
	%D%/goldens/run-132x43-C.UTF-8.txt \
	%D%/goldens/run-132x43-C.txt \
	%D%/goldens/run-200x60-C.UTF-8.txt \
	%D%/goldens/run-200x60-C.txt \
	%D%/goldens/run-40x12-C.UTF-8.txt \
	%D%/goldens/run-40x12-C.txt \
	%D%/goldens/run-80x24-C.UTF-8.txt \
	%D%/goldens/run-80x24-C.txt \
	%D%/goldens/runs-120x40-C.UTF-8.txt \
	%D%/goldens/runs-120x40-C.txt \
	%D%/goldens/runs-132x43-C.UTF-8.txt \
	%D%/goldens/runs-132x43-C.txt \
	%D%/goldens/runs-200x60-C.UTF-8.txt \
	%D%/goldens/runs-200x60-C.txt \
	%D%/goldens/runs-40x12-C.UTF-8.txt \
	%D%/goldens/runs-40x12-C.txt \
	%D%/goldens/runs-80x24-C.UTF-8.txt \
	%D%/goldens/runs-80x24-C.txt \
	%D%/goldens/settings-120x40-C.UTF-8.txt \
	%D%/goldens/settings-120x40-C.txt \
	%D%/goldens/settings-132x43-C.UTF-8.txt \
	%D%/goldens/settings-132x43-C.txt \
	%D%/goldens/settings-200x60-C.UTF-8.txt \
	%D%/goldens/settings-200x60-C.txt \
	%D%/goldens/settings-40x12-C.UTF-8.txt \
	%D%/goldens/settings-40x12-C.txt \
	%D%/goldens/settings-80x24-C.UTF-8.txt \
	%D%/goldens/settings-80x24-C.txt \
	%D%/goldens/table-120x40-C.UTF-8.txt \
	%D%/goldens/table-120x40-C.txt \
	%D%/goldens/table-132x43-C.UTF-8.txt \
	%D%/goldens/table-132x43-C.txt \
	%D%/goldens/table-200x60-C.UTF-8.txt \
	%D%/goldens/table-200x60-C.txt \
	%D%/goldens/table-40x12-C.UTF-8.txt \
	%D%/goldens/table-40x12-C.txt \
	%D%/goldens/table-80x24-C.UTF-8.txt \
	%D%/goldens/table-80x24-C.txt
EXTRA_DIST += $(UI_TESTS) $(UI_GOLDENS) %D%/cast.sh %D%/offers.sh %D%/screen.sh
# the screens as they are now become what screens_test.sh expects
renew-screens: ui_fake$(EXEEXT)
	RENEW=1 srcdir='$(srcdir)' TINCA='$(abs_top_builddir)/tinca' $(SHELL) $(srcdir)/%D%/screens_test.sh
.PHONY: renew-screens
# a session in text, for docs/session.md
cast:
	@srcdir='$(srcdir)' TINCA='$(abs_top_builddir)/tinca' $(SHELL) $(srcdir)/%D%/cast.sh
.PHONY: cast
