# chela: one Makefile for everything. `make help` lists the targets;
# config.mk, if present, overrides the variables below.
-include config.mk

VERSION := 0.1.0
SOVERSION := 0
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
BUILD ?= build
PKG_CONFIG ?= pkg-config
comma := ,

# A layer may include only the layers before it (tools/check_layers) and is
# its own archive, so that a unit test of a layer links nothing later.
LAYERS := base json io net model tool prompt agent config
PKGS := libuv yaml-0.1
LIBS := -lhttp_parser -ldl -lpthread -lm
# A module is built from src/<dir>/ and loaded on use: what only some need.
MODULES := tls
MODULE_tls_DIR := net/tls
MODULE_tls_PKGS := libssl libcrypto

OPT ?= -O2 -g
ifdef SANITIZE
override BUILD := $(BUILD)-$(subst $(comma),-,$(SANITIZE))
OPT := -O1 -g -fno-omit-frame-pointer -fsanitize=$(SANITIZE) -fno-sanitize-recover=all
endif
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror
pkg = $(shell $(PKG_CONFIG) $(1) $(2) 2>/dev/null)
CPPFLAGS += -Iinclude -Isrc -D_GNU_SOURCE -DCHELA_VERSION='"$(VERSION)"' $(call pkg,--cflags,$(PKGS))
CFLAGS += -std=gnu11 $(OPT) $(WARN) -fPIC -fvisibility=hidden -MMD -MP
LDLIBS += $(call pkg,--libs,$(PKGS)) $(LIBS)
LINK = $(CC) $(OPT) $(LDFLAGS)

layer_src = $(wildcard src/$(1)/*.c) $(if $(filter tool,$(1)),$(wildcard src/tool/builtin/*.c))
objs = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
archive = $(BUILD)/lib/$(1).a
# The archives a layer may use, latest first: the order the linker wants.
upto = $(if $(2),$(if $(filter $(1),$(firstword $(2))),$(call archive,$(1)),$(call upto,$(1),$(wordlist 2,99,$(2))) $(call archive,$(firstword $(2)))))

LIB_OBJS := $(foreach l,$(LAYERS),$(call objs,$(call layer_src,$(l))))
CLI_OBJS := $(call objs,$(wildcard src/cli/*.c))
SO := $(BUILD)/libchela.so.$(SOVERSION)
MODULE_SOS := $(MODULES:%=$(BUILD)/libchela-%.so)

.PHONY: all help demo check check-long lint fuzz bench install clean deps tests examples
all: $(BUILD)/chela $(BUILD)/libchela.a $(BUILD)/libchela.so $(MODULE_SOS) $(BUILD)/chela.pc

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

# --- what is built ----------------------------------------------------------
$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

define LAYER_RULE
$(call archive,$(1)): $(call objs,$(call layer_src,$(1)))
	@mkdir -p $$(@D); rm -f $$@
	$$(AR) rcs $$@ $$^
endef
$(foreach l,$(LAYERS),$(eval $(call LAYER_RULE,$(l))))

$(BUILD)/libchela.a: $(LIB_OBJS)
	@rm -f $@
	$(AR) rcs $@ $^
$(SO): $(LIB_OBJS)
	$(LINK) -shared -Wl,-soname,libchela.so.$(SOVERSION) -Wl,--no-undefined -o $@ $^ $(LDLIBS)
$(BUILD)/libchela.so: $(SO)
	ln -sf $(<F) $@
$(BUILD)/chela: $(CLI_OBJS) $(BUILD)/libchela.so
	$(LINK) -o $@ $(CLI_OBJS) -L$(BUILD) -lchela -Wl,-rpath,'$$ORIGIN:$$ORIGIN/../lib'
$(BUILD)/chela.pc: scripts/chela.pc.in Makefile
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|; s|@PKGS@|$(PKGS)|; s|@LIBS@|$(LIBS)|' $< > $@

define MODULE_RULE
$(call objs,$(wildcard src/$(MODULE_$(1)_DIR)/*.c)): CPPFLAGS += $(call pkg,--cflags,$(MODULE_$(1)_PKGS))
$(BUILD)/libchela-$(1).so: $(call objs,$(wildcard src/$(MODULE_$(1)_DIR)/*.c)) $(SO) | $(BUILD)/libchela.so
	$$(LINK) -shared -o $$@ $$(filter %.o,$$^) -L$(BUILD) -lchela -Wl,-rpath,'$$$$ORIGIN' $(call pkg,--libs,$(MODULE_$(1)_PKGS))
endef
$(foreach m,$(MODULES),$(eval $(call MODULE_RULE,$(m))))
