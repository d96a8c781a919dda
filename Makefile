# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A short way to say the common things. User space is built by meson, the
# kernel module by Kbuild; this file knows how to call both and nothing else.

BUILD ?= build
KDIR  ?= /lib/modules/$(shell uname -r)/build

.PHONY: all user modules test style check install modules_install clean help

all: user

user: $(BUILD)/build.ninja
	ninja -C $(BUILD)

$(BUILD)/build.ninja:
	meson setup $(BUILD)

modules:
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

test: user
	meson test -C $(BUILD) --print-errorlogs

style:
	scripts/style/run

check:
	scripts/check

install: user
	meson install -C $(BUILD)

modules_install:
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules_install

clean:
	rm -rf $(BUILD)
	if [ -d $(KDIR) ]; then $(MAKE) -C $(KDIR) M=$(CURDIR) clean; fi

help:
	@echo 'make                    user space, into $(BUILD)/'
	@echo 'make modules            odrp.ko for the kernel at KDIR=$(KDIR)'
	@echo 'make test               unit tests of user space'
	@echo 'make style              layering, forbidden tokens, headers, licences'
	@echo 'make check              everything that needs no special hardware'
	@echo 'make install            user space; modules_install: the module'
