"""A file system that passes everything on to a folder, and fails on request: failing_fs.py FOLDER MOUNT CONTROL

While the file CONTROL holds `write N`, whatever changes something gives EIO after N that did not; with `read N`, so do reads.
It speaks the kernel's protocol (linux/fuse.h) over /dev/fuse itself, one request after the other, and needs root.
"""

import ctypes
import errno
import os
import stat
import struct
import sys

back, mount, control = sys.argv[1:]
paths, ids, opened, told = {1: back}, {back: 1}, {}, {"at": None, "what": "", "left": 0}
libc = ctypes.CDLL(None, use_errno=True)
device = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={device},rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other"
if libc.mount(b"failing", mount.encode(), b"fuse", 6, options.encode()) != 0:
    sys.exit(f"cannot mount: {os.strerror(ctypes.get_errno())}")
print("mounted", flush=True)


def fails(what):
    """Whether this one is to fail."""
    try:
        at = os.stat(control).st_mtime_ns
    except FileNotFoundError:
        return False
    if at != told["at"]:
        words = open(control).read().split()
        if len(words) != 2:
            return False
        told.update(at=at, what=words[0], left=int(words[1]))
    if told["what"] != what:
        return False
    told["left"] -= 1
    return told["left"] < 0


def node(path):
    if path not in ids:
        ids[path] = max(paths) + 1
        paths[ids[path]] = path
    return ids[path]


