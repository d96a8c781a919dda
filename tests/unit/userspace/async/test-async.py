#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Python submits calls and polls their results, by ctypes and an event loop of its own: all
that was stored is found, a queue that is full says so, and one that is closed with calls
under way harms nobody.

Usage: test-async.py LIBFAR
"""
import asyncio
import ctypes as C
import errno
import sys
import tempfile

HASH, GET, PUT = 1, 1, 2
KEYS = 2000
DEPTH = 128


class Conf(C.Structure):
    _fields_ = [('nic', C.c_char_p), ('space', C.c_char_p), ('nodes', C.c_void_p),
                ('nr_nodes', C.c_uint), ('without', C.c_uint), ('depth', C.c_uint),
                ('task_stack', C.c_uint), ('cache_bytes', C.c_uint64),
                ('seed', C.c_uint64), ('op_ms', C.c_uint)]


class SpaceAttr(C.Structure):
    _fields_ = [('size', C.c_uint64), ('nodes', C.c_void_p), ('nr_nodes', C.c_uint),
                ('max_clients', C.c_uint), ('chunk_size', C.c_uint64),
                ('mode', C.c_uint)]


class AsyncAttr(C.Structure):
    _fields_ = [('tasks', C.c_uint), ('depth', C.c_uint)]


class Call(C.Structure):
    _fields_ = [('tag', C.c_uint64), ('on', C.c_uint32), ('op', C.c_uint32),
                ('handle', C.c_void_p), ('key', C.c_char_p), ('key_len', C.c_uint64),
                ('value', C.c_void_p), ('value_len', C.c_uint64),
                ('modify', C.c_void_p), ('ms', C.c_uint32), ('reserved', C.c_uint32)]


class Result(C.Structure):
    _fields_ = [('tag', C.c_uint64), ('status', C.c_int64), ('len', C.c_uint64)]


def check(err, what):
    if err:
        sys.exit(f'{what}: {err}')


class Queue:
    """Calls that are under way, each with a future, and the memory that it needs."""

    def __init__(self, lib, far, table):
        self.lib, self.table, self.calls, self.tag = lib, table, {}, 0
        self.queue = C.c_void_p()
        attr = AsyncAttr(tasks=8, depth=DEPTH)
        check(lib.far_async_open(far, C.byref(attr), C.byref(self.queue)), 'open')
        self.loop = asyncio.get_running_loop()
        self.loop.add_reader(lib.far_async_fd(self.queue), self.poll)
        self.room = asyncio.Semaphore(DEPTH)

    def submit(self, op, key, buf):
        self.tag += 1
        call = Call(tag=self.tag, on=HASH, op=op, handle=self.table, key=key,
                    key_len=len(key), value=C.cast(buf, C.c_void_p),
                    value_len=len(buf))
        err = self.lib.far_async_submit(self.queue, C.byref(call))
        if err:
            return err, None
        future = self.loop.create_future()
        self.calls[self.tag] = future, key, buf
        return 0, future

    async def call(self, op, key, buf):
        async with self.room:
            err, future = self.submit(op, key, buf)
            check(err, 'submit')
            return await future

    def poll(self):
        results = (Result * 32)()
        nr = self.lib.far_async_poll(self.queue, results, 32)
        if nr < 0:
            sys.exit(f'poll: {nr}')
        for r in results[:nr]:
            future = self.calls.pop(r.tag)[0]
            future.set_result((r.status, r.len))

    def close(self):
        self.loop.remove_reader(self.lib.far_async_fd(self.queue))
        check(self.lib.far_async_close(self.queue), 'close')


async def put_and_get(queue, number):
    key = b'key %d' % number
    value = b'value %d' % (number * number)
    buf = C.create_string_buffer(value, len(value))
    status, _ = await queue.call(PUT, key, buf)
    check(status, 'put')
    found = C.create_string_buffer(100)
    status, length = await queue.call(GET, key, found)
    check(status, 'get')
    if found.raw[:length] != value:
        sys.exit(f'{key}: {found.raw[:length]} instead of {value}')


async def run(lib, far, table):
    queue = Queue(lib, far, table)
    await asyncio.gather(*(put_and_get(queue, i) for i in range(KEYS)))
    found = C.create_string_buffer(100)
    status, _ = await queue.call(GET, b'nobody', found)
    if status != -errno.ENOENT:
        sys.exit(f'a key that is not there: {status}')
    # Nobody polls: as many as go in, and no more; and the queue ends with all of them.
    for _ in range(DEPTH):
        check(queue.submit(GET, b'key 1', C.create_string_buffer(100))[0], 'submit')
    err, _ = queue.submit(GET, b'key 1', found)
    if err != -errno.EAGAIN:
        sys.exit(f'a queue that is full: {err}')
    queue.close()


def main():
    lib = C.CDLL(sys.argv[1])
    why = C.create_string_buffer(300)
    far, task, table = C.c_void_p(), C.c_void_p(), C.c_void_p()
    with tempfile.TemporaryDirectory() as work:
        nic = b'mem:dir=' + work.encode()
        attr = SpaceAttr(size=64 << 20)
        if lib.far_space_create(nic, b's', C.byref(attr), why, len(why)):
            sys.exit(why.value.decode())
        conf = Conf(nic=nic, space=b's')
        if lib.far_open(C.byref(conf), why, len(why), C.byref(far)):
            sys.exit(why.value.decode())
        check(lib.far_enter(far, C.byref(task)), 'enter')
        check(lib.far_hash_create(task, b'h', None, C.byref(table)), 'create')
        check(lib.far_leave(task), 'leave')
        asyncio.run(run(lib, far, table))
        lib.far_hash_close(table)
        check(lib.far_close(far), 'close')
        check(lib.far_space_delete(nic, b's', why, len(why)), 'delete')


main()
