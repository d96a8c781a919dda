#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
copy-far over NBD without a kernel: what is written is read, what was never written and what
is trimmed is zeros, memory follows, and a client that asks beyond the end is sent away.
Usage: test-copy-far.py COPY_FAR
"""
import json
import socket
import struct
import subprocess
import sys
import time
import unittest

PAGE = 4096
PAGES = 64
READ, WRITE, DISC, TRIM = 0, 1, 2, 4
PROGRAM = sys.argv.pop()


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Client:
    def __init__(self):
        port = free_port()
        self.server = subprocess.Popen([PROGRAM, '127.0.0.1', str(port), str(PAGES * PAGE)],
                                       stdout=subprocess.PIPE, text=True)
        while True:
            try:
                self.sock = socket.create_connection(('127.0.0.1', port))
                break
            except ConnectionRefusedError:
                time.sleep(0.01)
        assert self.take(18)[:16] == b'NBDMAGICIHAVEOPT'
        self.sock.sendall(struct.pack('>I', 3))
        # An option that it does not know, and then the one that ends it.
        self.sock.sendall(b'IHAVEOPT' + struct.pack('>II', 7, 3) + b'abc')
        assert struct.unpack('>QIII', self.take(20))[1:] == (7, 0x80000001, 0)
        self.sock.sendall(b'IHAVEOPT' + struct.pack('>II', 1, 4) + b'swap')
        self.size, self.flags = struct.unpack('>QH', self.take(10))

    def take(self, n):
        data = b''
        while len(data) < n:
            more = self.sock.recv(n - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def ask(self, kind, at, length, data=b''):
        self.sock.sendall(struct.pack('>IIQQI', 0x25609513, kind, 77, at, length) + data)
        magic, error, handle = struct.unpack('>IIQ', self.take(16))
        assert (magic, handle) == (0x67446698, 77)
        return error, self.take(length) if kind == READ else b''

    def end(self):
        self.sock.sendall(struct.pack('>IIQQI', 0x25609513, DISC, 0, 0, 0))
        self.sock.close()
        out = self.server.communicate(timeout=30)[0]
        assert self.server.returncode == 0
        return json.loads(out)


class Test(unittest.TestCase):
    def test_pages(self):
        c = Client()
        self.assertEqual(c.size, PAGES * PAGE)
        self.assertTrue(c.flags & 1 << 5)
        data = bytes(range(256)) * 48
        self.assertEqual(c.ask(WRITE, PAGE * 3, len(data), data), (0, b''))
        self.assertEqual(c.ask(READ, PAGE * 2, 4 * PAGE)[1], bytes(PAGE) + data)
        # A part of a page is kept, a whole one goes.
        self.assertEqual(c.ask(TRIM, PAGE * 3 + 512, PAGE - 512 + PAGE), (0, b''))
        self.assertEqual(c.ask(READ, PAGE * 3, 3 * PAGE)[1],
                         data[:PAGE] + bytes(PAGE) + data[2 * PAGE:])
        self.assertEqual(c.ask(WRITE, PAGE * 60, 2 * PAGE, data[:2 * PAGE]), (0, b''))
        said = c.end()
        self.assertEqual((said['requests'], said['peak_held']), (5, 4))

    def test_end(self):
        c = Client()
        with self.assertRaises((EOFError, ConnectionError)):
            c.ask(READ, (PAGES - 1) * PAGE, 2 * PAGE)
        c.sock.close()
        self.assertEqual(json.loads(c.server.communicate(timeout=30)[0])['requests'], 0)


if __name__ == '__main__':
    unittest.main()
