"""Packs static builds of ``airwnd-guard`` for Debian (.deb) and OpenWrt (.ipk).

Run by ``make guard-packages`` after ``make guard-static``. Files and their places are those of
``airwnd-guard install``, which this machine's build of it lays out; a package manager keeps the list of files
itself.
"""

import argparse
import gzip
import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

#: Architectures of Debian and of OpenWrt by the target of Rust.
ARCHITECTURES = {
    "x86_64-unknown-linux-musl": ("amd64", "x86_64"),
    "aarch64-unknown-linux-musl": ("arm64", "aarch64_generic"),
    "armv7-unknown-linux-musleabihf": ("armhf", "arm_cortex-a7_neon-vfpv4"),
}
CONTROL = """\
Package: airwnd-guard
Version: {version}
Architecture: {architecture}
Maintainer: The airwnd contributors
Section: net
Priority: optional
Description: Receive-window control of downloads
 Limits the receive windows of downloads, so that the queue of the access link stays short.
"""
#: Settings that an upgrade keeps.
CONFFILES = {"systemd": "", "procd": "/etc/config/airwnd-guard\n"}
SCRIPTS = {
    "systemd": {
        "postinst": "[ ! -d /run/systemd/system ] && exit 0\n"
        "systemctl daemon-reload && systemctl restart airwnd-guard",
        "prerm": "[ ! -d /run/systemd/system ] || systemctl stop airwnd-guard",
    },
    "procd": {
        "postinst": '[ -n "$IPKG_INSTROOT" ] || /etc/init.d/airwnd-guard restart',
        "prerm": '[ -n "$IPKG_INSTROOT" ] || /etc/init.d/airwnd-guard stop',
    },
}


def main() -> None:
    """Write a package of each kind beside each static build in a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="folder with airwnd-guard-TARGET")
    parser.add_argument("--guard", required=True, help="airwnd-guard of this machine")
    options = parser.parse_args()
    version = subprocess.check_output([options.guard, "--version"], text=True).split()[-1]
    for target, (debian, openwrt) in ARCHITECTURES.items():
        binary = options.folder / f"airwnd-guard-{target}"
        if binary.exists():
            for init, architecture, suffix in (("systemd", debian, "deb"), ("procd", openwrt, "ipk")):
                path = options.folder / f"airwnd-guard_{version}_{architecture}.{suffix}"
                control = CONTROL.format(version=version, architecture=architecture)
                members = _control(init, control), _data(options.guard, init, binary)
                path.write_bytes(_ar(*members) if suffix == "deb" else _ipk(*members))
                print(path)


def _data(guard: str, init: str, binary: Path) -> bytes:
    """Return the files of the service as a compressed archive."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        # The interface of a router is a setting of its owner.
        router = ["--router", "br-lan"] if init == "procd" else []
        command = [guard, "install", "--root", name, "--init", init, "--binary", str(binary), *router]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        own = root / "etc" / "airwnd-guard"
        (own / "installed").unlink()
        own.rmdir()
        return _tar((str(path.relative_to(root)), path) for path in sorted(root.rglob("*")))


def _control(init: str, control: str) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "control").write_text(control, encoding="utf-8")
        if CONFFILES[init]:
            (root / "conffiles").write_text(CONFFILES[init], encoding="utf-8")
        for script, line in SCRIPTS[init].items():
            (root / script).write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
            (root / script).chmod(0o755)
        return _tar((path.name, path) for path in sorted(root.iterdir()))


def _tar(files: Iterable[tuple[str, Path]]) -> bytes:
    """Pack files, the same bytes for the same files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, path in files:
            info = archive.gettarinfo(path, f"./{name}")
            info.uid = info.gid = info.mtime = 0
            info.uname = info.gname = "root"
            if info.isreg():
                with path.open("rb") as file:
                    archive.addfile(info, file)
            else:
                archive.addfile(info)
    return gzip.compress(out.getvalue(), mtime=0)


def _ar(control: bytes, data: bytes) -> bytes:
    """Return a Debian package (deb(5))."""
    out = b"!<arch>\n"
    for name, content in (("debian-binary", b"2.0\n"), ("control.tar.gz", control), ("data.tar.gz", data)):
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
        out += content + b"\n" * (len(content) % 2)
    return out


def _ipk(control: bytes, data: bytes) -> bytes:
    """Return an OpenWrt package: the same members in a compressed archive."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        members = {"debian-binary": b"2.0\n", "control.tar.gz": control, "data.tar.gz": data}
        for member, content in members.items():
            (root / member).write_bytes(content)
        return _tar((member, root / member) for member in members)


if __name__ == "__main__":
    main()
