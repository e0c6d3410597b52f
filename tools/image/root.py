"""The image's file system: Debian's packages, the locked wheels, stoker, and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tools.image import debian

PYTHON = "3.13"
HOME = "opt/stoker"
USER = 65534
RELOADER = "usr/bin/prometheus-config-reloader"
# Of the packages: pages, translations, what needs a shell, and parts of Python whose libraries
# are left out, which nothing here imports.
_LEFT_OUT = re.compile(
    r"usr/share/(?!ca-certificates|zoneinfo|doc/[^/]+/copyright$)|usr/s?bin/(?!python3\.13$)|etc/"
    r"|usr/lib/[^/]+/gconv/|usr/lib/locale/(?!C\.utf8)|usr/lib/ssl/"
    r"|usr/lib/python3\.13/(?:curses|dbm|idlelib|lib2to3|pydoc_data|sqlite3|tkinter|turtle)"
    r"|usr/lib/python3\.13/lib-dynload/(?:_curses|_dbm|_sqlite3|_uuid|readline|_test|_xx|xx)"
    r"|usr/lib/[^/]+/(?:perl|audit)|.*/__pycache__/"
)
_MERGED = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
_FILES = {
    "etc/passwd": f"nobody:x:{USER}:{USER}:nobody:/:/nonexistent\n",
    "etc/group": f"nogroup:x:{USER}:\n",
    # Without it a host's own name is asked of DNS before /etc/hosts is read.
    "etc/nsswitch.conf": "hosts: files dns\n",
    "etc/os-release": 'ID=debian\nVERSION_ID="13"\nVERSION_CODENAME=trixie\n',
}
_STARTER = """\
#!/{home}/bin/python{options}
import sys
from {module} import main
sys.exit(main())
"""
# Wheels are chosen for the image's C library, not for this machine's.
_PLATFORMS = [f"manylinux_2_{minor}" for minor in range(41, 16, -1)] + ["manylinux2014"]
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


def assemble(root: Path, packages: list[debian.Package], tree: Path, wheel: Path) -> None:
    """Put everything where it belongs, below an empty folder."""
    for link, target in _MERGED.items():
        (root / target).mkdir(parents=True)
        (root / link).symlink_to(target)
    for package in packages:
        debian.unpack(package, root)
    _trim(root)
    _certificates(root)
    for name, text in _FILES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    for name in ("tmp", "proc", "dev", "sys", "run"):
        (root / name).mkdir(exist_ok=True)
    _install(root, tree / "requirements" / "stoker.txt", wheel)
    _compile(root)


def _trim(root: Path) -> None:
    """Remove what is left out, and the folders that are empty then."""
    for folder, names, files in os.walk(root, topdown=False):
        for name in files + names:
            path = Path(folder, name)
            inside = str(path.relative_to(root))
            if path.is_dir() and not path.is_symlink():
                if not any(path.iterdir()):
                    path.rmdir()
            elif _LEFT_OUT.match(inside):
                path.unlink()
    for target in _MERGED.values():
        (root / target).mkdir(parents=True, exist_ok=True)


def _certificates(root: Path) -> None:
    """One file of all certificates, where OpenSSL looks for it."""
    found = sorted((root / "usr/share/ca-certificates").rglob("*.crt"))
    place = root / "etc/ssl/certs"
    place.mkdir(parents=True)
    text = "".join(path.read_text().strip() + "\n" for path in found)
    (place / "ca-certificates.crt").write_text(text)
    (root / "usr/lib/ssl").mkdir(exist_ok=True)
    (root / "usr/lib/ssl/cert.pem").symlink_to("/etc/ssl/certs/ca-certificates.crt")
    (root / "usr/lib/ssl/certs").symlink_to("/etc/ssl/certs")


def _install(root: Path, requirements: Path, wheel: Path) -> None:
    """Wheels by hash and stoker, as a virtual environment has them."""
    home = root / HOME
    packages = home / "lib" / f"python{PYTHON}" / "site-packages"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "python").symlink_to(f"/usr/bin/python{PYTHON}")
    (home / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    install_wheels(packages, requirements, PYTHON)
    # Not by pip, which would note where the file lay: the bytes would differ from place to place.
    with zipfile.ZipFile(wheel) as ours:
        ours.extractall(packages)
    # Made for the Python that ran pip; ours come instead.
    shutil.rmtree(packages / "bin", ignore_errors=True)
    for path, module, options in (
        (home / "bin" / "stoker", "stoker.__main__", ""),
        (root / RELOADER, "stoker.reloader.__main__", " -I"),
    ):
        path.write_text(_STARTER.format(home=HOME, module=module, options=options))
        path.chmod(0o755)


def install_wheels(target: Path, requirements: Path, python: str) -> None:
    """Put locked wheels into a folder, chosen for a Python on a Debian, not for this one here."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    pip += ["--target", str(target), "--no-compile", "--no-deps", "--only-binary=:all:"]
    machine = _MACHINES[debian.architecture()]
    told = [word for each in _PLATFORMS for word in ("--platform", f"{each}_{machine}")]
    chosen = [*told, "--implementation", "cp", "--python-version", python]
    _ran([*pip, *chosen, "--require-hashes", "--requirement", str(requirements)])


def _compile(root: Path) -> None:
    """Compile with the image's own Python, by content: nothing can be written when it runs."""
    folders = [f"/usr/lib/python{PYTHON}", f"/{HOME}/lib"]
    words = ["-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", *folders]
    environment = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}
    command = [*entering(root), f"/usr/bin/python{PYTHON}", *words]
    answer = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    if answer.returncode:
        raise OSError(f"the image's Python cannot compile: {answer.stdout}{answer.stderr}")


def entering(root: Path) -> list[str]:
    """How a command is run inside a file system; namespaces stand in for being root."""
    shift = [] if os.getuid() == 0 else ["unshare", "--user", "--map-root-user"]
    return [*shift, "chroot", str(root)]


def _ran(command: list[str]) -> None:
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise OSError(f"pip: {answer.stderr.strip()[-2000:]}")
