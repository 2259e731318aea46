# chela: one Makefile for everything. `make help` lists the targets;
# config.mk, if present, overrides the variables below.
-include config.mk

VERSION := 0.1.0
SOVERSION := 0
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
BUILD ?= build
PKG_CONFIG ?= pkg-config
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
FUZZ_SECONDS ?= 60
comma := ,
# One short line a step; V=1 shows the commands.
Q := $(if $(V),,@)
say = @$(if $(V),:,printf '  %-5s %s\n' $(1) $(patsubst $(BUILD)/%,%,$@)); mkdir -p $(@D)

# A layer may include only the layers before it (tools/check_layers) and is
# its own archive, so that a unit test of a layer links nothing later.
LAYERS := base guard search json layer schema io net egress rpc model tool prompt agent undo mcp store trace otel why eval acp channel config gateway
PKGS := libuv yaml-0.1 libpcre2-8
LIBS := -ldl -lpthread -lm
# A module (src/<dir>/) is loaded on use. ALONE: it has its own copy of base/.
$(foreach m,tls h2,$(eval MODULE_$(m)_DIR := net/$(m)))
MODULE_tls_PKGS := libssl libcrypto
$(foreach m,h2=libnghttp2 sqlite=sqlite3 postgres=libpq redis=hiredis html=libxml-2.0 mail=libcurl,$(eval MODULE_$(subst =,_PKGS := ,$(m))))
$(foreach m,sqlite postgres redis,$(eval MODULE_store-$(m)_PKGS := $(MODULE_$(m)_PKGS)))
# Built where their packages are; `make deps` installs those.
OPTIONAL := h2 sqlite postgres html mail store-sqlite store-postgres store-redis
MODULES := tls $(foreach m,$(OPTIONAL),$(if $(shell $(PKG_CONFIG) --exists $(MODULE_$(m)_PKGS) 2>/dev/null && echo yes),$(m)))
LEFT_OUT := $(filter-out $(MODULES),$(OPTIONAL))
$(foreach m,web/html chat/mail data/sqlite data/postgres,$(eval MODULE_$(notdir $(m))_DIR := tool/builtin/$(m)))
$(foreach m,tls $(OPTIONAL),$(eval MODULE_$(m)_DIR ?= store/$(m:store-%=%))$(eval MODULE_$(m)_ALONE := base))
# A channel has its own copy of what it uses of channel/kit/, json/ and base/.
CHANNELS := slack discord dingtalk wecom
MODULES += $(CHANNELS:%=channel-%)
$(foreach m,$(CHANNELS),$(eval MODULE_channel-$(m)_DIR := channel/$(m))$(eval MODULE_channel-$(m)_ALONE := kit json base))

OPT ?= -O2 -g
ifdef SANITIZE
override BUILD := $(BUILD)-$(subst $(comma),-,$(SANITIZE))
OPT := -O1 -g1 -fno-omit-frame-pointer -fsanitize=$(SANITIZE) -fno-sanitize-recover=all
# Hundreds of programs are linked; lld takes half the time of ld.
LDFLAGS := $(LDFLAGS) $(if $(shell $(CC) -fuse-ld=lld -Wl,--version 2>/dev/null),-fuse-ld=lld)
endif
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror
pkg = $(shell $(PKG_CONFIG) $(1) $(2) 2>/dev/null)
CPPFLAGS := $(CPPFLAGS) -Iinclude -Isrc -D_GNU_SOURCE -DCHELA_VERSION='"$(VERSION)"' $(call pkg,--cflags,$(PKGS))
CFLAGS += -std=gnu11 $(OPT) $(WARN) -fPIC -fvisibility=hidden -MMD -MP
LDLIBS := $(LDLIBS) $(call pkg,--libs,$(PKGS)) $(LIBS)
LINK = $(CC) $(OPT) -Wl,--as-needed $(LDFLAGS)

