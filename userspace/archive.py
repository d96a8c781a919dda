# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
archive.py MAP OUT OBJCOPY AR CC... -- ARCHIVE...

Makes the static library OUT of all objects of the archives: one object, of which a
program sees no more than what MAP lists, as of the shared library. An archive of many
objects would take names such as hash_get() from programs.
"""
import os
import re
import subprocess
import sys
import tempfile


def main():
    at = sys.argv.index('--')
    version_map, out, objcopy, ar, *cc = sys.argv[1:at]
    with open(version_map, encoding='utf-8') as f:
        names = re.findall(r'^\s+(far_\w+);', f.read(), re.M)
    keep = [f'--keep-global-symbol={n}' for n in names]
    with tempfile.TemporaryDirectory(dir=os.path.dirname(out)) as where:
        obj = os.path.join(where, 'far.o')
        subprocess.run(cc + ['-r', '-nostdlib', '-o', obj, '-Wl,--whole-archive',
                             *sys.argv[at + 1:]], check=True)
        subprocess.run([objcopy, *keep, obj], check=True)
        if os.path.exists(out):
            os.unlink(out)
        subprocess.run([ar, 'rcsD', out, obj], check=True)


if __name__ == '__main__':
    main()
