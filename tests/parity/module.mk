# Operators and whole networks against PyTorch; coverage_test holds that no built-in network is left out.
PARITY_CASES = \
	%D%/coverage_test.c \
	%D%/distillation_trajectory_test.c \
	%D%/gan_trajectory_test.c \
	%D%/parity_test.c \
	%D%/trajectory_test.c \
	%D%/weights_names_test.c
check_PROGRAMS += parity_test
TESTS += $(PARITY_CASES)
parity_test_SOURCES = $(PARITY_CASES) $(CASES_MAIN) %D%/golden.c %D%/golden.h
parity_test_LDADD = libopharness.a $(ENGINE_LIBS)
EXTRA_DIST += \
	%D%/goldens/augment.json \
	%D%/goldens/distillation.json \
	%D%/goldens/gan.json \
	%D%/goldens/gan_long.json \
	%D%/goldens/ops.safetensors \
	%D%/goldens/torchvision.json \
	%D%/goldens/trajectories.json \
	%D%/goldens/trajectories_long.json \
	%D%/make_augment_goldens.py \
	%D%/make_distillation_trajectories.py \
	%D%/make_factorization.py \
	%D%/make_gan_trajectories.py \
	%D%/make_goldens.py \
	%D%/make_loss_scale.py \
	%D%/make_onnx.py \
	%D%/make_onnx_softmax.py \
	%D%/make_onnx_stored.py \
	%D%/make_perceptron.py \
	%D%/make_prune.py \
	%D%/make_quantize.py \
	%D%/make_resize.py \
	%D%/make_torch.py \
	%D%/make_torchvision.py \
	%D%/make_trajectories.py \
	%D%/networks/branches.json \
	%D%/networks/gates.json \
	%D%/networks/small-alexnet.json \
	%D%/networks/small-cifar-vgg.json \
	%D%/networks/small-googlenet.json \
	%D%/networks/small-squeezenet1_1.json \
	%D%/networks/small-vgg16.json \
	%D%/networks/small.json
# what PyTorch makes of the networks becomes what these tests expect; one case alone: docs/HACKING.md
TRAJECTORY_GOLDENS = $(srcdir)/%D%/goldens
renew-trajectories: parity_test$(EXEEXT)
	srcdir='$(srcdir)'; export srcdir; for suite in "" _long; do \
	    long=$${suite:+--long}; \
	    python3 $(srcdir)/%D%/make_trajectories.py "./parity_test trajectory_test" \
	        $(srcdir)/networks $(TRAJECTORY_GOLDENS)/trajectories$$suite.json $$long && \
	    python3 $(srcdir)/%D%/make_gan_trajectories.py "./parity_test gan_trajectory_test" \
	        $(srcdir)/networks $(TRAJECTORY_GOLDENS)/gan$$suite.json $$long || exit 1; \
	done; \
	python3 $(srcdir)/%D%/make_distillation_trajectories.py \
	    "./parity_test distillation_trajectory_test" $(TRAJECTORY_GOLDENS)/distillation.json
.PHONY: renew-trajectories
# the list of operator cases, for make_goldens.py
check_PROGRAMS += op_cases
op_cases_SOURCES = %D%/list_cases.c
op_cases_LDADD = libopharness.a libengine.a $(BASE_LIBS)
