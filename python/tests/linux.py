"""A command in a Linux kernel with every congestion control, which most machines' own kernels lack.

`make linux` unpacks Debian's kernel into out/linux; qemu runs it as an emulated computer, without
privileges. Inside, the command is root, finds this machine's files at their own paths, and writes to memory
only.

The emulated computer has a clock of its own (`-icount`): an instruction takes one nanosecond, idle time
passes at once. The load and the speed of this machine therefore do not change what a command measures. The
exception is access to this machine's files: a process may wait for it for minutes of emulated time, while
other processes and timers run on. Programs therefore start after a delay that cannot be predicted, and time
limits of a command must be generous.

A command that measures in real time has a computer on this machine's processor instead (`REAL_TIME`), which
needs access to /dev/kvm.
"""

import gzip
import io
import lzma
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

LINUX = Path(__file__).parents[2] / "out" / "linux"

#: Kernel modules, without those that they depend on: for the root file system, a link, a delay, BBR's queue
#: discipline, `ss`, and every congestion control.
_MODULES = (
    *("virtio_pci", "9pnet_virtio", "9p", "overlay", "tun", "veth", "sch_netem", "sch_fq"),
    *("tcp_*", "udp_diag"),
)
_DEPENDS = re.compile(rb"\0depends=([^\0]*)\0")

#: Options of qemu: processor, clock and memory.
EMULATED = (
    *("-accel", "tcg", "-cpu", "max", "-smp", "1", "-m", "2048"),
    *("-icount", "shift=0,sleep=off", "-rtc", "clock=vm"),
)
REAL_TIME = ("-accel", "kvm", "-cpu", "host,-arch-capabilities", "-smp", "2", "-m", "4096")

# Below a chroot there are no user namespaces, hence switch_root.
_INIT = """\
#!/bin/busybox sh
busybox() { /bin/busybox "$@"; }
for module in $(busybox cat /order); do busybox insmod /modules/$module.ko || exit 1; done
share() { busybox mount -t 9p -o trans=virtio,version=9p2000.L,msize=1048576,$2 $1 $3; }
share host ro,cache=loose /lower &&
busybox mount -t tmpfs memory /memory &&
busybox mkdir /memory/changes /memory/work &&
busybox mount -t overlay -o lowerdir=/lower,upperdir=/memory/changes,workdir=/memory/work root /root &&
busybox mkdir /root/.job &&
share job rw /root/.job &&
busybox mount -t devtmpfs dev /root/dev &&
busybox mount -t proc proc /root/proc &&
busybox mount -t sysfs sys /root/sys &&
busybox chmod 0666 /root/dev/net/tun &&
busybox ifconfig lo up || exit 1
cd /root/proc/sys/net/ipv4
busybox cat tcp_available_congestion_control > tcp_allowed_congestion_control
exec /bin/busybox switch_root /root /bin/sh /.job/start
"""

