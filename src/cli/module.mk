# The program: one file a subcommand.
bin_PROGRAMS += tinca
tinca_SOURCES = \
	%D%/advise.c \
	%D%/attach.c \
	%D%/before_main.c \
	%D%/bench.c \
	%D%/bench_cluster.c \
	%D%/command.c \
	%D%/command.h \
	%D%/compare.c \
	%D%/completion.c \
	%D%/datasets.c \
	%D%/devices.c \
	%D%/eval.c \
	%D%/event_stream.c \
	%D%/explain.c \
	%D%/export.c \
	%D%/factorize.c \
	%D%/find_rate.c \
	%D%/help.c \
	%D%/import.c \
	%D%/import_words.c \
	%D%/import_words.h \
	%D%/info.c \
	%D%/internal.h \
	%D%/main.c \
	%D%/measure.c \
	%D%/models.c \
	%D%/networks.c \
	%D%/options.c \
	%D%/options.h \
	%D%/output.c \
	%D%/output.h \
	%D%/predict.c \
	%D%/processes.c \
	%D%/processes.h \
	%D%/progress.c \
	%D%/progress.h \
	%D%/prune.c \
	%D%/quantize.c \
	%D%/resume.c \
	%D%/runs.c \
	%D%/runs.h \
	%D%/runs_check.c \
	%D%/runs_groups.c \
	%D%/runs_list.c \
	%D%/runs_list.h \
	%D%/runs_storage.c \
	%D%/runs_waiting.c \
	%D%/seeds.c \
	%D%/seeds.h \
	%D%/stop_signal.c \
	%D%/stop_signal.h \
	%D%/study.c \
	%D%/subcommands.inc \
	%D%/sweep.c \
	%D%/sweep.h \
	%D%/sweep_jobs.c \
	%D%/sweep_output.c \
	%D%/sweep_over.c \
	%D%/sweep_over_lead.c \
	%D%/sweep_progress.c \
	%D%/sweep_request.c \
	%D%/tables.c \
	%D%/technique.c \
	%D%/technique.h \
	%D%/train.c \
	%D%/train.h \
	%D%/train_follow.c \
	%D%/train_wait.c \
	%D%/train_wait.h \
	%D%/ui.c \
	%D%/version.c \
	%D%/watch.c \
	%D%/weights.c \
	%D%/workbench.c \
	%D%/workbench.h
tinca_LDADD = $(UI_LIBS)
# the commit of the clone, or the one that the release was made of; made again when it has changed
nodist_tinca_SOURCES = build_commit.c completion_scripts.c
EXTRA_DIST += %D%/build_commit.sh
CLEANFILES += build_commit.c
build_commit.c: always
	@$(SHELL) $(srcdir)/%D%/build_commit.sh source $(srcdir) >$@.new && \
	if cmp -s $@.new $@; then rm -f $@.new; else mv -f $@.new $@; fi
always:
.PHONY: always
# completion in shells: installed where each looks, and printed by tinca completion SHELL
bashcompletiondir = $(datarootdir)/bash-completion/completions
dist_bashcompletion_DATA = contrib/completion/bash/tinca
zshcompletiondir = $(datarootdir)/zsh/site-functions
dist_zshcompletion_DATA = contrib/completion/zsh/_tinca
fishcompletiondir = $(datarootdir)/fish/vendor_completions.d
dist_fishcompletion_DATA = contrib/completion/fish/tinca.fish
COMPLETIONS = $(dist_bashcompletion_DATA) $(dist_zshcompletion_DATA) $(dist_fishcompletion_DATA)
CLEANFILES += completion_scripts.c
completion_scripts.c: $(COMPLETIONS) src/base/builtin_texts.sh
	$(AM_V_GEN)cd $(srcdir) && $(SHELL) src/base/builtin_texts.sh cli/internal.h completion_script $(COMPLETIONS) >'$(abs_builddir)/$@.new' && \
	mv '$(abs_builddir)/$@.new' '$(abs_builddir)/$@'