def attributes(s):
    times = [s.st_atime_ns, s.st_mtime_ns, s.st_ctime_ns]
    return struct.pack(
        "<6Q10I", s.st_ino, s.st_size, s.st_blocks, *[t // 10**9 for t in times], *[t % 10**9 for t in times],
        s.st_mode, s.st_nlink, s.st_uid, s.st_gid, s.st_rdev, 4096, 0,
    )  # fmt: skip


def status(number):
    """Of a file that has lost its name but is open, too."""
    try:
        return os.lstat(paths[number])
    except FileNotFoundError:
        of = [fd for fd, owner in opened.items() if owner == number]
        if not of:
            raise
        return os.fstat(of[0])


def entry(path):
    s = os.lstat(path)
    return struct.pack("<4Q2I", node(path), 0, 0, 0, 0, 0) + attributes(s)


def child(number, name):
    return os.path.join(paths[number], os.fsdecode(name))


def names(body):
    return body.split(b"\0")


def moved(old, new):
    """Gives what was called `old`, and all below it, its new name."""
    gone = ids.pop(new, None)
    if gone:
        paths[gone] = new + "\0gone"
    for path in [p for p in ids if p == old or p.startswith(old + "/")]:
        number = ids.pop(path)
        paths[number] = new + path[len(old) :]
        ids[paths[number]] = number


def forget(path):
    number = ids.pop(path, None)
    if number:
        paths[number] = path + "\0gone"


def set_attributes(number, body):
    valid, _, fd, size, _, atime, mtime, _, a_ns, m_ns, _, mode, _, uid, gid, _ = struct.unpack("<IIQQQQQQIIIIIIII", body)
    path = paths[number] if os.path.lexists(paths[number]) else f"/proc/self/fd/{fd}"
    if valid & 8:
        os.truncate(fd if valid & 64 else path, size)
    if valid & 1:
        os.chmod(path, stat.S_IMODE(mode))
    if valid & 6:
        os.chown(path, uid if valid & 2 else -1, gid if valid & 4 else -1)
    if valid & 48:
        now = os.stat(path)
        os.utime(path, ns=(
            atime * 10**9 + a_ns if valid & 16 and not valid & 128 else now.st_atime_ns,
            mtime * 10**9 + m_ns if valid & 32 and not valid & 256 else now.st_mtime_ns,
        ))  # fmt: skip
    return struct.pack("<QII", 0, 0, 0) + attributes(status(number))


def listing(number, offset, size):
    here, out = paths[number], b""
    for at, name in list(enumerate(sorted(os.listdir(here)), 1))[offset:]:
        raw = os.fsencode(name)
        s = os.lstat(os.path.join(here, name))
        one = struct.pack("<QQII", s.st_ino, at, len(raw), stat.S_IFMT(s.st_mode) >> 12) + raw
        one += b"\0" * (-len(one) % 8)
        if len(out) + len(one) > size:
            break
        out += one
    return out


def opens(number, path, flags, mode=0o600):
    # For a file opened to write at its end, the kernel knows where that is.
    fd = os.open(path, flags & ~(os.O_APPEND | os.O_EXCL if os.path.lexists(path) else os.O_APPEND), mode)
    opened[fd] = number
    return struct.pack("<QII", fd, 0, 0)


WRITES = {4, 6, 8, 9, 10, 11, 12, 13, 16, 20, 30, 35, 43, 45, 50}


def answer(code, number, body):
    if (code in WRITES and fails("write")) or (code == 15 and fails("read")):
        raise OSError(errno.EIO, "")
    if code == 26:
        return struct.pack("<4I2H2I2H8I", 7, 31, 1 << 17, 1 << 5, 16, 12, 1 << 17, 1, 0, 0, *[0] * 8)
    if code == 1:
        return entry(child(number, names(body)[0]))
    if code == 3:
        return struct.pack("<QII", 0, 0, 0) + attributes(status(number))
    if code == 4:
        return set_attributes(number, body[:88])
    if code == 9:
        mode, umask = struct.unpack("<II", body[:8])
        path = child(number, names(body[8:])[0])
        os.mkdir(path, mode & ~umask)
        return entry(path)
    if code in (10, 11):
        path = child(number, names(body)[0])
        os.unlink(path) if code == 10 else os.rmdir(path)
        forget(path)
        return b""
    if code in (12, 45):
        (to,), skip = struct.unpack("<Q", body[:8]), 8 if code == 12 else 16
        if code == 45 and struct.unpack("<I", body[8:12])[0]:
            raise OSError(errno.EINVAL, "")
        old, new = names(body[skip:])[:2]
        old, new = child(number, old), child(to, new)
        os.rename(old, new)
        moved(old, new)
        return b""
    if code == 13:
        path = child(number, names(body[8:])[0])
        os.link(paths[struct.unpack("<Q", body[:8])[0]], path)
        return entry(path)
    if code == 14:
        return opens(number, paths[number], struct.unpack("<I", body[:4])[0])
    if code == 15:
        fd, offset, size = struct.unpack("<QQI", body[:20])
        return os.pread(fd, size, offset)
    if code == 16:
        fd, offset, size = struct.unpack("<QQI", body[:20])
        return struct.pack("<II", os.pwrite(fd, body[40 : 40 + size], offset), 0)
    if code == 17:
        s = os.statvfs(back)
        return struct.pack("<5Q10I", s.f_blocks, s.f_bfree, s.f_bavail, s.f_files, s.f_ffree, s.f_bsize, 255, s.f_frsize, *[0] * 7)
    if code == 18:
        fd = struct.unpack("<Q", body[:8])[0]
        opened.pop(fd, None)
        os.close(fd)
        return b""
    if code in (20, 25, 29, 30, 50):
        return b""
    if code == 27:
        return struct.pack("<QII", 0, 0, 0)
    if code == 28:
        _, offset, size = struct.unpack("<QQI", body[:20])
        return listing(number, offset, size)
    if code == 35:
        flags, mode, umask, _ = struct.unpack("<4I", body[:16])
        path = child(number, names(body[16:])[0])
        there = opens(0, path, flags | os.O_CREAT, mode & ~umask)
        made = entry(path)
        opened[struct.unpack("<Q", there[:8])[0]] = node(path)
        return made + there
    raise OSError(errno.ENOSYS, "")


while True:
    try:
        request = os.read(device, (1 << 17) + 8192)
    except OSError as error:
        if error.errno in (errno.EINTR, errno.EAGAIN, errno.ENOENT):
            continue
        break  # it was unmounted
    _, code, unique, number, *_ = struct.unpack("<IIQQIIII", request[:40])
    if code in (2, 36, 42):
        continue
    try:
        error, out = 0, answer(code, number, request[40:])
    except OSError as failed:
        error, out = -(failed.errno or errno.EIO), b""
    try:
        os.write(device, struct.pack("<IiQ", 16 + len(out), error, unique) + out)
    except OSError:
        pass  # no one waits for it any more
