#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
"odrpctl mnode top" on a terminal, with an agent that this program plays: the key q ends
it, a signal does, and the terminal is afterwards as it was; each line fits 80 columns.

Usage: test-top-keys.py ODRPCTL
"""
import json
import os
import pty
import signal
import socket
import sys
import tempfile
import termios
import threading

SESSION = {'id': 4711, 'peer': '255.255.255.255', 'state': 'opening', 'attached': True,
           'used': 1 << 28, 'lease': 1 << 28, 'want': 1 << 28, 'silent_ms': 1 << 26,
           'chains': {'load': 0}}
SPACE = {'name': 's' * 36, 'size': 1 << 40, 'used': 1 << 40, 'clients': 4094,
         'fenced': 1 << 30, 'epoch_age_ms': 1 << 30}


def serve(listener):
    answer = json.dumps({'sessions': [SESSION], 'spaces': [SPACE]}) + '\n'
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.makefile().readline()
            connection.sendall(answer.encode())


def read_until(fd, text, seen=b''):
    while text not in seen:
        try:
            more = os.read(fd, 4096)
        except OSError:     # the other end of the terminal is closed
            more = b''
        if not more:
            sys.exit(f'no {text!r} in {seen!r}')
        seen += more
    return seen


def run(odrpctl, path, end):
    """One run on a terminal of its own, which end(process, terminal) ends."""
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    process = os.fork()
    if not process:
        os.setsid()
        os.close(master)
        for fd in range(3):
            os.dup2(slave, fd)
        os.execv(odrpctl, [odrpctl, 'mnode', 'top', '--interval', '0.1', '--control', path])
    seen = read_until(master, SPACE['name'].encode())
    seen = read_until(master, b'\n', seen[seen.rindex(SPACE['name'].encode()):])
    seen = read_until(master, SPACE['name'].encode())
    if termios.tcgetattr(slave)[3] & (termios.ICANON | termios.ECHO):
        sys.exit('keys are not read one by one')
    end(process, master)
    _, status = os.waitpid(process, 0)
    if termios.tcgetattr(slave) != before:
        sys.exit('the terminal is not as it was')
    for line in seen.decode().replace('\x1b[H\x1b[J', '').splitlines():
        if len(line) > 80:
            sys.exit(f'{len(line)} columns: {line}')
    os.close(slave)
    os.close(master)
    return status


def main():
    odrpctl = sys.argv[1]
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, 'ctl')
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        status = run(odrpctl, path, lambda process, fd: os.write(fd, b'xq'))
        if status:
            sys.exit(f'q: status {status}')
        status = run(odrpctl, path, lambda process, fd: os.kill(process, signal.SIGTERM))
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGTERM:
            sys.exit(f'SIGTERM: status {status}')


main()