# The sources of a folder and of its sub-folders, without those of the modules.
tree = $(foreach p,$(wildcard $(1)/*),$(if $(filter %.c,$(p)),$(p),$(call tree,$(p))))
layer_src = $(if $(filter kit,$(1)),$(wildcard src/channel/kit/*.c),$(filter-out $(MODULE_SRC),$(call tree,src/$(1))))
MODULE_SRC := $(wildcard src/channel/kit/*.c) $(foreach m,tls $(OPTIONAL) $(CHANNELS:%=channel-%),$(wildcard src/$(MODULE_$(m)_DIR)/*.c))
objs = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
archive = $(BUILD)/lib/$(1).a
# The archives a layer may use, latest first: the order the linker wants.
upto = $(if $(2),$(if $(filter $(1),$(firstword $(2))),$(call archive,$(1)),$(call upto,$(1),$(wordlist 2,99,$(2))) $(call archive,$(firstword $(2)))))

LIB_OBJS := $(foreach l,$(LAYERS),$(call objs,$(call layer_src,$(l))))
CLI_OBJS := $(call objs,$(call layer_src,cli))
SO := $(BUILD)/libchela.so.$(SOVERSION)
INTERNAL := $(BUILD)/lib/internal.a
OBJCOPY ?= objcopy
MODULE_SOS := $(MODULES:%=$(BUILD)/libchela-%.so)
# A program of its own beside the library: it runs others in a sandbox.
BOX := $(BUILD)/chela-sandbox
BOX_OBJS := $(call objs,$(wildcard src/sandbox/*.c))
LIBEXECDIR ?= $(PREFIX)/libexec

.PHONY: all help demo lint tidy format bench install clean deps tests examples man
all: $(BUILD)/chela $(BOX) $(BUILD)/libchela.a $(BUILD)/libchela.so $(MODULE_SOS) ## the program and the libraries (default)
	@$(if $(LEFT_OUT),echo '  not built$(comma) their packages are missing: $(LEFT_OUT:%=libchela-%.so)')

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile tests/check.mk packaging/*.mk | sort -u | expand -t 22
	@echo '  options: V=1 BUILD=DIR CC=clang SANITIZE=address,undefined PREFIX=DIR DESTDIR=DIR T=SUITE (of check)'

# --- what is built ----------------------------------------------------------
$(BUILD)/obj/%.o: %.c
	$(call say,cc)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(BUILD)/obj/src/model/scripted/scripted_demo.o $(BUILD)/obj/src/prompt/prompts_builtin.o $(BUILD)/obj/src/gateway/http/console.o $(BUILD)/obj/src/search/thesaurus.o: src/model/scripted/demo.yaml src/search/thesaurus.txt $(wildcard prompts/*/* src/gateway/http/console/*)

# Folders that no loop over tokens, messages or calls enters are compiled for size.
SMALL := acp guard layer mcp rpc config channel prompt gateway undo why eval tool/builtin tool/process tool/memory agent/api agent/feature agent/handle agent/session model/catalog model/scripted model/provider otel cli
$(foreach d,$(SMALL),$(eval $(BUILD)/obj/src/$(d)/%.o: CFLAGS += $(if $(SANITIZE),,-Os)))

define LAYER_RULE
$(call archive,$(1)): $(call objs,$(call layer_src,$(1)))
	@mkdir -p $$(@D); rm -f $$@
	$$(Q)$$(AR) rcs $$@ $$^
endef
$(foreach l,$(LAYERS) kit,$(eval $(call LAYER_RULE,$(l))))

# One object, in which only what CHELA_API marks is global. Tests and benchmarks that
# look inside link INTERNAL, which has every name.
$(BUILD)/libchela.a: $(LIB_OBJS)
	$(call say,ar)
	$(Q)$(CC) -r -nostdlib -o $(@:.a=.o) $^ && $(OBJCOPY) --localize-hidden $(@:.a=.o)
	$(Q)rm -f $@ && $(AR) rcs $@ $(@:.a=.o) && rm $(@:.a=.o)
$(INTERNAL): $(LIB_OBJS)
	@mkdir -p $(@D); rm -f $@
	$(Q)$(AR) rcs $@ $^
$(SO): $(LIB_OBJS) packaging/libchela.map
	$(call say,link)
	$(Q)$(LINK) -shared -Wl,-soname,libchela.so.$(SOVERSION),--version-script=packaging/libchela.map,--no-undefined,-Bsymbolic-functions -o $@ $(LIB_OBJS) $(LDLIBS)
$(BUILD)/libchela.so: $(SO)
	@ln -sf $(<F) $@
$(BUILD)/chela: $(CLI_OBJS) $(BUILD)/libchela.so
	$(call say,link)
	$(Q)$(LINK) -o $@ $(CLI_OBJS) -L$(BUILD) -lchela -lm $(call pkg,--libs,libuv) $(if $(NO_RPATH),,-Wl$(comma)-rpath$(comma)'$$ORIGIN:$$ORIGIN/../lib')

$(BOX): $(BOX_OBJS) $(if $(SANITIZE),$(call objs,tests/support/sandbox/leaks.c)) $(call archive,guard) $(call archive,base)
	$(call say,link)
	$(Q)$(LINK) -Wl,-z,now -o $@ $^ # it forks: each process would look names up again
$(BUILD)/obj/src/tool/process/sandbox_probe.o: CPPFLAGS += -DCHELA_LIBEXEC='"$(LIBEXECDIR)/chela"'

define MODULE_RULE
$(call objs,$(wildcard src/$(MODULE_$(1)_DIR)/*.c)): CPPFLAGS += $(call pkg,--cflags,$(MODULE_$(1)_PKGS))
$(BUILD)/libchela-$(1).so: $(call objs,$(wildcard src/$(MODULE_$(1)_DIR)/*.c)) $(if $(MODULE_$(1)_ALONE),$(foreach l,$(MODULE_$(1)_ALONE),$(call archive,$(l))),$(SO) | $(BUILD)/libchela.so)
	$$(call say,link)
	$$(Q)$$(LINK) -shared -o $$@ $$(filter %.o %.a,$$^) $(if $(MODULE_$(1)_ALONE),-Wl$(comma)--no-undefined,-L$(BUILD) -lchela -Wl$(comma)-rpath$(comma)'$$$$ORIGIN') $(call pkg,--libs,$(MODULE_$(1)_PKGS))
endef
$(foreach m,$(MODULES),$(eval $(call MODULE_RULE,$(m))))

EXAMPLES := $(patsubst %.c,$(BUILD)/%,$(wildcard examples/*.c))
examples: $(EXAMPLES) ## the programs in examples/
$(BUILD)/examples/%: examples/%.c $(BUILD)/libchela.so
	$(call say,cc)
	$(Q)$(LINK) -Iinclude -std=gnu11 $(WARN) -o $@ $< -L$(BUILD) -lchela -Wl,-rpath,'$$ORIGIN/..' $(call pkg,--cflags --libs,libuv)

# --- tests ------------------------------------------------------------------
# unit/<layer>/test_*.c links its layer and earlier ones; replay/, scenario/
# and fuzz/ link everything. tests/run runs them and counts the cases.
HELPERS := llmserver larkserver telegramserver tlsproxy cutproxy reap crashpoint
UNIT := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*/test_*.c))
WHOLE := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/replay/test_*.c tests/scenario/test_*.c tests/sweep/test_*.c))
FUZZ := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz_*.c))
SIM := $(BUILD)/tests/sim/sim
TOOLS := $(HELPERS:%=$(BUILD)/tests/support/%)
TEST_PKGS := $(call pkg,--libs,cmocka jansson libnghttp2 libssl libcrypto sqlite3)
TEST_LIBS = $(LDLIBS) $(TEST_PKGS)
SUPPORT := $(BUILD)/lib/support.a