# Output goes to memory first: writing to this machine's disk would take arbitrary time.
_START = """\
cd {folder} && env -i {environment} {command} > /.stdout 2> /.stderr < /dev/null
code=$?
cp /.stdout /.job/stdout && cp /.stderr /.job/stderr && echo $code > /.job/code
echo b > /proc/sysrq-trigger
"""

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def run_in_linux(
    command: Sequence[str | Path],
    job: Path,
    environment: Mapping[str, str] | None = None,
    *,
    computer: Sequence[str] = EMULATED,
    modules: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """Boot the kernel, run a command as root, and return its output and exit code.

    Parameters
    ----------
    command
        Program and arguments, with this machine's paths.
    job
        An empty folder, in which the command also starts; `console` there has the kernel's messages. Files
        that the command writes are lost.
    environment
        Environment variables besides PATH and HOME; none of this machine's are passed on.
    computer
        `EMULATED` or `REAL_TIME`.
    modules
        Further modules of the kernel, as patterns; `-` in a name is written as `_`.
    """
    job = job.resolve()
    variables = {"PATH": _PATH, "HOME": "/root", **(environment or {})}
    start = _START.format(
        folder=shlex.quote(str(job)),
        environment=shlex.join(f"{name}={value}" for name, value in variables.items()),
        command=shlex.join(map(str, command)),
    )
    (job / "start").write_text(start)
    (job / "initrd").write_bytes(_initrd((*_MODULES, *modules)))
    subprocess.run([*_qemu(job, computer), "-kernel", _image(), "-initrd", job / "initrd"], check=True)
    console = (job / "console").read_text(errors="replace")
    assert (job / "code").exists(), f"the kernel ended before the command:\n{console}"
    stdout, stderr, code = ((job / name).read_text() for name in ("stdout", "stderr", "code"))
    return subprocess.CompletedProcess(list(map(str, command)), int(code), stdout, stderr)


def _qemu(job: Path, computer: Sequence[str]) -> list[str]:
    shared = "local,security_model=none,multidevs=remap"
    return [
        *(_program("qemu-system-x86_64"), *computer),
        *("-nodefaults", "-display", "none", "-no-reboot", "-serial", f"file:{job / 'console'}"),
        *("-append", "console=ttyS0 quiet panic=-1 mitigations=off"),
        *("-virtfs", f"{shared},path=/,mount_tag=host,readonly=on"),
        *("-virtfs", f"{shared},path={job},mount_tag=job"),
    ]


def _program(name: str) -> str:
    path = shutil.which(name)
    assert path, f"this test needs {name}: `make linux` installs it"
    return path


def _image() -> Path:
    images = sorted(LINUX.glob("boot/vmlinuz-*"))
    assert images, f"this test needs a kernel in {LINUX}: `make linux` unpacks one"
    return images[-1]


def version() -> str:
    """Return the kernel's version."""
    return _image().name.removeprefix("vmlinuz-")


def _initrd(patterns: Sequence[str]) -> bytes:
    """Return the first root file system: busybox, the modules in their order, and `_INIT`."""
    modules = dict(_modules(version(), patterns))
    files = {
        "init": _INIT.encode(),
        "bin/busybox": Path(_program("busybox")).read_bytes(),
        "order": "\n".join(modules).encode(),
        **{f"modules/{name}.ko": content for name, content in modules.items()},
    }
    return gzip.compress(_cpio(("bin", "modules", "lower", "memory", "root"), files), 1)


def _modules(version: str, patterns: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each module after those that it depends on."""
    files = {
        path.name.split(".")[0].replace("-", "_"): path
        for path in sorted(LINUX.glob(f"**/modules/{version}/kernel/**/*.ko*"))
    }
    done: set[str] = set()

    def visit(name: str) -> Iterator[tuple[str, bytes]]:
        if name in done:
            return
        done.add(name)
        content = files[name].read_bytes()
        content = lzma.decompress(content) if files[name].suffix == ".xz" else content
        for needed in _depends(content):
            yield from visit(needed)
        yield name, content

    for pattern in patterns:
        expression = re.compile(pattern.replace("*", ".*"))
        names = list(filter(expression.fullmatch, files))
        assert names, f"the kernel in {LINUX} has no module {pattern}"
        for name in names:
            yield from visit(name)


def _depends(module: bytes) -> list[str]:
    found = _DEPENDS.search(module)
    names = found[1].decode() if found else ""
    return [name.replace("-", "_") for name in names.split(",") if name]


def _cpio(folders: Sequence[str], files: Mapping[str, bytes]) -> bytes:
    """Return an archive in the format that the kernel unpacks ("newc", see initramfs-buffer-format)."""
    archive = io.BytesIO()

    def add(name: str, mode: int, content: bytes) -> None:
        # Inode, mode, user, group, links, time, size, two devices, length of name and zero byte, checksum.
        header = (0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        archive.write(b"070701" + "".join(f"{value:08X}" for value in header).encode())
        for part in (name.encode() + b"\0", content):
            archive.write(part)
            archive.write(bytes(-archive.tell() % 4))

    for folder in folders:
        add(folder, 0o40755, b"")
    for name, content in files.items():
        add(name, 0o100755, content)
    add("TRAILER!!!", 0, b"")
    return archive.getvalue()