$(BUILD)/obj/tests/%.o: CPPFLAGS += -Itests
$(SUPPORT): $(call objs,$(filter-out tests/support/fuzz_main.c,$(wildcard tests/support/*.c)))
	@mkdir -p $(@D); rm -f $@
	$(Q)$(AR) rcs $@ $^
$(filter $(addprefix $(BUILD)/tests/unit/net/test_,tls ws h2 server_tls) $(BUILD)/tests/unit/tool/% $(BUILD)/tests/unit/store/% $(addprefix $(BUILD)/tests/unit/channel/test_,channel_host wecom_message),$(UNIT)): | $(MODULE_SOS)
$(filter $(BUILD)/tests/unit/tool/%,$(UNIT)): | $(BOX)
$(foreach c,dingtalk wecom,$(eval $(BUILD)/tests/unit/channel/test_$(c)_message $(BUILD)/tests/fuzz/fuzz_$(c): $(call objs,$(wildcard src/channel/$(c)/$(c)_message.c src/channel/$(c)/$(c)_seal.c src/channel/kit/markdown.c))))$(foreach c,slack discord wecom,$(eval $(BUILD)/tests/unit/channel/test_$(c) $(BUILD)/tests/fuzz/fuzz_$(c): $(call objs,$(wildcard src/channel/$(c)/*.c src/channel/kit/*.c))))
tests: all examples $(UNIT) $(WHOLE) $(FUZZ) $(SIM) $(TOOLS)

define linked
	$(call say,link)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(TEST_LIBS)
endef
define UNIT_RULE
$(filter $(BUILD)/tests/unit/$(1)/%,$(UNIT)): $(BUILD)/tests/unit/$(1)/%: $(BUILD)/obj/tests/unit/$(1)/%.o $(SUPPORT) $(call upto,$(1),$(LAYERS))
	$$(linked)
.PHONY: unit-$(1)
unit-$(1): $(filter $(BUILD)/tests/unit/$(1)/%,$(UNIT))
	@tests/run -b $(BUILD) unit/$(1)
endef
$(foreach l,$(LAYERS),$(eval $(call UNIT_RULE,$(l))))
$(filter $(BUILD)/tests/unit/sandbox/%,$(UNIT)): $(BUILD)/%: $(BUILD)/obj/%.o $(filter-out %/main.o,$(BOX_OBJS)) $(call archive,guard) $(call archive,base)
	$(linked)
# The program's own files are tested as they are linked: on the public library.
$(filter $(BUILD)/tests/unit/cli/%,$(UNIT)): $(BUILD)/%: $(BUILD)/obj/%.o $(filter-out %/main.o,$(CLI_OBJS)) $(BUILD)/libchela.so
	$(call say,link)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) -L$(BUILD) -lchela -Wl,-rpath,'$$ORIGIN/../../..' $(TEST_LIBS)
man: $(BUILD)/chela ## write docs/chela.1, reference.md, limits.md, v1.md and api.md from the code
	$< help --man > docs/chela.1 && $< help --reference > docs/reference.md && scripts/limits > docs/limits.md && scripts/contract > docs/v1.md && tools/api_reference > docs/api.md

$(BUILD)/tests/sweep/test_callback_sweep: LDFLAGS += -rdynamic
$(BUILD)/tests/sweep/test_callback_sweep $(BUILD)/tests/sweep/test_misuse: | $(BUILD)/libchela.so $(MODULE_SOS)
$(WHOLE): $(BUILD)/%: $(BUILD)/obj/%.o $(SUPPORT) $(INTERNAL)
	$(linked)
# The simulator: the library over simulated threads, clocks, stores and networks.
SIM_WRAPS := clock_gettime getrandom nanosleep $(addprefix pthread_,create join mutex_init mutex_destroy mutex_lock mutex_unlock \
    cond_init cond_destroy cond_signal cond_broadcast cond_wait cond_timedwait) \
    ch_module_load ch_channel_find ch_owner_make ch_owner_is_dead ch_owner_lives ch_owner_is_stopped
$(SIM): $(call objs,$(wildcard tests/sim/*.c)) $(INTERNAL)
	$(call say,link)
	$(Q)$(LINK) -o $@ $^ $(SIM_WRAPS:%=-Wl$(comma)--wrap=%) $(LDLIBS)
$(BUILD)/tests/unit/channel/test_channel_text $(BUILD)/tests/fuzz/fuzz_channel_text: $(call objs,$(wildcard src/channel/*/*_text.c src/channel/kit/markdown.c))
$(BUILD)/tests/fuzz/fuzz_h2: $(call objs,$(wildcard src/net/h2/*.c))
$(BUILD)/tests/fuzz/fuzz_html: $(call objs,$(wildcard src/tool/builtin/web/html/*.c))
$(BUILD)/tests/fuzz/fuzz_html: LDLIBS += $(call pkg,--libs,libxml-2.0)
$(BUILD)/tests/fuzz/fuzz_markdown: $(call objs,$(wildcard src/cli/term/*.c src/cli/support/*.c))
# With libFuzzer its main, otherwise one that plays files.
$(FUZZ): $(BUILD)/%: $(BUILD)/obj/%.o $(if $(FUZZER),,$(BUILD)/obj/tests/support/fuzz_main.o) $(INTERNAL)
	$(call say,link)
	$(Q)$(LINK) $(FUZZER) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(TEST_LIBS)
# Stand-ins for the other side of the network share no code with src/.
define HELPER_RULE
$(BUILD)/tests/support/$(1): $(wildcard tests/support/$(1)/*.[ch] $(if $(filter lark% tele%,$(1)),tests/support/chat/*.[ch]) $(if $(filter llm% lark% tele% tls%,$(1)),tests/support/listen/*.[ch]))
	$$(call say,cc)
	$$(Q)$$(CC) -D_GNU_SOURCE -std=gnu11 $(if $(filter crashpoint,$(1)),-O2 -shared -fPIC,$$(OPT)) $$(WARN) -o $$@ $$(filter %.c,$$^) -Wl,--as-needed -lpthread -lssl -lcrypto
endef
$(foreach h,$(HELPERS),$(eval $(call HELPER_RULE,$(h))))

# --- what people type -------------------------------------------------------
# On a bare machine the first pass has no compiler and no pkg-config: install
# what is missing, then come back in a fresh make that finds it.
again = +@$(if $(findstring n,$(firstword -$(MAKEFLAGS))),:,scripts/install-deps $(1)) && $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(JOBS))

.PHONY: demo-now install-now
demo: ## install what is missing, build, and watch an agent work
	$(call again,build) demo-now
deps: ## install what is missing, for everything above
	@scripts/install-deps build test real long cross package

demo-now: all $(BUILD)/tests/support/larkserver
	@scripts/demo $(BUILD)/chela
lint: all ## layers, style, headers, scripts
	@tests/run -b $(BUILD) lint
tidy: ## clang-tidy over src/ (slow)
	clang-tidy --quiet $(call tree,src) -- $(CPPFLAGS) -std=gnu11
format: ## show what clang-format would change in files that differ from HEAD
	@git diff --name-only --diff-filter=d HEAD -- '*.c' '*.h' | while read -r f; do clang-format "$$f" | diff -u --label "$$f" "$$f" - || :; done
bench: $(patsubst %.c,$(BUILD)/%,$(wildcard bench/*.c)) all ## measure against the floor and other runtimes (BENCH_ARGS, see bench/compare/README.md)
	@scripts/bench $(BUILD) $(BENCH_ARGS)
$(BUILD)/bench/%: bench/%.c $(INTERNAL)
	$(call say,cc)
	$(Q)$(LINK) $(CPPFLAGS) -std=gnu11 $(WARN) -o $@ $^ $(LDLIBS) $(call pkg,--libs,libssl libcrypto)

install: all ## into PREFIX, below DESTDIR
	@$(MAKE) --no-print-directory install-now
install-now:
	install -d $(addprefix $(DESTDIR),$(PREFIX)/bin $(LIBEXECDIR)/chela $(PREFIX)/include/chela/sys $(LIBDIR)/pkgconfig $(PREFIX)/share/man/man1 $(PREFIX)/lib/systemd/system)
	install -m 755 $(BUILD)/chela $(DESTDIR)$(PREFIX)/bin/
	install -m 755 $(BOX) $(DESTDIR)$(LIBEXECDIR)/chela/sandbox
	install -m 644 include/chela.h $(DESTDIR)$(PREFIX)/include/
	install -m 644 include/chela/*.h $(DESTDIR)$(PREFIX)/include/chela/
	install -m 644 include/chela/sys/*.h $(DESTDIR)$(PREFIX)/include/chela/sys/
	install -m 644 $(BUILD)/libchela.a $(DESTDIR)$(LIBDIR)/
	install -m 755 $(SO) $(DESTDIR)$(LIBDIR)/libchela.so.$(VERSION)
	cd $(DESTDIR)$(LIBDIR) && ln -sf libchela.so.$(VERSION) libchela.so.$(SOVERSION) && ln -sf libchela.so.$(SOVERSION) libchela.so
	for f in prompts/*/*; do install -D -m 644 $$f $(DESTDIR)$(PREFIX)/share/chela/$$f || exit 1; done
	install -d $(DESTDIR)$(or $(MODULEDIR),$(LIBDIR)) && install -m 755 $(MODULE_SOS) $(DESTDIR)$(or $(MODULEDIR),$(LIBDIR))/
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|; s|@PKGS@|$(PKGS)|; s|@LIBS@|$(LIBS)|' scripts/chela.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/chela.pc
	for f in chela.service chela.socket; do sed 's|@PREFIX@|$(PREFIX)|' scripts/$$f > $(DESTDIR)$(PREFIX)/lib/systemd/system/$$f || exit 1; done
	$(if $(wildcard docs/chela.1),install -m 644 docs/chela.1 $(DESTDIR)$(PREFIX)/share/man/man1/)

.PHONY: uninstall
uninstall: ## remove from PREFIX what install put there
	rm -f $(addprefix $(DESTDIR),$(PREFIX)/bin/chela $(PREFIX)/include/chela.h $(LIBDIR)/libchela.a $(LIBDIR)/libchela.so.$(VERSION) $(LIBDIR)/libchela.so.$(SOVERSION) $(LIBDIR)/libchela.so $(LIBDIR)/pkgconfig/chela.pc $(PREFIX)/lib/systemd/system/chela.service $(PREFIX)/lib/systemd/system/chela.socket $(PREFIX)/share/man/man1/chela.1)
	rm -f $(addprefix $(DESTDIR)$(or $(MODULEDIR),$(LIBDIR))/,$(notdir $(MODULE_SOS)))
	rm -rf $(addprefix $(DESTDIR),$(LIBEXECDIR)/chela $(PREFIX)/include/chela $(PREFIX)/share/chela)

clean: ## remove what was built
	rm -rf $(BUILD) $(addprefix $(BUILD)-,address-undefined thread fuzzer-no-link-address-undefined clang x86_64)

include tests/check.mk
-include packaging/package.mk packaging/static.mk $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
